export type CsvColumn<Item> = readonly [title: string, read: (item: Item) => string | null]

const NUMBER = /^-?\d+(?:\.\d+)?$/
/** A spreadsheet takes a cell that begins so as a formula (OWASP, CSV injection), also in full-width characters. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/

/** The first line of a file. */
export const csvHead = <Item>(columns: readonly CsvColumn<Item>[]): string =>
  rowOf(columns.map(([title]) => title))

/**
 * Comma-separated values by RFC 4180, a line for each item. Text that a spreadsheet would run gets an apostrophe before it;
 * numbers stay numbers.
 */
export const csvRows = <Item>(columns: readonly CsvColumn<Item>[], items: readonly Item[]): string =>
  items.map((item) => rowOf(columns.map(([, read]) => read(item) ?? ''))).join('')

const rowOf = (cells: readonly string[]): string => `${cells.map(cellOf).join(',')}\r\n`

function cellOf(value: string): string {
  const harmless = FORMULA.test(value) && !NUMBER.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
