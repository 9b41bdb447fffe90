import { setTimeout as pause } from 'node:timers/promises'
import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { auditWhenDue } from '../../src/audit/keep-auditing.ts'
import { loadLastAudit } from '../../src/audit/last-audit.ts'
import { auditParts, runAudit } from '../../src/audit/run-audit.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { createAuditPart } from '../../src/http/public/audit-page.tsx'
import type { ChainNode } from '../../src/nodes/chain-nodes.ts'
import { openOutcomeKey } from '../../src/secrets/outcome-key.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { inBlock } from '../support/invoice.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'
import { startSilentServer } from '../support/silent-server.ts'
import { until } from '../support/until.ts'

const MINUTE_MS = 60_000
/** Half of what a node is given to answer. */
const SOON_MS = 15_000
let database: TestDatabase
const key = openOutcomeKey(Buffer.alloc(32, 1))
const logged: string[] = []
const log = pino({ level: 'info' }, { write: (line: string) => logged.push(line) })
/** No audit begins later than the database's own time. */
let now = new Date(Date.now() - 10 * 24 * 60 * MINUTE_MS)
const depsOf = () => ({
  pool: database.pools.watcher,
  nodes: [],
  clock: () => now,
  log,
  addressKeysFile: null,
  sealKey: key,
})

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const part = () =>
  createAuditPart({ loadLastAudit: () => loadLastAudit(database.pools.api, key.publicKey), log })
const read = async (path: string, method = 'GET') =>
  part().fetch(new Request(`https://pay.example.com${path}`, { method }))

test('a check that takes too long is not checked, and keeps no other one from being made', async () => {
  const blocker = await database.owner.connect()
  try {
    await blocker.query('begin; lock table invoice_resolution in access exclusive mode')
    const results = await runAudit(database.pools.watcher, [], { checkMinutesMax: 1 / 600 })
    const ended = results.filter(({ notChecked }) => notChecked !== null)
    expect(ended.map(({ notChecked }) => notChecked)).toContain('its query took too long and was ended')
    expect(ended.map(({ name }) => name)).toContain('review_has_its_answer')
    expect(
      results.filter(({ notChecked, findings }) => notChecked === null && findings.length === 0),
    ).toHaveLength(results.length - ended.length)
    expect(ended.length).toBeLessThan(results.length / 2)
  } finally {
    await blocker.query('rollback')
    blocker.release()
  }
})

test('before the first audit the public page says that there was none', async () => {
  const page = await (await read('/audit')).text()
  expect(page).toContain('have not been audited yet')
  expect(await (await read('/audit.json')).json()).toMatchObject({ last_run_at: null, discrepancies: null })
})

test('of processes that look at once one audits; the next audit comes when it is time, or when one died', async () => {
  const looks = await Promise.all(Array.from({ length: 5 }, () => auditWhenDue(depsOf(), 60)))
  expect(looks.filter((results) => results !== null)).toHaveLength(1)
  expect(await loadLastAudit(database.pools.api, key.publicKey)).toMatchObject({
    startedAt: now,
    discrepancies: 0,
  })
  now = new Date(now.getTime() + 59 * MINUTE_MS)
  expect(await auditWhenDue(depsOf(), 60)).toBeNull()
  now = new Date(now.getTime() + 2 * MINUTE_MS)
  await database.owner.query('insert into audit_run (started_at) values ($1)', [now])
  expect(await auditWhenDue(depsOf(), 360)).toBeNull()
  now = new Date(now.getTime() + 61 * MINUTE_MS)
  expect(await auditWhenDue(depsOf(), 360)).toBeNull()
  now = new Date(now.getTime() + 300 * MINUTE_MS)
  expect(await auditWhenDue(depsOf(), 360)).not.toBeNull()
})

test("the service's own role finds what the owner finds; the page, the log and the figures say how many", async () => {
  const tenant = await seedMerchant(database)
  const invoice = await seedInvoice(database, tenant)
  await recordTransfers(
    { pool: database.pools.watcher, clock: () => now },
    { tenant, invoiceId: invoice.id, facts: [inBlock('a1', 100_000_000n, 2)], tipHeight: 101 },
  )
  await database.owner.query(`update transfer set ledger_postings = 5 where invoice_id = $1`, [invoice.id])
  await database.owner.query(`update invoice set status = 'expired' where id = $1`, [invoice.id])
  now = new Date(now.getTime() + 24 * 60 * MINUTE_MS)
  const own = await auditWhenDue(depsOf())
  const owners = await runAudit(database.owner, [])
  const summary = (results: typeof owners | typeof own) =>
    results?.map(({ name, findings }) => [name, findings.length])
  expect(summary(own)).toEqual(summary(owners))
  const found = owners.reduce((sum, { findings }) => sum + findings.length, 0)
  expect(found).toBeGreaterThanOrEqual(2)
  const told = await (await read('/audit')).text()
  expect(told).toContain(`${found} discrepancies were found`)
  expect(told).not.toContain(tenant.merchantId)
  expect(await (await read('/audit.json')).json()).toEqual({
    object: 'audit',
    last_run_at: now.toISOString(),
    checks: owners.length,
    // No node was given to ask about the payment.
    not_checked: 1,
    discrepancies: found,
  })
  expect(logged.join('\n')).toContain('invoice_follows_its_facts')
})

test('the page takes GET alone, runs nothing and loads nothing', async () => {
  const answer = await read('/audit', 'POST')
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  const policy = (await read('/audit')).headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).not.toContain('unsafe')
})

test('progress grows to the end and names what is looked at', async () => {
  const steps: number[] = []
  const onProgress = (done: number, total: number, note: string) => {
    expect(total).toBe(auditParts([]))
    expect(note).not.toBe('')
    steps.push(done)
  }
  await runAudit(database.owner, [], { onProgress })
  expect(steps).toEqual([...steps].sort((one, other) => one - other))
  expect(steps.at(-1)).toBe(auditParts([]))
})

test('an audit that is at work when the service stops ends at once', async () => {
  const blocker = await database.owner.connect()
  const stopping = new AbortController()
  try {
    await blocker.query('begin; lock table event in access exclusive mode')
    now = new Date(now.getTime() + 24 * 60 * MINUTE_MS)
    const audit = auditWhenDue(depsOf(), 360, stopping.signal).then(
      () => 'finished',
      () => 'ended',
    )
    await until(
      async () => {
        const { rows } = await database.owner.query(
          `select from pg_locks where not granted and relation = 'event'::regclass
             and database = (select oid from pg_database where datname = current_database())`,
        )
        return rows.length > 0
      },
      { what: 'the audit waits for the table' },
    )
    stopping.abort()
    expect(await audit).toBe('ended')
  } finally {
    await blocker.query('rollback')
    blocker.release()
  }
})

test.each(['litecoin', 'base', 'solana'] as const)(
  'an audit that waits for an answer of a node of %s when the service stops ends at once',
  async (chain) => {
    const hung = await startSilentServer()
    const stopping = new AbortController()
    try {
      const node = { ...silentNode(chain), rpcUrl: `http://u:p@127.0.0.1:${hung.port}` }
      await database.owner.query(
        `insert into network_state (network, parameters, height, hash, block_time, status, updated_at)
         values ($1, 'regtest', 5, 'aa', now(), 'ok', now())`,
        [node.network],
      )
      now = new Date(now.getTime() + 24 * 60 * MINUTE_MS)
      const audit = auditWhenDue({ ...depsOf(), nodes: [node] }, 360, stopping.signal).then(
        () => 'finished',
        () => 'ended',
      )
      await until(() => hung.connections() > 0, { what: 'the node is asked' })
      stopping.abort()
      expect(await Promise.race([audit, pause(SOON_MS, 'still waits')])).toBe('ended')
    } finally {
      await hung.close()
    }
  },
)

function silentNode(chain: 'litecoin' | 'base' | 'solana'): ChainNode {
  const rpcSetting = `TEST_${chain.toUpperCase()}_RPC_URL`
  const own = { network: `${chain}-test`, chain, rpcSetting } as const
  return {
    ...own,
    livemode: false,
    rpcUrl: '',
    furtherUrls: [],
    zmqUrl: null,
    tokenContracts: {},
    sandbox: null,
  }
}
