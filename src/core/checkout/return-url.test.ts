import { expect, test } from 'vitest'
import { isReturnUrl } from './checkout-session.ts'

test('a page of https is taken as it is', () => {
  for (const url of [
    'https://shop.example/',
    'https://shop.example:8443/o/1?a=b&c=%20#top',
    'HTTPS://Shop.example',
  ]) {
    expect(isReturnUrl(url, true), url).toBe(true)
    expect(isReturnUrl(url, false), url).toBe(true)
  }
})

test('http leads to the own machine alone, and in test mode alone', () => {
  for (const url of ['http://localhost:3001/thanks', 'http://127.0.0.1:8080/', 'http://[::1]:5173/']) {
    expect(isReturnUrl(url, false), url).toBe(true)
    expect(isReturnUrl(url, true), url).toBe(false)
  }
  for (const url of ['http://shop.example/', 'http://localhost.shop.example/', 'http://10.0.0.1/'])
    expect(isReturnUrl(url, false), url).toBe(false)
})

test('nothing that a browser might read as another place, or as a program, is taken', () => {
  const bad = [
    ...['', '/thanks', '//evil.example', '/\\evil.example', '\\\\evil.example', 'https:/\\evil.example'],
    ...[
      'javascript:alert(1)',
      'JaVaScRiPt://shop.example/%0aalert(1)',
      'data:text/html,x',
      'ftp://shop.example/',
    ],
    ...[
      'https:shop.example',
      'https:///shop.example',
      'https://',
      'https://user:pass@shop.example/',
      'https://@shop.example/',
    ],
    ...[
      'https://shop.example/\r\nset-cookie: a=b',
      ' https://shop.example/',
      'https://shop.example\\@evil.example/',
      'java\tscript:alert(1)',
    ],
  ]
  for (const url of bad) {
    expect(isReturnUrl(url, false), url).toBe(false)
    expect(isReturnUrl(url, true), url).toBe(false)
  }
})
