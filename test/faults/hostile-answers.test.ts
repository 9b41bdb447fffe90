import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  createTenant,
  createVerifiedEndpoint,
  fillBacklog,
  TEST_SECRET_KEY,
  untilDelivered,
} from '../support/webhook-fixtures.ts'
import { type Respond, startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

const LONG = process.env.LONG === '1'
const run = promisify(execFile)
const SCRIPT = fileURLToPath(new URL('../support/delivery-process.mjs', import.meta.url))
const ENDPOINTS = 16
const AT_ONCE = 128
/** Two times as many as are met at once. */
const EVENTS_PER_ENDPOINT = LONG ? 1_000 : 16
/** 8 MB are in use at once; an answer kept whole would be hundreds. */
const GROWTH_BYTES_MAX = (LONG ? 10 : 30) * 2 ** 20
const WARM_UP_ROUNDS = 2
/** In the long form twice, so that what stays behind would show. */
const PASSES = LONG ? 2 : 1
const TIMEOUT_MS = LONG ? 3_600_000 : 300_000
const SAMPLE_EVERY_MS = 50
/** Found nowhere afterwards. */
const MARK = 'body-of-a-hostile-answer'

let database: TestDatabase
let receiver: WebhookReceiver
let child: ChildProcess
let logged = ''

beforeAll(async () => {
  database = await createTestDatabase()
  receiver = await startReceiver()
  const settings = {
    databaseUrl: database.urls.delivery,
    secretKey: TEST_SECRET_KEY.toString('hex'),
    concurrency: AT_ONCE,
  }
  // Left to itself (COLLECT=0) the collector lets tens of megabytes of closed sockets gather, see docs/figures.md.
  const collect = process.env.COLLECT === '0' ? [] : ['--expose-gc']
  const args = [...collect, SCRIPT, JSON.stringify(settings)]
  child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stderr?.on('data', (chunk: Buffer) => {
    logged += chunk.toString()
  })
  if (child.stdout === null) throw new Error('the worker has no output')
  await once(child.stdout, 'data')
})
afterAll(async () => {
  child.kill('SIGKILL')
  await receiver.close()
  await database.drop()
})

/** The process's memory as the system sees it. */
async function residentBytes(): Promise<number> {
  const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(child.pid)])
  return Number(stdout.trim()) * 1_024
}

const chunk = Buffer.from(MARK.padEnd(64 * 1_024, ' x'))
const megabyte = Buffer.alloc(2 ** 20, MARK)
/** A hundred megabytes, were they unpacked. */
const bomb = gzipSync(Buffer.alloc(100_000_000, MARK))

const endless: Respond = (_event, response) => {
  response.writeHead(200)
  const more = (): void => {
    while (!response.destroyed && response.write(chunk)) {
      // As fast as it is taken.
    }
    if (!response.destroyed) response.once('drain', more)
  }
  more()
}
const ANSWERS: readonly Respond[] = [
  endless,
  (_event, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
  (_event, response) => void response.writeHead(200, { 'content-length': megabyte.length }).end(megabyte),
]

/** Delivers a round of events with this answer to all; returns the most memory that the worker had meanwhile. */
async function deliverRound(respond: Respond): Promise<number> {
  receiver.respond = respond
  receiver.events.length = 0
  const tenant = await createTenant(database)
  for (let index = 0; index < ENDPOINTS; index++) {
    await fillBacklog(
      database,
      await createVerifiedEndpoint(database, tenant, receiver.url),
      EVENTS_PER_ENDPOINT,
    )
  }
  let peak = await residentBytes()
  let done = false
  const sampler = (async () => {
    while (!done) {
      peak = Math.max(peak, await residentBytes())
      await new Promise((resolve) => setTimeout(resolve, SAMPLE_EVERY_MS))
    }
  })()
  try {
    await untilDelivered(database)
  } finally {
    done = true
    await sampler
  }
  expect(receiver.events).toHaveLength(ENDPOINTS * EVENTS_PER_ENDPOINT)
  return peak
}

test('128 endless answers, gzip bombs and megabytes cost a worker at most ten megabytes over short ones', {
  tags: ['ps'],
  timeout: TIMEOUT_MS,
}, async () => {
  const short: Respond = (_event, response) => void response.writeHead(200).end('thanks')
  for (let round = 0; round < WARM_UP_ROUNDS; round++) await deliverRound(short)
  const growth: number[] = []
  const afterPass: number[] = []
  for (let pass = 0; pass < PASSES; pass++) {
    for (const respond of ANSWERS) {
      const baseline = await deliverRound(short)
      growth.push((await deliverRound(respond)) - baseline)
    }
    afterPass.push(await deliverRound(short))
  }
  growth.push((afterPass.at(-1) ?? 0) - (afterPass[0] ?? 0))
  expect(growth.filter((bytes) => bytes > GROWTH_BYTES_MAX)).toEqual([])
})

test('no byte of an answer is in a table or in a log', async () => {
  const { rows } = await database.owner.query<{ table_name: string }>(
    `select table_name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  for (const { table_name } of rows) {
    const found = await database.owner.query(
      `select from "${table_name}" t where strpos(t::text, $1) > 0 or strpos(t::text, $2) > 0 limit 1`,
      [MARK, Buffer.from(MARK).toString('hex')],
    )
    expect([table_name, found.rowCount]).toEqual([table_name, 0])
  }
  expect(logged).not.toContain(MARK)
})
