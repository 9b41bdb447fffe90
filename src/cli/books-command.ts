import { BEANCOUNT, HLEDGER, KOINLY } from '../core/books/formats.ts'
import { merchantExists } from '../db/people/merchants.ts'
import { writeBooks } from '../flows/write-books.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { UsageError } from './usage-error.ts'

const FORMATS = { hledger: HLEDGER, beancount: BEANCOUNT, koinly: KOINLY } as const

/** `paylink books`: a merchant's ledger as a journal, on standard output. */
export async function booksCommand(
  options: { merchant: string; mode: string; format: string },
  output: Output,
): Promise<number> {
  const { merchant: merchantId, mode, format } = options
  if (mode !== 'live' && mode !== 'test') throw new UsageError('--mode must be live or test')
  const known = Object.entries(FORMATS).find(([name]) => name === format)?.[1]
  if (known === undefined) throw new UsageError(`--format must be one of ${Object.keys(FORMATS).join(', ')}`)
  await withOwnerPool(async (pool) => {
    if (!(await merchantExists(pool, merchantId)))
      throw new UsageError(`No such merchant: ${merchantId}. Its id is in the dashboard under Settings.`)
    const tenant = { merchantId, livemode: mode === 'live' }
    await writeBooks({ pool }, tenant, known, (text) => output.line(text))
  })
  return 0
}
