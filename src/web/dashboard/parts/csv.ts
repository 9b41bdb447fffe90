export type CsvColumn<Item> = readonly [title: string, read: (item: Item) => string | null]

const NUMBER = /^-?\d+(?:\.\d+)?$/
/** A spreadsheet takes a cell that begins so as a formula (OWASP, CSV injection). */
const FORMULA = /^[=+\-@\t\r]/

/** Comma-separated values by RFC 4180. Text that a spreadsheet would run gets an apostrophe before it; numbers stay numbers. */
export function csvOf<Item>(columns: readonly CsvColumn<Item>[], items: readonly Item[]): string {
  const rows = [
    columns.map(([title]) => title),
    ...items.map((item) => columns.map(([, read]) => read(item) ?? '')),
  ]
  return rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('')
}

function cellOf(value: string): string {
  const harmless = FORMULA.test(value) && !NUMBER.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
