import { test } from 'vitest'
import { listLedgerEntries, loadBalances } from '../src/db/ledger/ledger.ts'
import { withTransaction } from '../src/postgres/transaction.ts'
import { createTestDatabase } from '../test/support/database.ts'
import { percentile, printFigure } from './support/figure.ts'
import { numberOf } from './support/number-of.ts'
import { seedBooks } from './support/seed-books.ts'

/** Four for each invoice. Ten million take ten times as long to seed, and as long to read. */
const ENTRIES = numberOf('BALANCE_ENTRIES', 1_000_000)
const READS = 2_000
const PAGE = 100

test(`balances are read at once with ${ENTRIES} entries`, { timeout: 7_200_000 }, async () => {
  const database = await createTestDatabase()
  try {
    const seconds = await seedBooks(database, ENTRIES / 4, 'ledger')
    process.stdout.write(`seeded ${ENTRIES} entries in ${seconds.toFixed(0)} s\n`)
    const { rows } = await database.owner.query<{ id: string }>('select id from merchant order by id')
    const balances: number[] = []
    const pages: number[] = []
    for (let read = 0; read < READS; read++) {
      const tenant = { merchantId: rows[read % rows.length]?.id ?? '', livemode: false }
      let startedAt = performance.now()
      await withTransaction(database.pools.api, tenant, (tx) => loadBalances(tx, tenant))
      balances.push(performance.now() - startedAt)
      startedAt = performance.now()
      const filters = { limit: PAGE, before: null, after: null, asset: null }
      await withTransaction(database.pools.api, tenant, (tx) => listLedgerEntries(tx, tenant, filters))
      pages.push(performance.now() - startedAt)
    }
    printFigure({
      name: `Reading a merchant's balances with ${ENTRIES} entries in the ledger, p95`,
      target: '≤ 5 ms',
      measured: `${percentile(balances, 0.95).toFixed(1)} ms`,
      detail: `p50 ${percentile(balances, 0.5).toFixed(1)} ms; a page of ${PAGE} entries: p95 ${percentile(pages, 0.95).toFixed(1)} ms`,
    })
  } finally {
    await database.drop()
  }
})
