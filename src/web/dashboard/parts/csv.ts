export type CsvColumn<Item> = readonly [title: string, read: (item: Item) => string | null]

const NUMBER = /^-?\d+(?:\.\d+)?$/
/**
 * Where a spreadsheet takes text as a formula (OWASP, CSV injection), also in full-width characters: at the beginning of a
 * cell, and behind what splits it where lists have semicolons: there, quotes count at the beginning of a line alone.
 */
const FORMULA = /^(?=[\t\r\n])|(?:^|[;\t\r\n])[\s",]*(?=[=+\-@＝＋－＠])/g

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
  const harmless = NUMBER.test(value) ? value : value.replace(FORMULA, "$&'")
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
