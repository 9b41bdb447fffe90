import { expect, test } from 'vitest'
import { csvHead, csvRows } from './csv.ts'

const line = (value: string | null): string => csvRows([['Value', (one: string | null) => one]], [value])

test('a cell that a spreadsheet would run is text, and a number stays a number', () => {
  for (const formula of [
    '=1+1',
    '+1+1',
    '-1+1',
    '@SUM(A1)',
    '\t=1',
    '\n=1',
    '＝1+1',
    '＠SUM(A1)',
    '=HYPERLINK("http://evil.example")',
  ])
    expect(line(formula).replace(/^"/, '')).toMatch(/^'/)
  expect([line('-0.015'), line('12'), line('-x')]).toEqual(['-0.015\r\n', '12\r\n', "'-x\r\n"])
})

test('a cell that is split by a spreadsheet whose lists have semicolons, or at a line, starts no formula', () => {
  // Excel in German or French splits at semicolons, and minds no quotes but those at the beginning of a cell.
  expect(line('x;=HYPERLINK("http://evil.example")')).toBe(`"x;'=HYPERLINK(""http://evil.example"")"\r\n`)
  for (const split of [';', '\t', '\r', '\n'])
    for (const sign of ['=', '+', '-', '@', '＝', ' =', '"=', ',=', ';='])
      expect(line(`x${split}${sign}1`), JSON.stringify(split + sign)).not.toMatch(
        /[;\t\r\n][\s",;]*[=+\-@＝]/,
      )
  expect(line('a; b - c')).toBe('a; b - c\r\n')
})

test('the titles of the columns stand first, and are cells themselves', () => {
  expect(
    csvHead([
      ['a', () => ''],
      ['=b,c', () => ''],
    ]),
  ).toBe('a,"\'=b,c"\r\n')
})

test('commas, quotes and line breaks stay within their cell, and nothing is an empty one', () => {
  expect(line('a,b')).toBe('"a,b"\r\n')
  expect(line('say "hi"')).toBe('"say ""hi"""\r\n')
  expect(line('two\nlines')).toBe('"two\nlines"\r\n')
  expect(line(null)).toBe('\r\n')
})
