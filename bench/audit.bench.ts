import { expect, test } from 'vitest'
import { runAudit } from '../src/audit/run-audit.ts'
import { createTestDatabase } from '../test/support/database.ts'
import { printFigure } from './support/figure.ts'
import { numberOf } from './support/number-of.ts'
import { seedBooks } from './support/seed-books.ts'

/** A million takes as much for each, and half an hour. */
const INVOICES = numberOf('AUDIT_INVOICES', 100_000)
const MEMORY_LOOK_MS = 20

test(`the audit of ${INVOICES} invoices in time, with flat memory`, { timeout: 7_200_000 }, async () => {
  const database = await createTestDatabase()
  try {
    const seconds = await seedBooks(database, INVOICES)
    process.stdout.write(`seeded ${INVOICES} invoices in ${seconds.toFixed(0)} s\n`)
    globalThis.gc?.()
    const before = process.memoryUsage().rss
    let peak = before
    const looking = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss)
    }, MEMORY_LOOK_MS)
    const slowest: { readonly note: string; readonly seconds: number }[] = []
    let current = { note: '', at: performance.now() }
    const startedAt = performance.now()
    const onProgress = (_done: number, _total: number, note: string) => {
      if (note === current.note) return
      slowest.push({ note: current.note, seconds: (performance.now() - current.at) / 1_000 })
      current = { note, at: performance.now() }
    }
    const results = await runAudit(database.owner, [], { onProgress })
    const took = (performance.now() - startedAt) / 1_000
    clearInterval(looking)
    expect(results.filter(({ findings }) => findings.length > 0)).toEqual([])
    slowest.sort((one, other) => other.seconds - one.seconds)
    for (const { note, seconds: each } of slowest.slice(0, 8))
      process.stdout.write(`  ${each.toFixed(1)} s: ${note}\n`)
    printFigure({
      name: `Audit of ${INVOICES} invoices, chains left out; memory above the start`,
      target: '≤ 0.06 ms an invoice, flat',
      measured: `${((took * 1_000) / INVOICES).toFixed(2)} ms an invoice; ${((peak - before) / 2 ** 20).toFixed(0)} MB`,
      detail: `${took.toFixed(1)} s`,
    })
  } finally {
    await database.drop()
  }
})
