// One way of sending webhooks, in a process of its own, built from the program's own parts. Driven by messages of
// its parent; what each does is in the functions below.

import { createHttpClient } from '../../dist/delivery/http-client.js'
import { resolveBySystem } from '../../dist/delivery/resolve-host.js'
import { sendEvent } from '../../dist/delivery/send.js'
import { startDeliveryWorker } from '../../dist/delivery/worker.js'
import { openPool } from '../../dist/postgres/pool.js'
import { createLogger } from '../../dist/runtime/log.js'
import { openKeyring } from '../../dist/secrets/keyring.js'

const settings = JSON.parse(process.argv[2])
const clock = () => new Date()
const log = createLogger('warn', 'stderr')

/** The delivery role as the program runs it. */
async function startWorker() {
  const pool = openPool({
    connectionString: settings.databaseUrl,
    applicationName: 'paylink-bench',
    max: 10,
    onError: () => {},
  })
  const worker = await startDeliveryWorker({
    pool,
    clock,
    log,
    keyring: openKeyring(Buffer.from(settings.secretKey, 'hex')),
    listenUrl: settings.databaseUrl,
    allowPrivateTest: true,
    concurrency: settings.concurrency,
  })
  return async () => {
    await worker.stop()
    await pool.end()
  }
}

/** Posts one event with the program's own client; throws unless it was taken. */
function createPoster() {
  const http = createHttpClient({ publicOnly: false, resolve: resolveBySystem })
  return {
    post: async (job) => {
      const outcome = await sendEvent(
        { http, clock },
        {
          queue: job.endpoint,
          url: `${settings.receiverUrl}/${job.endpoint}`,
          eventId: job.id,
          schemaVersion: 1,
          body: Buffer.from(job.body),
          secrets: [settings.secrets[job.endpoint]],
        },
      )
      if (outcome.code !== 'ok') throw new Error(`the receiver did not take it: ${outcome.code}`)
    },
    close: () => http.close(),
  }
}

/** Nothing but signed POSTs of events in memory, as many at once as any other sender may have. */
function startBare() {
  const poster = createPoster()
  process.on('message', async ({ jobs }) => {
    let next = 0
    const sendOn = async () => {
      while (next < jobs.length) await poster.post(jobs[next++])
    }
    await Promise.all(Array.from({ length: settings.concurrency }, sendOn))
  })
  return () => poster.close()
}

/** graphile-worker as its documentation's first page shows it, with as many jobs at once as asked. One job is one POST. */
async function startGraphile(tuning = {}) {
  const { Logger, run } = await import('graphile-worker')
  const poster = createPoster()
  const runner = await run({
    preset: {
      worker: {
        connectionString: settings.databaseUrl,
        concurrentJobs: settings.concurrency,
        pollInterval: 1000,
        logger: new Logger(() => () => {}),
        ...tuning,
      },
    },
    noHandleSignals: true,
    taskList: { post: (job) => poster.post(job) },
  })
  return async () => {
    await runner.stop()
    await poster.close()
  }
}

/** graphile-worker as its documentation's page on performance configures it: jobs fetched ahead, completed in batches. */
const startGraphileBatched = () =>
  startGraphile({
    maxPoolSize: settings.concurrency + 1,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  })

/**
 * pg-boss as its documentation shows work(): a batch of jobs, all at once, so many as may run at once; the polling
 * is the shortest that it takes. One job is one POST. `batches` makes a fetch that many times larger, of which no
 * more run at once: what polling can no longer limit.
 */
async function startPgBoss(batches = 1) {
  const { default: PgBoss } = await import('pg-boss')
  const poster = createPoster()
  const boss = new PgBoss(settings.databaseUrl)
  boss.on('error', (error) => log.error({ err: error }, 'pg-boss'))
  await boss.start()
  await boss.createQueue('post')
  const batchSize = batches * settings.concurrency
  await boss.work('post', { batchSize, pollingIntervalSeconds: 0.5 }, async (jobs) => {
    let next = 0
    const postOn = async () => {
      while (next < jobs.length) await poster.post(jobs[next++].data)
    }
    await Promise.all(Array.from({ length: settings.concurrency }, postOn))
  })
  return async () => {
    await boss.stop({ graceful: false })
    await poster.close()
  }
}

const START = {
  worker: startWorker,
  bare: startBare,
  graphile: () => startGraphile(),
  'graphile-batched': startGraphileBatched,
  pgboss: () => startPgBoss(),
  'pgboss-large': () => startPgBoss(32),
}
const stop = await START[settings.kind]()
process.send('ready')
process.once('disconnect', async () => {
  await stop()
  process.exit(0)
})
