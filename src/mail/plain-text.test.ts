import { expect, test } from 'vitest'
import { plainText } from './plain-text.ts'

test('what people wrote comes into emails on one line, short, and without links', () => {
  expect(plainText('Anna’s Tea & Co. Ltd', 'a shop')).toBe('Anna’s Tea & Co. Ltd')
  for (const hostile of [
    'Pay at https://evil.example/a?b now',
    'www.evil.example',
    'evil.example/login',
    'me@evil.example',
    'evil。example',
    'ev\u200bil.exa\u202emple',
    'a\r\nBcc: you@evil.example',
    'HTTPS://EVIL.EXAMPLE',
  ]) {
    expect(plainText(hostile, '')).not.toMatch(/\S[.:@/]\S|[\r\n\u200b\u202e]|:\/\//)
  }
  expect([...plainText('x'.repeat(500), '')]).toHaveLength(60)
  expect(plainText('https://evil.example', 'a shop')).toBe('a shop')
})
