import { expect, test } from 'vitest'
import { createTestDatabase } from '../test/support/database.ts'
import { median, printFigure, spread } from './support/figure.ts'
import { processorTimeOf, processorTimeOfServer } from './support/processor-time.ts'
import {
  createLoad,
  fillEvents,
  makeJobs,
  measureRound,
  startReceiver,
  startSender,
  untilFinished,
} from './support/webhook-load.ts'

const ENDPOINTS = 16
const CONCURRENCY = 64
const EVENTS = 20_000
const ROUNDS = 5

test('durable deliveries against bare signed POSTs by the same client', async () => {
  const database = await createTestDatabase()
  const receiver = await startReceiver()
  try {
    const load = await createLoad(database, receiver, ENDPOINTS)
    const worker = await startSender('worker', { load, concurrency: CONCURRENCY })
    const bare = await startSender('bare', { load, concurrency: CONCURRENCY })
    const sendDurably = () =>
      measureRound(
        load,
        EVENTS,
        () => fillEvents(load, EVENTS),
        () => untilFinished(load),
      )
    const sendBare = () =>
      measureRound(load, EVENTS, async () => {
        const jobs = makeJobs(load, EVENTS)
        bare.send(jobs)
        return jobs.map((job) => job.id)
      })
    await sendBare()
    await sendDurably()
    const costs: { readonly bare: number; readonly worker: number; readonly server: number }[] = []
    const ratios: number[] = []
    const durable: number[] = []
    const bareRates: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await database.owner.query('vacuum analyze')
      const bareBefore = processorTimeOf(bare.pid)
      const theirs = await sendBare()
      const bareCost = processorTimeOf(bare.pid) - bareBefore
      let serverBefore = 0
      const workerBefore = processorTimeOf(worker.pid)
      const ours = await measureRound(
        load,
        EVENTS,
        async () => {
          const ids = await fillEvents(load, EVENTS)
          serverBefore = await processorTimeOfServer(database.owner)
          return ids
        },
        () => untilFinished(load),
      )
      costs.push({
        bare: bareCost / EVENTS,
        worker: (processorTimeOf(worker.pid) - workerBefore) / EVENTS,
        server: ((await processorTimeOfServer(database.owner)) - serverBefore) / EVENTS,
      })
      bareRates.push(theirs)
      durable.push(ours)
      ratios.push(ours / theirs)
    }
    expect(ratios).toHaveLength(ROUNDS)
    printFigure({
      name: 'durable delivery ÷ bare signed POST by the same client',
      target: '≥ 0.5',
      measured: median(ratios).toFixed(2),
      detail: `spread ${spread(ratios)}; ${median(durable).toFixed(0)}/s against ${median(bareRates).toFixed(0)}/s, ${ENDPOINTS} endpoints, ${CONCURRENCY} at once`,
    })
    const cost = (name: 'bare' | 'worker' | 'server') =>
      `${median(costs.map((one) => one[name])).toFixed(0)} µs`
    printFigure({
      name: 'processor time of a durable delivery against a bare POST',
      target: 'measured',
      measured: `${cost('worker')} in the worker + ${cost('server')} in PostgreSQL against ${cost('bare')}`,
    })
    await worker.stop()
    await bare.stop()
  } finally {
    receiver.stop()
    await database.drop()
  }
})
