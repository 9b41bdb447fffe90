import { test } from 'vitest'
import { advanceInvoice } from '../src/core/invoice/advance.ts'
import type { Invoice } from '../src/core/invoice/types.ts'
import { commitAdvance } from '../src/db/commit-advance.ts'
import { loadInvoice } from '../src/db/queries/invoices.ts'
import { withTransaction } from '../src/db/transaction.ts'
import { newId } from '../src/new-id.ts'
import { createTestDatabase, type TestDatabase } from '../test/support/database.ts'
import { inBlock } from '../test/support/invoice.ts'
import { seedInvoice, seedMerchant } from '../test/support/seed.ts'
import { median, printFigure, spread } from './support/figure.ts'

const ROUNDS = Number(process.env.POSTING_ROUNDS ?? 7)
const DEPOSITS = 600
const MERCHANTS = 40
const CLIENTS = 8
const AMOUNT = 100_000_000n

/** What `recordTransfers` does for a payment that is final when it is met, with the postings or with them left out. */
async function record(database: TestDatabase, invoice: Invoice, withPostings: boolean): Promise<void> {
  const tenant = { merchantId: invoice.merchantId, livemode: false }
  await withTransaction(database.pools.watcher, tenant, async (tx) => {
    const before = await loadInvoice(tx, tenant, invoice.id, { forUpdate: true })
    if (before === null) throw new Error('the invoice is gone')
    const now = new Date()
    const advance = advanceInvoice(before.invoice, {
      kind: 'transfers',
      facts: [inBlock(`tx of ${invoice.id}`, AMOUNT, 2)],
      newPaymentIds: [newId('payment', now)],
      nowMs: now.getTime(),
    })
    if (advance.kind === 'refused') throw new Error(advance.code)
    const effects = advance.effects.filter(({ kind }) => withPostings || kind !== 'posting')
    const context = { now, networkFacts: { tipHeightOf: () => 101 }, requestId: null }
    await commitAdvance(tx, tenant, before, { ...advance, effects }, context)
  })
}

/** Deposits a second. */
async function round(database: TestDatabase, withPostings: boolean): Promise<number> {
  const invoices: Invoice[] = []
  const tenants = await Promise.all(Array.from({ length: MERCHANTS }, () => seedMerchant(database)))
  for (let made = 0; made < DEPOSITS; made++) {
    const tenant = tenants[made % MERCHANTS]
    if (tenant !== undefined) invoices.push(await seedInvoice(database, tenant))
  }
  const startedAt = performance.now()
  let next = 0
  const client = async (): Promise<void> => {
    for (let invoice = invoices[next++]; invoice !== undefined; invoice = invoices[next++]) {
      await record(database, invoice, withPostings)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return DEPOSITS / ((performance.now() - startedAt) / 1_000)
}

test('what postings cost a deposit', { timeout: 1_800_000 }, async () => {
  const database = await createTestDatabase()
  try {
    await round(database, true)
    const ratios: number[] = []
    const rates: number[] = []
    const bareRates: number[] = []
    for (let count = 0; count < ROUNDS; count++) {
      const order = count % 2 === 0 ? [true, false] : [false, true]
      const measured = new Map<boolean, number>()
      for (const withPostings of order) measured.set(withPostings, await round(database, withPostings))
      const [posted = 0, bare = 1] = [measured.get(true), measured.get(false)]
      rates.push(posted)
      bareRates.push(bare)
      ratios.push(1 - posted / bare)
    }
    printFigure({
      name: `Share of a deposit's throughput that its ledger postings cost, ${CLIENTS} at once`,
      target: '≤ 0.15',
      measured: `${median(ratios).toFixed(2)}, spread ${spread(ratios)}`,
      detail: `${median(rates).toFixed(0)}/s with postings, ${median(bareRates).toFixed(0)}/s without`,
    })
  } finally {
    await database.drop()
  }
})
