import { expect, test } from 'vitest'
import { CELL_MAX, cellOfTag, cellTag, readCell, writeCell } from './cells.ts'
import { encodeBase32, uuidv7 } from './ids.ts'

const uuid = () => uuidv7(Date.UTC(2026, 10, 28), new Uint8Array(10).fill(0xff))

test('every cell has a tag, which an id shows and from which it is read again', () => {
  for (let cell = 1; cell <= CELL_MAX; cell += 1) {
    const bytes = uuid()
    writeCell(bytes, cell)
    expect([cell, encodeBase32(bytes).slice(10, 13), readCell(bytes)]).toEqual([
      cell,
      `g${cellTag(cell)}`,
      cell,
    ])
    expect(cellOfTag(cellTag(cell))).toBe(cell)
  }
})

test('an id without a cell is of the first one, and sorts by time among others of its millisecond', () => {
  const [plain, celled] = [uuid(), uuid()]
  writeCell(celled, 3)
  expect(readCell(plain)).toBe(0)
  expect(encodeBase32(celled).slice(0, 10)).toBe(encodeBase32(plain).slice(0, 10))
})

test('what no cell makes is of none', () => {
  for (const [sixth, seventh] of [
    [0x40, 0x00],
    [0x80, 0x00],
    [0x80, 0x07],
    [0x88, 0x06],
  ]) {
    const bytes = uuid()
    bytes.set([sixth ?? 0, seventh ?? 0], 6)
    expect(readCell(bytes)).toBe(null)
  }
  for (const tag of ['00', '', '0', 'il', '033', 'A1']) expect([tag, cellOfTag(tag)]).toEqual([tag, null])
})
