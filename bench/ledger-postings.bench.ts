import { test } from 'vitest'
import { advanceInvoice } from '../src/core/invoice/advance.ts'
import type { Invoice } from '../src/core/invoice/types.ts'
import { lockInvoices } from '../src/db/invoices/invoices.ts'
import { commitAdvances } from '../src/flows/steps/commit-advance.ts'
import { withTransaction } from '../src/postgres/transaction.ts'
import { newId } from '../src/runtime/new-id.ts'
import { TOGETHER_MAX } from '../src/watcher/record-facts.ts'
import { createTestDatabase, type TestDatabase } from '../test/support/database.ts'
import { inBlock } from '../test/support/invoice.ts'
import { seedInvoice, seedMerchant } from '../test/support/seed.ts'
import { median, percentile, printFigure } from './support/figure.ts'
import { numberOf } from './support/number-of.ts'
import { processorTimeOf, processorTimeOfServer } from './support/processor-time.ts'

/** Short turns one after the other, with postings and without, so that what else the machine does meets both alike. */
const TURNS = numberOf('POSTING_TURNS', 20)
const DEPOSITS = 640
/** The watcher's connections live for hours: the plans of their statements are made before anything is measured. */
const WARM_UP_TURNS = 3
const MERCHANTS = 40
const CLIENTS = 8
const AMOUNT = 100_000_000n

/** What `recordTogether` does for payments that are final when they are met, with the postings or with them left out. */
async function record(
  database: TestDatabase,
  invoices: readonly Invoice[],
  withPostings: boolean,
): Promise<void> {
  const tenant = { merchantId: invoices[0]?.merchantId ?? '', livemode: false }
  await withTransaction(database.pools.watcher, tenant, async (tx) => {
    const stored = await lockInvoices(
      tx,
      tenant,
      invoices.map(({ id }) => id),
    )
    const now = new Date()
    const advances = [...stored.values()].map((before) => {
      const { id } = before.invoice
      const advance = advanceInvoice(before.invoice, {
        kind: 'transfers',
        facts: [inBlock(`tx of ${id}`, AMOUNT, 2)],
        newPaymentIds: [newId('payment', now)],
        nowMs: now.getTime(),
      })
      if (advance.kind === 'refused') throw new Error(advance.code)
      const effects = advance.effects.filter(({ kind }) => withPostings || kind !== 'posting')
      return { before, advance: { ...advance, effects } }
    })
    const context = { now, networkFacts: { tipHeightOf: () => 101 }, requestId: null }
    const { changed } = await commitAdvances(tx, tenant, advances, context)
    if (changed.length !== invoices.length) throw new Error('an invoice is gone')
  })
}

/** Groups of unpaid invoices, each of one merchant. */
async function seedGroups(database: TestDatabase, together: number): Promise<Invoice[][]> {
  const tenants = await Promise.all(Array.from({ length: MERCHANTS }, () => seedMerchant(database)))
  const groups: Invoice[][] = []
  let left = (2 * (WARM_UP_TURNS + TURNS) * DEPOSITS) / together
  const client = async (): Promise<void> => {
    while (left > 0) {
      const tenant = tenants[left-- % MERCHANTS]
      if (tenant === undefined) continue
      const group: Invoice[] = []
      while (group.length < together) group.push(await seedInvoice(database, tenant))
      groups.push(group)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return groups
}

/** Deposits a second, and the processor's microseconds for each of them, ours and PostgreSQL's. */
type Turn = { readonly rate: number; readonly ours: number; readonly servers: number }

async function turn(
  database: TestDatabase,
  groups: Invoice[][],
  { together, withPostings }: { readonly together: number; readonly withPostings: boolean },
): Promise<Turn> {
  const waiting = groups.splice(0, DEPOSITS / together)
  const server = await processorTimeOfServer(database.owner)
  const own = processorTimeOf(process.pid)
  const startedAt = performance.now()
  const client = async (): Promise<void> => {
    for (let group = waiting.pop(); group !== undefined; group = waiting.pop()) {
      await record(database, group, withPostings)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return {
    rate: DEPOSITS / ((performance.now() - startedAt) / 1_000),
    ours: (processorTimeOf(process.pid) - own) / DEPOSITS,
    servers: ((await processorTimeOfServer(database.owner)) - server) / DEPOSITS,
  }
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

const rateAndCost = (turns: readonly Turn[]): string =>
  `${median(turns.map(({ rate }) => rate)).toFixed(0)}/s, ${mean(turns.map(({ ours }) => ours)).toFixed(0)} + ` +
  `${mean(turns.map(({ servers }) => servers)).toFixed(0)} µs of the processor, ours and PostgreSQL's`

test.each([
  { together: 1, of: 'alone' },
  { together: TOGETHER_MAX, of: `${TOGETHER_MAX} of a merchant in one block` },
])('what postings cost a deposit, $of', async ({ together, of }) => {
  const database = await createTestDatabase()
  try {
    const groups = await seedGroups(database, together)
    const posted: Turn[] = []
    const bare: Turn[] = []
    for (let count = -WARM_UP_TURNS; count < TURNS; count++) {
      // As the server does by itself once rows were written; plans made for empty tables would stay.
      if (count === 1 - WARM_UP_TURNS) await database.owner.query('vacuum (analyze)')
      for (const withPostings of count % 2 === 0 ? [true, false] : [false, true]) {
        const measured = await turn(database, groups, { together, withPostings })
        if (count >= 0) (withPostings ? posted : bare).push(measured)
      }
    }
    const shares = posted.map(({ rate }, index) => 1 - rate / (bare[index]?.rate ?? 0))
    const half = (share: number) => percentile(shares, share).toFixed(2)
    printFigure({
      name: `Share of a deposit's throughput that its ledger postings cost, ${CLIENTS} at once, ${of}`,
      target: '≤ 0.12',
      measured: `${half(0.5)}, half of ${TURNS} turns within ${half(0.25)}–${half(0.75)}`,
      detail: `with postings ${rateAndCost(posted)}; without ${rateAndCost(bare)}`,
    })
  } finally {
    await database.drop()
  }
})
