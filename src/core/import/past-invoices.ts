/** One record of a CSV file; `line` is where it begins, from 1. `fields` is null where a quote never ends: the file's last. */
type CsvRecord = { readonly line: number; readonly fields: readonly string[] | null }

/**
 * Reads CSV (RFC 4180): commas, or semicolons where the first line has more of those; CRLF or LF; quoted fields with
 * doubled quotes and line breaks inside. Empty lines are passed over. A quote that never ends makes everything from
 * there on one broken record. Records come one by one, and fields are cut out whole: what is put together letter by
 * letter takes twenty times the memory of the text.
 */
export function* readCsv(text: string): Generator<CsvRecord, void, undefined> {
  let at = text.startsWith('\ufeff') ? 1 : 0
  const separator = separatorOf(text.slice(at).split('\n', 1)[0] ?? '')
  const stop = new RegExp(`[${separator}\n]`, 'g')
  let line = 1
  while (at < text.length) {
    const begins = line
    const fields: string[] = []
    for (let isEnd = false; !isEnd; ) {
      const quoted = text[at] === '"' ? readQuoted(text, at + 1) : { value: '', end: at }
      if (quoted === null) {
        yield { line: begins, fields: null }
        return
      }
      line += text.slice(at, quoted.end).split('\n').length - 1
      stop.lastIndex = quoted.end
      const end = stop.exec(text)?.index ?? text.length
      fields.push(quoted.value + text.slice(quoted.end, end).replaceAll('\r', ''))
      isEnd = text[end] !== separator
      at = end + 1
    }
    line += 1
    if (fields.length > 1 || fields[0] !== '') yield { line: begins, fields }
  }
}

/** The value of a quoted field that begins at `from`, behind its quote, and where it has ended; null where it never does. */
function readQuoted(text: string, from: number): { readonly value: string; readonly end: number } | null {
  let isDoubled = false
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') {
      const value = text.slice(from, at)
      return { value: isDoubled ? value.replaceAll('""', '"') : value, end: at + 1 }
    }
    isDoubled = true
  }
  return null
}

const separatorOf = (first: string): ',' | ';' =>
  first.split(';').length > first.split(',').length ? ';' : ','

/** What an import wants to know of an invoice, each by the name of its column in the file. */
export const COLUMN_KEYS = ['id', 'created', 'amount', 'currency', 'status', 'order', 'email'] as const
type ColumnKey = (typeof COLUMN_KEYS)[number]
export type Columns = { readonly [key in ColumnKey]?: string }

const NEEDED: readonly ColumnKey[] = ['id', 'created', 'amount', 'currency', 'status']

/** BTCPay's invoice export ("Legacy Invoice Export"): a row for each payment, or one without for an invoice that has none. */
const BTCPAY: Columns = {
  id: 'InvoiceId',
  created: 'InvoiceCreatedDate',
  amount: 'InvoicePrice',
  currency: 'InvoiceCurrency',
  status: 'InvoiceFullStatus',
  order: 'OrderId',
  email: 'BuyerEmail',
}
const BTCPAY_PAYMENT = {
  id: 'PaymentId',
  coin: 'CryptoCode',
  amount: 'Paid',
  received: 'ReceivedDate',
  counts: 'Accounted',
}

export type PastPayment = {
  readonly id: string
  readonly coin: string
  readonly amount: string
  readonly received_at: string | null
}

export type PastInvoice = {
  readonly sourceId: string
  readonly status: string
  /** A decimal, in `currency`. */
  readonly amount: string
  readonly currency: string
  readonly orderReference: string | null
  readonly customerEmail: string | null
  readonly createdAtMs: number
  readonly payments: readonly PastPayment[]
}

export type Fault = { readonly line: number; readonly reason: string }

type PastInvoices =
  | {
      readonly kind: 'read'
      readonly source: string
      readonly invoices: readonly PastInvoice[]
      /** Rows that could not be read. */
      readonly faults: readonly Fault[]
      readonly rows: number
    }
  | { readonly kind: 'unknown_columns'; readonly missing: readonly string[] }
  | { readonly kind: 'too_many_rows'; readonly most: number }

const ROWS_MAX = 2_000_000

/** Reads an export. Its columns are known where it is BTCPay's, and given where it is another's. */
export function readPastInvoices(
  text: string,
  given: { source: string; columns: Columns } | null,
): PastInvoices {
  const records = readCsv(text)
  const header = records.next()
  const names = (header.done === true ? [] : (header.value.fields ?? [])).map((name) => name.trim())
  const columns = given?.columns ?? BTCPAY
  const missing = NEEDED.map((key) => columns[key] ?? key).filter((name) => !names.includes(name))
  if (missing.length > 0) return { kind: 'unknown_columns', missing }
  const faults: Fault[] = []
  let rows = 0
  const invoices = new Map<string, PastInvoice>()
  for (const row of records) {
    rows += 1
    if (rows > ROWS_MAX) return { kind: 'too_many_rows', most: ROWS_MAX }
    const read = readRow(row, names, columns, given === null)
    if (typeof read === 'string') {
      faults.push({ line: row.line, reason: read })
      continue
    }
    // A row for each payment: the invoice is as its last row says, with the payments of all of them.
    const payments = new Map(
      [...(invoices.get(read.sourceId)?.payments ?? []), ...read.payments].map((payment) => [
        payment.id,
        payment,
      ]),
    )
    invoices.set(read.sourceId, { ...read, payments: [...payments.values()] })
  }
  const source = given?.source ?? 'btcpay'
  return { kind: 'read', source, invoices: [...invoices.values()], faults, rows }
}

const TEXT_LENGTH_MAX = 255

/** The invoice of a row, or why it is none. */
function readRow(
  { fields }: CsvRecord,
  names: readonly string[],
  columns: Columns,
  isBtcpay: boolean,
): PastInvoice | string {
  if (fields === null) return 'a quoted field never ends'
  if (fields.length !== names.length) return `it has ${fields.length} fields and the header ${names.length}`
  // PostgreSQL keeps no such text.
  if (fields.some((field) => field.includes('\0'))) return 'it holds a character that is no text (NUL)'
  const cell = (name: string | undefined) =>
    name === undefined ? '' : (fields[names.indexOf(name)] ?? '').trim()
  const of = (key: ColumnKey) => cell(columns[key])
  const empty = NEEDED.find((key) => of(key) === '')
  if (empty !== undefined) return `${columns[empty] ?? empty} is empty`
  const long = COLUMN_KEYS.find((key) => of(key).length > TEXT_LENGTH_MAX)
  if (long !== undefined) return `${columns[long] ?? long} is longer than ${TEXT_LENGTH_MAX} characters`
  if (!DECIMAL.test(of('amount'))) return `${columns.amount} is not an amount`
  const createdAtMs = timeOf(of('created'))
  if (createdAtMs === null) return `${columns.created} is not a time`
  const payment = isBtcpay ? paymentOf(cell) : null
  if (payment === 'malformed') return 'Paid is not an amount'
  return {
    sourceId: of('id'),
    status: of('status'),
    amount: of('amount'),
    currency: of('currency').toUpperCase(),
    orderReference: of('order') === '' ? null : of('order'),
    customerEmail: of('email') === '' ? null : of('email'),
    createdAtMs,
    payments: payment === null ? [] : [payment],
  }
}

const DECIMAL = /^\d{1,20}(?:\.\d{1,18})?$/

/** Null for an invoice without payments, and for a payment that another one replaced. */
function paymentOf(cell: (name: string) => string): PastPayment | 'malformed' | null {
  const [id, amount] = [cell(BTCPAY_PAYMENT.id), cell(BTCPAY_PAYMENT.amount)]
  if (id === '' || cell(BTCPAY_PAYMENT.counts).toLowerCase() === 'false') return null
  if (!DECIMAL.test(amount)) return 'malformed'
  const received = timeOf(cell(BTCPAY_PAYMENT.received))
  return {
    id,
    coin: cell(BTCPAY_PAYMENT.coin),
    amount,
    received_at: received === null ? null : new Date(received).toISOString(),
  }
}

const ISO = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,7})?)?) ?(Z|UTC|[+-]\d{2}:?\d{2})?$/
const AMERICAN = /^(\d{2})\/(\d{2})\/(\d{4}) (\d{2}:\d{2}:\d{2})$/
const UNIX_SECONDS = /^\d{9,10}$/

/** Milliseconds since 1970; UTC where the text names no zone. Null for what is no such time, as the year 1 of an empty date. */
function timeOf(text: string): number | null {
  if (UNIX_SECONDS.test(text)) return Number(text) * 1_000
  const [, month, day, year, clock] = AMERICAN.exec(text) ?? []
  const [, date, time, zone] = ISO.exec(year === undefined ? text : `${year}-${month}-${day}T${clock}Z`) ?? []
  if (date === undefined || time === undefined) return null
  const offset = zone === undefined || zone === 'UTC' ? 'Z' : zone.replace(/^([+-]\d{2})(\d{2})$/, '$1:$2')
  const ms = Date.parse(`${date}T${time.slice(0, 12)}${offset}`)
  return ms >= 0 ? ms : null
}
