import { makeWorkerUtils } from 'graphile-worker'
import PgBoss from 'pg-boss'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../test/support/database.ts'
import { median, printFigure, spread } from './support/figure.ts'
import {
  createLoad,
  DUE_AFTER_SECONDS,
  fillEvents,
  finishWriting,
  type Job,
  makeJobs,
  measureRound,
  startReceiver,
  startSender,
  untilEmpty,
  untilFinished,
  type WebhookLoad,
} from './support/webhook-load.ts'

const ENDPOINTS = 16
const CONCURRENCY = 64
/** Enough that a process which has just started is not what is measured. */
const EVENTS = 20_000
/** One query a job: it takes long enough with fewer. */
const EVENTS_ONE_BY_ONE = 800
/** One small batch at each polling, twice a second, whatever the machine: five of them. */
const EVENTS_BY_POLLING = 320
/** The first run warms up, with this part of the events. */
const WARM_UP_PART = 0.25
const ROUNDS = 5

const idsOf = (jobs: readonly Job[]): string[] => jobs.map((job) => job.id)
const whenDue = (): Date => new Date(Date.now() + DUE_AFTER_SECONDS * 1_000)

type Peers = { readonly rounds: { readonly [name in Peer]: () => Promise<number> }; stop(): Promise<void> }
/**
 * `graphile-batched` and `pgboss` are what their documentation advises for throughput and shows, and what counts;
 * `graphile` is the first page of its documentation, `pgboss-large` goes beyond what is documented.
 */
const PEERS = ['ours', 'graphile', 'graphile-batched', 'pgboss', 'pgboss-large'] as const
type Peer = (typeof PEERS)[number]

/** A round of each, to be run by turns: a graphile-worker that only waits still takes what it is notified of. */
async function openPeers(load: WebhookLoad): Promise<Peers> {
  const { ownerUrl } = load.database
  const graphile = await makeWorkerUtils({ connectionString: ownerUrl })
  await graphile.migrate()
  const boss = new PgBoss(ownerUrl)
  await boss.start()
  const withSender = async (
    kind: Parameters<typeof startSender>[0],
    count: number,
    round: (count: number) => Promise<number>,
  ) => {
    const own = kind === 'worker' ? {} : { databaseUrl: ownerUrl }
    const sender = await startSender(kind, { load, concurrency: CONCURRENCY, ...own })
    try {
      await round(WARM_UP_PART * count)
      return await round(count)
    } finally {
      await sender.stop()
    }
  }
  const ours = (count: number) =>
    measureRound(
      load,
      count,
      () => fillEvents(load, count),
      () => untilFinished(load),
    )
  const graphileJobs = (count: number) =>
    measureRound(
      load,
      count,
      async () => {
        const jobs = makeJobs(load, count)
        const runAt = whenDue()
        await graphile.addJobs(jobs.map((payload) => ({ identifier: 'post', payload, runAt })))
        await finishWriting(load)
        return idsOf(jobs)
      },
      () => untilEmpty(load, 'select from graphile_worker._private_jobs limit 1'),
    )
  const pgBossJobs = (count: number) =>
    measureRound(
      load,
      count,
      async () => {
        const jobs = makeJobs(load, count)
        const startAfter = whenDue()
        await boss.insert(jobs.map((data) => ({ name: 'post', data, startAfter })))
        await finishWriting(load)
        return idsOf(jobs)
      },
      () => untilEmpty(load, `select from pgboss.job where state < 'completed' and name = 'post' limit 1`),
    )
  return {
    rounds: {
      ours: () => withSender('worker', EVENTS, ours),
      graphile: () => withSender('graphile', EVENTS_ONE_BY_ONE, graphileJobs),
      'graphile-batched': () => withSender('graphile-batched', EVENTS, graphileJobs),
      pgboss: () => withSender('pgboss', EVENTS_BY_POLLING, pgBossJobs),
      'pgboss-large': () => withSender('pgboss-large', EVENTS, pgBossJobs),
    },
    stop: async () => {
      await graphile.release()
      await boss.stop({ graceful: false })
    },
  }
}

function print(measured: readonly { readonly [name in Peer]: number }[]): void {
  const rates = PEERS.map((name) => `${name} ${median(measured.map((one) => one[name])).toFixed(0)}/s`)
  const figure = (name: string, target: string, ratios: number[]) =>
    printFigure({
      name: `durable delivery ÷ ${name}`,
      target,
      measured: median(ratios).toFixed(2),
      detail: `spread ${spread(ratios)}; ${rates.join(', ')}, ${CONCURRENCY} at once`,
    })
  figure(
    'the better of graphile-worker 0.17 as its page on performance configures it and pg-boss 10 as its documentation shows',
    '≥ 1.5',
    measured.map((one) => one.ours / Math.max(one['graphile-batched'], one.pgboss)),
  )
  figure(
    'graphile-worker 0.17 as its first page shows',
    'measured',
    measured.map((one) => one.ours / one.graphile),
  )
  figure(
    'pg-boss 10 as its documentation shows',
    'measured',
    measured.map((one) => one.ours / one.pgboss),
  )
  figure(
    'pg-boss 10 in batches 32 times as large',
    'measured',
    measured.map((one) => one.ours / one['pgboss-large']),
  )
}

test('deliveries against the same POSTs as jobs of graphile-worker and of pg-boss', async () => {
  const database = await createTestDatabase()
  const receiver = await startReceiver()
  try {
    const load = await createLoad(database, receiver, ENDPOINTS)
    const { rounds, stop } = await openPeers(load)
    const measured: { [name in Peer]: number }[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await database.owner.query('vacuum analyze')
      const ours = await rounds.ours()
      const graphile = await rounds.graphile()
      const graphileBatched = await rounds['graphile-batched']()
      const pgboss = await rounds.pgboss()
      const pgbossLarge = await rounds['pgboss-large']()
      measured.push({
        ours,
        graphile,
        'graphile-batched': graphileBatched,
        pgboss,
        'pgboss-large': pgbossLarge,
      })
    }
    await stop()
    expect(measured).toHaveLength(ROUNDS)
    print(measured)
  } finally {
    receiver.stop()
    await database.drop()
  }
})
