import { expect, test } from 'vitest'
import { plainWords } from './plain-words.ts'

test('what people wrote comes into e-mails on one line, short, and without links', () => {
  expect(plainWords('Anna’s Tea & Co. Ltd', 'a shop')).toBe('Anna’s Tea & Co. Ltd')
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
    expect(plainWords(hostile, '')).not.toMatch(/\S[.:@/]\S|[\r\n\u200b\u202e]|:\/\//)
  }
  expect([...plainWords('x'.repeat(500), '')]).toHaveLength(60)
  expect(plainWords('https://evil.example', 'a shop')).toBe('a shop')
})
