import { parseEnv } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { envLine } from './env-file.ts'

test('a line of an env file is read back as the value that was written, or not written at all', () => {
  const text = fc.string({ unit: fc.constantFrom(...'ab1 #=\'"`$\\\n\r\t;:/@é{}') })
  fc.assert(
    fc.property(text, (value) => {
      const line = envLine('NAME', value)
      if (line === null) expect(value).toMatch(/[\r\n\\]|'.*"|".*'/s)
      else expect(parseEnv(`# before\n${line}\nAFTER=1\n`)).toEqual({ NAME: value, AFTER: '1' })
    }),
    { numRuns: 2_000 },
  )
})

test('what a shop usually sets is written without quotes, and anything else within them', () => {
  expect(envLine('BASE_URL', 'https://pay.example.com')).toBe('BASE_URL=https://pay.example.com')
  expect(envLine('SMTP_URL', 'smtp://a:b#c@host')).toBe("SMTP_URL='smtp://a:b#c@host'")
  expect(envLine('SMTP_URL', "smtp://a:it's#@host")).toBe('SMTP_URL="smtp://a:it\'s#@host"')
})
