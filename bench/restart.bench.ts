import { performance } from 'node:perf_hooks'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../test/support/database.ts'
import { KilledWatcher } from '../test/support/killed-watcher.ts'
import { sandboxDriver } from '../test/support/sandbox-driver.ts'
import { median, printFigure, spread } from './support/figure.ts'
import { numberOf } from './support/number-of.ts'
import { seedInvoices } from './support/seed-invoices.ts'

const MANY = numberOf('OPEN_INVOICES', 1_000_000)
const FEW = 10
const ROUNDS = 3

type Restart = { readonly seconds: number; readonly megabytes: number; readonly selectSeconds: number }

test(`a watcher that starts again beside ${MANY} open invoices`, async () => {
  const chain = await sandboxDriver.start()
  const databases = [await createTestDatabase(), await createTestDatabase()] as const
  try {
    for (const [index, count] of [FEW, MANY].entries()) {
      const database = databases[index]
      if (database !== undefined) await seedInvoices(database, count, { status: 'awaiting_payment' })
    }
    const measured: [Restart[], Restart[]] = [[], []]
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [index, database] of databases.entries()) {
        const selectedAt = performance.now()
        const { rowCount } = await database.owner.query('select idx, program from address')
        const selectSeconds = (performance.now() - selectedAt) / 1_000
        expect(rowCount).toBe([FEW, MANY][index])
        const startedAt = performance.now()
        const watcher = await KilledWatcher.start({ chain, database })
        const seconds = (performance.now() - startedAt) / 1_000
        const megabytes = (await watcher.mostMemory()) / 2 ** 20
        await watcher.kill()
        const { rows } = await database.owner.query<{ through: string }>('select through from network_watch')
        expect(Number(rows[0]?.through)).toBe((rowCount ?? 0) - 1)
        // The first start also begins the chain.
        if (round > 0) measured[index]?.push({ seconds, megabytes, selectSeconds })
      }
    }
    const [few, many] = measured
    const ratios = many.map(
      ({ seconds, selectSeconds }, round) => (seconds - (few[round]?.seconds ?? Number.NaN)) / selectSeconds,
    )
    const middle = (rows: readonly Restart[], what: keyof Restart) => median(rows.map((row) => row[what]))
    printFigure({
      name: `A watcher started again with ${MANY} open invoices: more time than with ${FEW} ÷ a plain select of the same rows`,
      target: '≤ 3',
      measured: median(ratios).toFixed(1),
      detail:
        `spread ${spread(ratios)}; at the tip after ${middle(many, 'seconds').toFixed(1)} s against ` +
        `${middle(few, 'seconds').toFixed(1)} s, the select ${middle(many, 'selectSeconds').toFixed(1)} s; most memory ` +
        `${middle(many, 'megabytes').toFixed(0)} MB against ${middle(few, 'megabytes').toFixed(0)} MB`,
    })
  } finally {
    await chain.remove()
    for (const database of databases) await database.drop()
  }
})
