import { expect, test } from 'vitest'
import { createTestDatabase } from '../test/support/database.ts'
import { median, printFigure, spread } from './support/figure.ts'
import {
  createLoad,
  fillEvents,
  measureRound,
  startReceiver,
  startSender,
  untilFinished,
} from './support/webhook-load.ts'

const ENDPOINTS = 32
const CONCURRENCY = 64
const EVENTS = 6_000
const ROUNDS = 5

test('two worker processes against one', async () => {
  const database = await createTestDatabase()
  const receiver = await startReceiver()
  try {
    const load = await createLoad(database, receiver, ENDPOINTS)
    const setup = { load, concurrency: CONCURRENCY }
    const measure = () =>
      measureRound(
        load,
        EVENTS,
        () => fillEvents(load, EVENTS),
        () => untilFinished(load),
      )
    const first = await startSender('worker', setup)
    await measure()
    const one: number[] = []
    const two: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await database.owner.query('vacuum analyze')
      one.push(await measure())
      const second = await startSender('worker', setup)
      // The second warms up.
      await measure()
      two.push(await measure())
      await second.stop()
    }
    await first.stop()
    expect(two).toHaveLength(ROUNDS)
    const ratios = two.map((rate, round) => rate / (one[round] ?? Number.NaN))
    printFigure({
      name: 'two delivery workers ÷ one, on one machine',
      target: 'measured',
      measured: median(ratios).toFixed(2),
      detail: `spread ${spread(ratios)}; ${median(two).toFixed(0)}/s against ${median(one).toFixed(0)}/s`,
    })
  } finally {
    receiver.stop()
    await database.drop()
  }
})
