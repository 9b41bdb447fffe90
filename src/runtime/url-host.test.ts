import { expect, test } from 'vitest'
import { urlHost } from './url-host.ts'

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1'],
  ['::', '[::1]'],
  ['::1', '[::1]'],
  ['fe80::1', '[fe80::1]'],
  ['pay.example.com', 'pay.example.com'],
])('what listens on %s is asked at %s', (address, host) => {
  expect(urlHost(address)).toBe(host)
  expect(new URL(`http://${urlHost(address)}:3000/`).port).toBe('3000')
})
