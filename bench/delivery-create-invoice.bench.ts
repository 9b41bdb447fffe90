import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../test/support/database.ts'
import { freePort } from '../test/support/free-port.ts'
import { median, printFigure, spread } from './support/figure.ts'
import { driveHttp } from './support/http-load.ts'
import { startPaylink } from './support/paylink.ts'
import { createSignedPool } from './support/signed-pool.ts'
import { createLoad, startReceiver, startSender, untilFinished } from './support/webhook-load.ts'

const CLIENTS = 16
const ROUNDS = 5
const ROUND_SECONDS = 4
const ADDRESSES_A_ROUND = 20_000

async function prepareNetwork(database: TestDatabase): Promise<void> {
  await database.owner.query(
    `insert into account_key (keyspace, path, created_at) values ('litecoin-test', 'm', now()) on conflict do nothing`,
  )
  await database.owner.query(
    `insert into network_state (network, parameters, height, hash, tip_height, status, updated_at)
     values ('litecoin-test', 'regtest', 1, 'aa', 1, 'ok', now()) on conflict do nothing`,
  )
  await database.owner.query(
    `insert into network_watch (network, keyspace, through, updated_at)
     values ('litecoin-test', 'litecoin-test', 1000000000, now()) on conflict do nothing`,
  )
}

test('creating invoices whose events are delivered meanwhile against creating them with no endpoint', async () => {
  const database = await createTestDatabase()
  const receiver = await startReceiver()
  const folder = await mkdtemp(join(tmpdir(), 'paylink-bench-'))
  const port = await freePort()
  const paylink = await startPaylink(['api'], {
    DATABASE_URL: database.ownerUrl,
    API_DATABASE_URL: database.urls.api,
    WATCHER_DATABASE_URL: database.urls.watcher,
    DELIVERY_DATABASE_URL: database.urls.delivery,
    SIGNER_DATABASE_URL: database.urls.signer,
    DATA_DIR: folder,
    PORT: String(port),
    RATE_LIMIT_TEST: '100000',
  })
  try {
    const [silent, notified] = [await paylink.createKey(), await paylink.createKey()]
    const load = await createLoad(database, receiver, 1, { merchantId: notified.merchantId, livemode: false })
    await prepareNetwork(database)
    const addresses = await createSignedPool(folder)
    const worker = await startSender('worker', { load, concurrency: 64 })
    const drive = async (key: string): Promise<number> => {
      const result = await driveHttp({
        port,
        connections: CLIENTS,
        durationMs: ROUND_SECONDS * 1_000,
        request: () => createRequest(key),
      })
      expect([...result.statuses.keys()]).toEqual([201])
      return result.perSecond
    }
    await addresses.fill(database, ADDRESSES_A_ROUND)
    await drive(silent.key)
    const ratios: number[] = []
    const rates: [number[], number[]] = [[], []]
    for (let round = 0; round < ROUNDS; round++) {
      await addresses.fill(database, ADDRESSES_A_ROUND)
      const without = await drive(silent.key)
      const emitted = await driveNotified(notified.key)
      rates[0].push(without)
      rates[1].push(emitted)
      ratios.push(emitted / without)
    }
    printFigure({
      name: 'create-invoice with deliveries, sent meanwhile ÷ without',
      target: '≥ 0.75',
      measured: median(ratios).toFixed(2),
      detail: `spread ${spread(ratios)}; ${median(rates[1]).toFixed(0)}/s against ${median(rates[0]).toFixed(0)}/s, ${CLIENTS} clients`,
    })
    await worker.stop()

    /** The same, and then all that was created must have been delivered, once each. */
    async function driveNotified(key: string): Promise<number> {
      await receiver.expect(Number.MAX_SAFE_INTEGER)
      const startedAt = new Date()
      const perSecond = await drive(key)
      await untilFinished(load)
      const received = await receiver.report(load.secrets)
      const { rows } = await database.owner.query<{ id: string }>(
        'select id from event where merchant_id = $1 and created_at >= $2',
        [notified.merchantId, startedAt],
      )
      expect(received.every((event) => event.verified)).toBe(true)
      expect(received.map((event) => event.id).sort()).toEqual(rows.map((row) => row.id).sort())
      return perSecond
    }
  } finally {
    await paylink.stop()
    receiver.stop()
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  }
})

function createRequest(key: string): string {
  const body = '{"usd_amount":"49.99","asset":"LTC","external_reference":"order-1","metadata":{"cart":"A"}}'
  return `POST /api/v1/invoices HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\nidempotency-key: ${randomBytes(12).toString('hex')}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}
