/** One record of a CSV file; `line` is where it begins, from 1. */
export type CsvRecord = { readonly line: number; readonly fields: readonly string[] }

const RECORDS_MAX = 2_000_000

/**
 * Reads CSV (RFC 4180): commas, or semicolons where the first line has more of those; CRLF or LF; quoted fields with
 * doubled quotes and line breaks inside. Empty lines are passed over. A quote that never ends makes everything from
 * there on one broken record, told by `unended`.
 */
export function readCsv(text: string): {
  readonly records: readonly CsvRecord[]
  readonly unended: number | null
} {
  const source = text.startsWith('\ufeff') ? text.slice(1) : text
  const records: CsvRecord[] = []
  let [fields, field, line, begins, isQuoted] = [[] as string[], '', 1, 1, false]
  const separator = separatorOf(source)
  const endRecord = () => {
    if (fields.length > 0 || field !== '') records.push({ line: begins, fields: [...fields, field] })
    ;[fields, field] = [[], '']
  }
  for (let at = 0; at < source.length; at += 1) {
    const character = source[at]
    if (character === '\n') line += 1
    if (isQuoted) {
      const isDoubled = character === '"' && source[at + 1] === '"'
      if (isDoubled) at += 1
      if (character !== '"' || isDoubled) field += character
      else isQuoted = false
    } else if (character === '"' && field === '') isQuoted = true
    else if (character === separator) {
      fields.push(field)
      field = ''
    } else if (character === '\n') {
      endRecord()
      begins = line
      if (records.length >= RECORDS_MAX) throw new RangeError(`the file has more than ${RECORDS_MAX} records`)
    } else if (character !== '\r') field += character
  }
  if (isQuoted) return { records, unended: begins }
  endRecord()
  return { records, unended: null }
}

function separatorOf(source: string): ',' | ';' {
  const end = source.indexOf('\n')
  const first = end < 0 ? source : source.slice(0, end)
  return first.split(';').length > first.split(',').length ? ';' : ','
}
