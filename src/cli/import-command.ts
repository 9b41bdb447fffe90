import { readFile, stat } from 'node:fs/promises'
import { COLUMN_KEYS, type Columns, type Fault, readPastInvoices } from '../core/import/past-invoices.ts'
import { merchantExists } from '../db/people/merchants.ts'
import { importInvoices } from '../flows/import-invoices.ts'
import { systemClock } from '../runtime/clock.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { EXIT_FAILED } from './exit-codes.ts'
import { createProgress, type ProgressStream } from './progress-bar.ts'
import { UsageError } from './usage-error.ts'

const FILE_BYTES_MAX = 256 * 1024 * 1024
/** Invoices of one transaction. */
const BATCH_SIZE = 500
/** Faults that are printed; `--json` has them all. */
const FAULTS_SHOWN_MAX = 20

export type ImportArguments = {
  readonly merchant: string
  readonly mode: string
  readonly source?: string | undefined
  readonly columns?: string | undefined
  readonly json: boolean
}

/**
 * `paylink import FILE`: reads another service's export of past invoices. What was imported before is brought to what the
 * file says and never doubled. Exit code 1 where some of it could not be read.
 */
export async function importCommand(
  file: string,
  given: ImportArguments,
  output: Output,
  stream: ProgressStream = process.stderr,
): Promise<number> {
  if (given.mode !== 'live' && given.mode !== 'test') throw new UsageError('--mode must be live or test')
  const read = readPastInvoices(await readText(file), columnsOf(given))
  if (read.kind === 'unknown_columns') {
    throw new UsageError(
      `${file} has no column ${read.missing.join(', ')}: for an export of another service than BTCPay give --source and --columns`,
    )
  }
  if (read.kind === 'too_many_rows') throw new UsageError(`${file} has more than ${read.most} rows: split it`)
  const { source, invoices, faults, rows } = read
  const tenant = { merchantId: given.merchant, livemode: given.mode === 'live' }
  const written = await withOwnerPool(async (pool) => {
    if (!(await merchantExists(pool, given.merchant)))
      throw new UsageError(`No such merchant: ${given.merchant}. Its id is in the dashboard under Settings.`)
    const total = { made: 0, changed: 0 }
    const progress = createProgress(stream, Math.max(1, invoices.length))
    for (let at = 0; at < invoices.length; at += BATCH_SIZE) {
      const batch = invoices.slice(at, at + BATCH_SIZE)
      const { made, changed } = await importInvoices(
        { pool, clock: systemClock },
        { tenant, source, invoices: batch },
      )
      total.made += made
      total.changed += changed
      progress.update(at + batch.length, `${at + batch.length} of ${invoices.length} invoices`)
    }
    progress.end()
    return total
  })
  const unchanged = invoices.length - written.made - written.changed
  if (given.json) {
    output.line(
      JSON.stringify({ source, rows, invoices: invoices.length, ...written, unchanged, unread: faults }),
    )
  } else {
    output.line(
      `${invoices.length} invoices in ${rows} rows: ${written.made} new, ${written.changed} changed, ${unchanged} as before`,
    )
    printFaults(faults, output)
  }
  return faults.length === 0 ? 0 : EXIT_FAILED
}

async function readText(file: string): Promise<string> {
  const size = await stat(file).then(
    (found) => found.size,
    (error: unknown) => {
      throw new UsageError(`${file} cannot be read`, { cause: error })
    },
  )
  if (size > FILE_BYTES_MAX)
    throw new UsageError(`${file} is larger than ${FILE_BYTES_MAX / 1024 / 1024} MiB: split it`)
  const bytes = await readFile(file)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new UsageError(`${file} is not text in UTF-8`, { cause: error })
  }
}

/** `--source NAME --columns id=Code,created=…`; without them the file is BTCPay's. */
function columnsOf({ source, columns }: ImportArguments): { source: string; columns: Columns } | null {
  if (source === undefined && columns === undefined) return null
  if (source === undefined || columns === undefined)
    throw new UsageError('--source and --columns go together')
  if (!/^[a-z0-9_]{1,40}$/.test(source))
    throw new UsageError('--source must be a short name such as coinbase_commerce')
  const named: { [key: string]: string } = {}
  for (const part of columns.split(',')) {
    const at = part.indexOf('=')
    const [key, name] = [part.slice(0, Math.max(0, at)).trim(), part.slice(at + 1).trim()]
    if (!COLUMN_KEYS.some((known) => known === key) || name === '')
      throw new UsageError(`--columns must be such as id=Code,created=…, of ${COLUMN_KEYS.join(', ')}`)
    named[key] = name
  }
  return { source, columns: named }
}

function printFaults(faults: readonly Fault[], output: Output): void {
  if (faults.length === 0) return
  output.line(`${faults.length} rows could not be read:`)
  for (const { line, reason } of faults.slice(0, FAULTS_SHOWN_MAX)) output.line(`✗ line ${line}: ${reason}`)
  if (faults.length > FAULTS_SHOWN_MAX)
    output.line(`… ${faults.length - FAULTS_SHOWN_MAX} more: --json has them all`)
}
