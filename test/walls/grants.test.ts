import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Transaction } from '@scure/btc-signer'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { outputScriptOf } from '../../src/chain/utxo/output-script.ts'
import { loadConfig } from '../../src/config/config.ts'
import { configuredNodes } from '../../src/nodes/chain-nodes.ts'
import type { Pool } from '../../src/postgres/pool.ts'
import type { DatabaseRole } from '../../src/postgres/roles.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { PayoutWorld } from '../support/payout-world.ts'
import { startSandboxMoney } from '../support/sandbox-money.ts'
import { NO_MONEY, UNNAMED } from './unnamed-attacks.ts'

/**
 * What a stolen database login can write, read from the catalogue and tried: a column or grant that a migration adds is
 * attacked by itself, where the seeded installation has a row for it. One that the audit does not name fails until
 * unnamed-attacks.ts says what it can do.
 */

const LTC = 100_000_000n
const ROLES = ['api', 'watcher', 'delivery', 'signer'] as const

let money: Awaited<ReturnType<typeof startSandboxMoney>>
let world: PayoutWorld
let victim: Tenant
let other: Tenant
let allowed: Set<string>
let theirs: string
let restore: () => Promise<void>
let signerFolder: string
let nodes: ReturnType<typeof configuredNodes>
let known: Set<string>

beforeAll(async () => {
  money = await startSandboxMoney()
  world = await PayoutWorld.open(money)
  nodes = configuredNodes(loadConfig({ TEST_LITECOIN_RPC_URL: money.rpcUrl }))
  victim = await world.openShop([LTC, LTC, LTC], 100)
  other = await world.openShop([LTC])
  await world.openInvoice(victim, LTC)
  const paid = await world.payout(victim, '0.5')
  await world.sign()
  await world.tracker().pass()
  await money.mine(1)
  await world.endRefused()
  const approved = await world.payout(victim, '0.3')
  const ofOther = await world.payout(other, '0.2')
  await world.request(victim, '0.1')
  theirs = world.newAddress()
  allowed = new Set([paid, approved, ofOther].map(({ destination }) => scriptOf(destination)))
  await world.watch()
  restore = await takeSnapshot()
  signerFolder = await mkdtemp(join(tmpdir(), 'paylink-walls-'))
  await cp(world.folder, signerFolder, { recursive: true })
  known = new Set(await findings(world.database.owner, nodes))
})
afterAll(async () => {
  await rm(signerFolder, { recursive: true, force: true })
  await world?.close()
  await money?.remove()
})

const scriptOf = (address: string): string =>
  Buffer.from(outputScriptOf(address, 'litecoin', world.parameters)?.script ?? []).toString('hex')

/** Puts every table back as it is now, without triggers, as often as it is called. */
async function takeSnapshot(): Promise<() => Promise<void>> {
  const { owner } = world.database
  const { rows } = await owner.query<{ name: string }>(
    `select quote_ident(c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition order by c.relname`,
  )
  const of = (statement: (name: string) => string) => rows.map(({ name }) => statement(name)).join(';')
  await owner.query(
    `create schema snapshot; ${of((name) => `create table snapshot.${name} as table ${name}`)}`,
  )
  return async () => {
    await owner.query(`begin; set local session_replication_role = replica;
      ${of((name) => `delete from public.${name}; insert into public.${name} table snapshot.${name}`)}; commit`)
  }
}

/** A pool whose one connection stays in one transaction, so that an audit sees what was not committed. */
function poolWithin(client: pg.PoolClient): Pool {
  const query = (statement: string | { text: string }, values?: unknown[]) => {
    const text = typeof statement === 'string' ? statement : statement.text
    const end = /^(begin|commit|rollback$)/.exec(text)?.[1]
    if (end !== undefined) return Promise.resolve({ command: end.toUpperCase(), rows: [] })
    return client.query(statement as string, values)
  }
  return { query, connect: () => Promise.resolve({ query, release: () => {} }) } as unknown as Pool
}

/** What the audit finds, by check and row. */
async function findings(pool: Pool, asked: typeof nodes): Promise<string[]> {
  const results = await runAudit(pool, asked)
  return results.flatMap(({ name, findings }) =>
    findings.map(({ subject, detail }) => `${name} ${subject} ${detail}`),
  )
}

/** Whether an attack with a role's rights writes anything, and what the audit finds then; all of it is rolled back. */
async function audited(role: DatabaseRole, statement: string): Promise<{ wrote: boolean; found: boolean }> {
  const client = await world.database.owner.connect()
  try {
    await client.query(`begin; set local role paylink_${role}`)
    await client.query(
      `select set_config('paylink.merchant_id', $1, true), set_config('paylink.livemode', 'false', true)`,
      [victim.merchantId],
    )
    const wrote = await client
      .query(statement)
      .then(async ({ rowCount }) => {
        await client.query('set constraints all immediate; set local role none')
        return (rowCount ?? 0) > 0
      })
      .catch(() => false)
    if (!wrote) return { wrote, found: false }
    const within = poolWithin(client)
    for (const asked of [[], nodes]) {
      const lines = await findings(within, asked)
      if (lines.some((line) => !known.has(line))) return { wrote, found: true }
    }
    return { wrote, found: false }
  } finally {
    await client.query('rollback')
    client.release()
  }
}

type Column = {
  readonly table: string
  readonly everyRow: boolean
  readonly column: string
  readonly type: string
}
type Attack = {
  readonly key: string
  readonly table: string
  readonly statement: string
  /** Of which row it is, no order says. */
  readonly oneRow?: true
}

/** Every column that a role may update, and every table that it may add rows to or delete from. */
async function grantsOf(role: DatabaseRole) {
  const { rows } = await world.database.owner.query<
    Column & { updates: boolean; inserts: boolean; deletes: boolean; isKey: boolean }
  >(
    `select c.relname as table, a.attname as column, format_type(a.atttypid, null) as type,
       has_column_privilege($1, c.oid, a.attnum, 'update') as updates,
       has_column_privilege($1, c.oid, a.attnum, 'insert') as inserts,
       has_table_privilege($1, c.oid, 'delete') as deletes,
       exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any (i.indkey)) as "isKey"
     from pg_class c
     join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relkind in ('r', 'p') and not c.relispartition
     order by c.relname, a.attnum`,
    [`paylink_${role}`],
  )
  return rows.filter(({ table }) => NO_MONEY[table] === undefined)
}

/** Words that a check of the table allows, such as statuses. */
async function wordsOf(table: string): Promise<string[]> {
  const { rows } = await world.database.owner.query<{ text: string }>(
    `select pg_get_constraintdef(oid) as text from pg_constraint where conrelid = $1::regclass and contype = 'c'`,
    [table],
  )
  return [
    ...new Set(
      rows.flatMap(({ text }) => [...text.matchAll(/'([a-z_]+)'::text/g)].map(([, word = '']) => word)),
    ),
  ]
}

/** Values that somebody hostile would write in place of a column's own. */
async function hostile({ table, column, type }: Column): Promise<string[]> {
  const quote = (text: string) => `'${text}'`
  if (/^(numeric|bigint|integer)$/.test(type)) return [`${column} * 1000`, '0']
  if (type.startsWith('timestamp')) return [quote('2020-01-01'), 'null']
  if (type === 'boolean') return [`not ${column}`]
  if (type === 'bytea') return [`decode(repeat('ab', greatest(1, octet_length(${column}))), 'hex')`]
  if (type === 'json' || type === 'jsonb') return [quote('{}')]
  if (type !== 'text') return ['null']
  if (/status|bucket|resolution|reason|kind|account$/.test(column))
    return [...(await wordsOf(table)).map(quote), 'null']
  if (column === 'merchant_id') return [quote(other.merchantId)]
  return [quote(theirs), 'null']
}

async function attacksOf(role: DatabaseRole): Promise<Attack[]> {
  const columns = await grantsOf(role)
  const attacks: Attack[] = []
  for (const each of columns.filter(({ updates }) => updates)) {
    const key = `${role} update ${each.table}.${each.column}`
    for (const value of await hostile(each)) {
      const set = `update ${each.table} set ${each.column} = ${value}`
      const differs = `${each.column}::text is distinct from (${value})::text`
      attacks.push({ key, table: each.table, statement: `${set} where ${differs}` })
      attacks.push({
        key,
        table: each.table,
        oneRow: true,
        statement: `${set} where ctid = (select min(ctid) from ${each.table})`,
      })
    }
  }
  for (const table of new Set(columns.filter(({ deletes }) => deletes).map(({ table }) => table)))
    attacks.push({ key: `${role} delete ${table}`, table, statement: `delete from ${table}` })
  for (const table of new Set(columns.filter(({ inserts }) => inserts).map(({ table }) => table)))
    attacks.push({
      key: `${role} insert ${table}`,
      table,
      statement: cloneOf(columns.filter((one) => one.table === table)),
    })
  return attacks
}

/** A row like those that are there, under a key of its own, of a thousand times the amount. */
function cloneOf(columns: readonly (Column & { isKey: boolean; inserts: boolean })[]): string {
  const given = columns.filter(({ inserts }) => inserts)
  const value = ({ column, type, isKey }: (typeof given)[number]): string => {
    if (isKey && type === 'text' && !/merchant_id|network|keyspace|account|asset/.test(column))
      return `${column} || 'x'`
    if (isKey && /bigint|integer/.test(type)) return `${column} + 1000`
    return column === 'amount' ? 'amount * 1000' : column
  }
  const table = given[0]?.table
  return `insert into ${table} (${given.map(({ column }) => column).join(', ')})
    select ${given.map(value).join(', ')} from ${table} limit 1`
}

/** Whether an attack wrote anything, with the role's own login. */
async function succeeds(role: DatabaseRole, { statement }: Attack): Promise<boolean> {
  try {
    const pool = world.database.pools[role]
    const { rowCount } = await withTransaction(pool, victim, (tx) => tx.query(statement))
    return (rowCount ?? 0) > 0
  } catch {
    // Refused by a grant, a policy, a constraint or a trigger.
    return false
  }
}

/** Scripts of outputs that the signer has signed and nobody approved: neither a destination nor its own change. */
async function stolen(): Promise<string[]> {
  const { rows } = await world.database.owner.query<{ raw: Buffer; change: number[] }>(
    `select raw, array(select output_index from payout_change c where c.txid = t.txid) as change
     from payout_transaction t`,
  )
  return rows.flatMap(({ raw, change }) => {
    const transaction = Transaction.fromRaw(raw, { allowUnknownOutputs: true, allowUnknownInputs: true })
    const scripts = Array.from({ length: transaction.outputsLength }, (_, index) =>
      Buffer.from(transaction.getOutput(index).script ?? []).toString('hex'),
    )
    return scripts.filter((script, index) => !allowed.has(script) && !change.includes(index))
  })
}

test.each(ROLES)('the audit names whatever counts that the login of %s writes', async (role) => {
  const unnamed = new Set<string>()
  for (const { key, statement, oneRow } of await attacksOf(role)) {
    if (unnamed.has(key) || oneRow) continue
    const { wrote, found } = await audited(role, statement)
    if (wrote && !found) unnamed.add(key)
  }
  // A new column or grant is named by the audit, or listed with what it can do.
  expect([...unnamed].filter((key) => UNNAMED[key] === undefined)).toEqual([])
})

test('without an attack the signer signs what was approved', async () => {
  const signed = async () =>
    (await world.database.owner.query('select from payout_transaction')).rowCount ?? 0
  const before = await signed()
  await world.sign()
  expect(await signed()).toBeGreaterThan(before)
  expect(await stolen()).toEqual([])
  await restore()
  await cp(signerFolder, world.folder, { recursive: true, force: true })
})

test.each(['api', 'watcher', 'delivery'] as const)(
  'whatever the login of %s writes, nothing is signed to an address that was not approved',
  async (role) => {
    const attacks = await attacksOf(role)
    for (const table of new Set(attacks.map(({ table }) => table))) {
      let wrote = false
      for (const attack of attacks.filter((each) => each.table === table)) {
        if (await succeeds(role, attack)) wrote = true
      }
      if (!wrote) continue
      // A signer that stops at what it reads signs nothing.
      await world.sign().catch(() => {})
      expect({ table, stolen: await stolen() }).toEqual({ table, stolen: [] })
      await restore()
      await cp(signerFolder, world.folder, { recursive: true, force: true })
    }
  },
)
