import { BEANCOUNT, HLEDGER, KOINLY } from '../core/books/formats.ts'
import { merchantExists } from '../db/people/merchants.ts'
import { writeBooks } from '../flows/write-books.ts'
import { writeStatement } from '../flows/write-statement.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Tenant } from '../postgres/transaction.ts'
import { systemClock } from '../runtime/clock.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { UsageError } from './usage-error.ts'

const FORMATS = { hledger: HLEDGER, beancount: BEANCOUNT, koinly: KOINLY } as const
const STATEMENT = 'camt053'

export type BooksArguments = {
  readonly merchant: string
  readonly mode: string
  readonly format: string
  readonly month?: string
}

/** `paylink books`: a merchant's ledger as a journal or a bank statement, on standard output. */
export async function booksCommand(options: BooksArguments, output: Output): Promise<number> {
  const { merchant: merchantId, mode, format, month } = options
  if (mode !== 'live' && mode !== 'test') throw new UsageError('--mode must be live or test')
  const known = Object.entries(FORMATS).find(([name]) => name === format)?.[1]
  if (known === undefined && format !== STATEMENT)
    throw new UsageError(`--format must be one of ${[...Object.keys(FORMATS), STATEMENT].join(', ')}`)
  if (known !== undefined && month !== undefined)
    throw new UsageError(`--month is of ${STATEMENT} alone: a journal ends with the balances of all entries`)
  const span = month === undefined ? null : spanOf(month)
  await withOwnerPool(async (pool) => {
    if (!(await merchantExists(pool, merchantId)))
      throw new UsageError(`No such merchant: ${merchantId}. Its id is in the dashboard under Settings.`)
    const tenant = { merchantId, livemode: mode === 'live' }
    if (known === undefined) await printStatement(pool, tenant, span, output)
    else await writeBooks({ pool }, tenant, known, (text) => output.line(text))
  })
  return 0
}

async function printStatement(
  pool: Pool,
  tenant: Tenant,
  span: ReturnType<typeof spanOf> | null,
  output: Output,
): Promise<void> {
  const { kind } = await writeStatement({ pool, clock: systemClock }, tenant, span, (text) =>
    output.line(text),
  )
  if (kind === 'empty') throw new UsageError('Nothing was booked by then, and a statement needs an account')
  if (kind === 'too_many')
    throw new UsageError('More than 100,000 entries: give a --month with fewer, or use another format')
}

/** The first moments of a month of UTC and of the next. */
function spanOf(month: string): { readonly from: Date; readonly to: Date } {
  if (!/^20\d\d-(?:0[1-9]|1[0-2])$/.test(month))
    throw new UsageError('--month must be a month such as 2026-11')
  const from = new Date(`${month}-01T00:00:00.000Z`)
  const to = new Date(from)
  to.setUTCMonth(to.getUTCMonth() + 1)
  return { from, to }
}
