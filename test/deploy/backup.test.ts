// @module-tag postgresql
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { readIndexMarks } from '../../src/db/addresses/account-keys.ts'
import { readJournal } from '../../src/signer/index-journal.ts'
import { type App, makeDataDir, startApp } from '../support/app.ts'
import { type DebianPostgres, openDebianPostgres } from '../support/debian-postgres.ts'
import { until } from '../support/until.ts'

/** docs/backup.md, carried out: what it tells to do is done here, on a shop that goes on selling meanwhile. */

const PAID_MS_MAX = 120_000
const TIMEOUT_MS = 300_000
const SOLD_AFTER_RESTORE = 25

const invoiceShape = z.object({ id: z.string(), status: z.string(), address: z.string() })
type Invoice = z.output<typeof invoiceShape>

let postgres: DebianPostgres
let place: Awaited<ReturnType<typeof makeDataDir>>
let app: App | null = null
/** What the shop sold, by when: before the base backup, before the last log that was archived, and after it. */
const sold: { before: Invoice[]; between: Invoice[]; lost: Invoice[] } = { before: [], between: [], lost: [] }
/** Sold before the backup, and paid when nothing was archived any more. */
let paidLater: Invoice
let archive: string

beforeAll(async () => {
  postgres = await openDebianPostgres()
  place = await makeDataDir()
}, TIMEOUT_MS)
afterEach(async () => {
  await app?.stop()
  app = null
})
afterAll(async () => {
  await postgres.remove()
  await place.remove()
})

test('a shop sells while it is backed up, and then loses its database', { timeout: TIMEOUT_MS }, async () => {
  archive = await postgres.makeFolder('archive')
  const data = await postgres.initialize('first')
  const server = await postgres.start(data, [
    'wal_level=replica',
    'archive_mode=on',
    `archive_command=test ! -f ${archive}/%f && cp %p ${archive}/%f`,
  ])
  await query(server.url('postgres'), 'create database paylink')
  const url = server.url('paylink')
  app = await startApp({ ...place, env: { DATABASE_URL: url } })
  sold.before = await sell(app, 3)
  paidLater = await sellOne(app)
  await pay(app, sold.before[0])

  await postgres.program(
    'pg_basebackup',
    '-d',
    server.url('postgres'),
    '-D',
    join(postgres.folder, 'base'),
    '-c',
    'fast',
  )
  sold.between = await sell(app, 3)
  await pay(app, sold.between[0])
  await postgres.program('pg_dump', '-Fc', '-d', url, '-f', join(postgres.folder, 'paylink.dump'))
  const [{ wal = '' } = {}] = await query(url, 'select pg_walfile_name(pg_switch_wal()) as wal')
  await until(
    async () => {
      const [{ done } = {}] = await query(url, 'select last_archived_wal as done from pg_stat_archiver')
      return String(done) >= String(wal)
    },
    { timeoutMs: PAID_MS_MAX },
  )

  sold.lost = await sell(app, 5)
  await pay(app, sold.lost[0])
  await pay(app, paidLater)
  await untilJournalKnows(url)
  await app.kill()
  await postgres.crash(data)
  await rm(data, { recursive: true })
})

test('a base backup and the archived log bring back all that was archived, and the chain the rest', {
  timeout: TIMEOUT_MS,
}, async () => {
  const data = join(postgres.folder, 'base')
  await postgres.program('pg_verifybackup', data)
  await writeFile(join(data, 'recovery.signal'), '')
  const server = await postgres.start(data, [`restore_command=cp ${archive}/%f %p`, 'archive_mode=off'])
  await until(
    async () => {
      const [{ recovering } = {}] = await query(
        server.url('postgres'),
        'select pg_is_in_recovery() as recovering',
      )
      return recovering === false
    },
    { timeoutMs: PAID_MS_MAX },
  )
  await expectRestored(server.url('paylink'))
  await postgres.crash(data)
})

test('a dump brings back all that was in it, and the chain the rest', { timeout: TIMEOUT_MS }, async () => {
  const data = await postgres.initialize('from-dump')
  const server = await postgres.start(data)
  await query(server.url('postgres'), 'create database paylink')
  for (const role of ['api', 'watcher', 'delivery', 'signer'])
    await query(server.url('postgres'), `create role paylink_${role} nologin`)
  const dump = join(postgres.folder, 'paylink.dump')
  await postgres.program('pg_restore', '--exit-on-error', '--no-owner', '-d', server.url('paylink'), dump)
  await expectRestored(server.url('paylink'))
})

/** Starts the program on the restored database and the files as they are, and holds it to what docs/backup.md promises. */
async function expectRestored(url: string): Promise<void> {
  const restored = await startApp({ ...place, env: { DATABASE_URL: url } })
  app = restored
  for (const invoice of [...sold.before, ...sold.between])
    expect((await find(restored, invoice.id)).address).toBe(invoice.address)
  for (const [paid] of [sold.before, sold.between])
    expect((await find(restored, paid?.id ?? '')).status).toBe('paid')
  for (const { id } of sold.lost)
    expect((await restored.api('GET', `/api/v1/invoices/${id}`)).status).toBe(404)

  // Its payment was never in the backup. The chain is read again from where the backup left it.
  await until(async () => (await find(restored, paidLater.id)).status === 'paid', { timeoutMs: PAID_MS_MAX })

  // No buyer is given an address that one before the loss was given.
  const used = new Set(
    [...sold.before, ...sold.between, ...sold.lost, paidLater].map(({ address }) => address),
  )
  const anew = await sell(restored, SOLD_AFTER_RESTORE)
  expect(anew.filter(({ address }) => used.has(address))).toEqual([])
  await pay(restored, anew[0])
  sold.lost.push(...anew)
  const audit = await restored.command('audit')
  expect(audit).toMatchObject({ code: 0 })
  await untilJournalKnows(url)
  expect(await restored.stop()).toBe(0)
  app = null
}

async function sellOne(shop: App): Promise<Invoice> {
  let made: Invoice | null = null
  // The watcher may still be deriving the first addresses.
  await until(
    async () => {
      const answer = await shop.api('POST', '/api/v1/invoices', { usd_amount: '20.00', asset: 'LTC' })
      made = answer.status === 201 ? invoiceShape.parse(answer.body) : null
      return made !== null
    },
    { timeoutMs: PAID_MS_MAX },
  )
  return invoiceShape.parse(made)
}

async function sell(shop: App, count: number): Promise<Invoice[]> {
  const invoices: Invoice[] = []
  for (let n = 0; n < count; n++) invoices.push(await sellOne(shop))
  return invoices
}

async function find(shop: App, id: string): Promise<Invoice> {
  return invoiceShape.parse((await shop.api('GET', `/api/v1/invoices/${id}`)).body)
}

async function pay(shop: App, invoice: Invoice | undefined): Promise<void> {
  const { id } = invoiceShape.parse(invoice)
  const paid = await shop.api('POST', `/api/v1/test/invoices/${id}/pay`, { scenario: 'exact' })
  expect(paid.status).toBe(200)
  await until(async () => (await find(shop, id)).status === 'paid', { timeoutMs: PAID_MS_MAX })
}

/** The signer's journal is at most a second behind the database. */
async function untilJournalKnows(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const rows = await readIndexMarks(client)
    await until(
      async () => {
        const journal = await readJournal(join(place.dataDir, 'signer'))
        return rows.every(({ keyspace, given }) => (journal.get(keyspace)?.given ?? 0) >= given)
      },
      { timeoutMs: PAID_MS_MAX },
    )
  } finally {
    await client.end()
  }
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}
