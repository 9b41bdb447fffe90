import { expect, test } from 'vitest'
import { csvOf } from './csv.ts'

const line = (value: string | null): string =>
  csvOf([['Value', (one: string | null) => one]], [value]).slice('Value\r\n'.length)

test('a cell that a spreadsheet would run is text, and a number stays a number', () => {
  for (const formula of ['=1+1', '+1+1', '-1+1', '@SUM(A1)', '\t=1', '=HYPERLINK("http://evil.example")'])
    expect(line(formula).replace(/^"/, '')).toMatch(/^'/)
  expect([line('-0.015'), line('12'), line('-x')]).toEqual(['-0.015\r\n', '12\r\n', "'-x\r\n"])
})

test('commas, quotes and line breaks stay within their cell, and nothing is an empty one', () => {
  expect(line('a,b')).toBe('"a,b"\r\n')
  expect(line('say "hi"')).toBe('"say ""hi"""\r\n')
  expect(line('two\nlines')).toBe('"two\nlines"\r\n')
  expect(line(null)).toBe('\r\n')
})
