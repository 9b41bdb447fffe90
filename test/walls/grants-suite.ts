import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import type { ChainNode } from '../../src/nodes/chain-nodes.ts'
import { isUtxoEntry, lineSchema } from '../../src/payouts/sign/journal-lines.ts'
import type { Pool } from '../../src/postgres/pool.ts'
import type { DatabaseRole } from '../../src/postgres/roles.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import type { PayoutSteps } from '../support/payout-steps.ts'
import { type Attack, attacksOf, grantsOf, oddRounds } from './grant-attacks.ts'
import { type Chain, EMPTY, UNNAMED } from './unnamed-attacks.ts'

/** An installation on one chain, with a row in every table that money of that chain depends on. */
export type Installation = {
  readonly world: PayoutSteps
  readonly node: ChainNode
  /** Has money, payouts signed and to be signed, and one that nobody approved. */
  readonly victim: Tenant
  /** Has a balance that nobody paid, an unpaid invoice, and an approved payout: nothing is to be signed for it. */
  readonly thief: Tenant
  /** Of another merchant's approved payout that is still to be signed, whom it pays. */
  readonly bystander: string
  /** Approved payouts of merchants who were paid, of which some are still to be signed. */
  readonly approved: readonly { readonly destination: string; readonly amount: bigint }[]
  /** Where the thief wants the money. */
  readonly theirs: string
  /** Whom a signed transaction pays; the signer's own accounts are left out. */
  paidBy(signed: Signed): readonly Paid[]
  close(): Promise<void>
}
export type Paid = { readonly to: string; readonly amount: bigint }
export type Signed = {
  /** Of the payout, sweep or other transaction that it was signed for. */
  readonly id: string
  readonly raw: Buffer
  /** Which output is the signer's own again, where transactions have outputs. */
  readonly change: number | null
}

const ROLES = ['api', 'watcher', 'delivery', 'signer'] as const

/**
 * What a stolen database login can write, read from the catalogue and tried: a column or grant that a migration adds is
 * attacked by itself. One that the audit does not name fails until unnamed-attacks.ts says what it can do.
 */
export function describeGrants(chain: Chain, open: () => Promise<Installation>): void {
  let shop: Installation
  let restore: () => Promise<void>
  let known: ReadonlySet<string>

  beforeAll(async () => {
    shop = await open()
    await seedRest(shop)
    restore = await takeSnapshot(shop.world)
    known = new Set([...(await findings(shop.world.database.owner, [])), ...(await findingsOnChain())])
  })
  afterAll(async () => {
    await restore?.()
    await shop?.close()
  })

  const findingsOnChain = () => findings(shop.world.database.owner, [shop.node])

  /** Whether an attack with a role's rights writes anything, and what the audit finds then; all of it is rolled back. */
  async function audited(
    role: DatabaseRole,
    { statement, as = shop.victim }: Attack,
  ): Promise<{ wrote: boolean; found: boolean }> {
    const client = await shop.world.database.owner.connect()
    try {
      await client.query(`begin; set local role paylink_${role}`)
      await client.query(
        `select set_config('paylink.merchant_id', $1, true), set_config('paylink.livemode', 'false', true)`,
        [as.merchantId],
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
      for (const asked of [[], [shop.node]]) {
        const lines = await findings(within, asked)
        if (lines.some((line) => !known.has(line))) return { wrote, found: true }
      }
      return { wrote, found: false }
    } finally {
      await client.query('rollback')
      client.release()
    }
  }

  /** Whether an attack wrote anything, with the role's own login. */
  async function succeeds(role: DatabaseRole, { statement, as = shop.victim }: Attack): Promise<boolean> {
    try {
      const pool = shop.world.database.pools[role]
      const { rowCount } = await withTransaction(pool, as, (tx) => tx.query(statement))
      return (rowCount ?? 0) > 0
    } catch {
      // Refused by a grant, a policy, a constraint or a trigger.
      return false
    }
  }

  /** What was ever paid with a signature, for each payout; of what replaces another only one can happen. */
  async function paid(): Promise<Paid[]> {
    const most = new Map<string, Paid>()
    for (const signed of await listSigned(shop.world)) {
      for (const one of shop.paidBy(signed)) {
        const key = `${signed.id} ${one.to}`
        if (one.amount > (most.get(key)?.amount ?? -1n)) most.set(key, one)
      }
    }
    return [...most.values()]
  }

  /** What the signer has signed beyond what was approved. */
  async function stolen(): Promise<string[]> {
    const sums = new Map<string, bigint>()
    for (const { to, amount } of await paid()) sums.set(to, (sums.get(to) ?? 0n) + amount)
    const approved = new Map(shop.approved.map(({ destination, amount }) => [destination, amount]))
    return [...sums].filter(([to, amount]) => amount > (approved.get(to) ?? -1n)).map(([to]) => to)
  }

  describe(`on ${chain}`, () => {
    test('every table of money holds a row to attack, here or on another chain', async () => {
      const { owner } = shop.world.database
      const tables = new Set<string>()
      for (const role of ROLES) for (const { table } of await attacksOf(shop, role)) tables.add(table)
      const without: string[] = []
      for (const table of tables)
        if ((await owner.query(`select from ${table} limit 1`)).rowCount === 0) without.push(table)
      expect(without.sort()).toEqual([...EMPTY[chain]].sort())
    })

    test.each(ROLES)('the audit names whatever counts that the login of %s writes', async (role) => {
      const unnamed = new Set<string>()
      for (const attack of await attacksOf(shop, role)) {
        if (unnamed.has(attack.key) || attack.oneRow) continue
        const { wrote, found } = await audited(role, attack)
        if (wrote && !found) unnamed.add(attack.key)
      }
      // A new column or grant is named by the audit, or listed with what it can do.
      expect([...unnamed].filter((key) => UNNAMED[key] === undefined)).toEqual([])
    })

    test('without an attack the signer signs what was approved, and nothing else', async () => {
      await turn(shop.world)
      expect(await stolen()).toEqual([])
      const reached = new Set((await paid()).map(({ to }) => to))
      expect([...reached].sort()).toEqual(shop.approved.map(({ destination }) => destination).sort())
      await restore()
    })

    test.each(ROLES)(
      'whatever the login of %s writes, nothing is signed to an address that was not approved',
      async (role) => {
        const attacks = await attacksOf(shop, role)
        for (const table of new Set(attacks.map(({ table }) => table))) {
          let wrote = false
          for (const attack of attacks.filter((each) => each.table === table)) {
            if (await succeeds(role, attack)) wrote = true
          }
          if (!wrote) continue
          await turn(shop.world)
          expect({ table, stolen: await stolen() }).toEqual({ table, stolen: [] })
          await restore()
        }
      },
    )

    test.each(['api', 'watcher'] as const)(
      'whatever the login of %s writes of one merchant, payouts of another are signed and followed',
      async (role) => {
        const held: string[] = []
        for (const attacks of oddRounds(shop, await grantsOf(shop, role))) {
          const written: string[] = []
          for (const attack of attacks) if (await succeeds(role, attack)) written.push(attack.statement)
          if (written.length === 0) continue
          const stopped = await turn(shop.world)
          const reached = (await paid()).map(({ to }) => to)
          if (stopped.length > 0 || !reached.includes(shop.bystander)) held.push(...stopped, ...written)
          await restore()
        }
        expect(held).toEqual([])
      },
    )
  })
}

/** A row in the tables that hold one in some hours only. */
async function seedRest({ world, node: { network, chain }, victim }: Installation): Promise<void> {
  const { owner } = world.database
  const { rows } = await owner.query<{ id: string; keyspace: string }>(
    `select p.id, d.keyspace from payout p join deposit_address d using (merchant_id)
     where p.merchant_id = $1 and p.status = 'requested' limit 1`,
    [victim.merchantId],
  )
  const [requested] = rows
  if (requested === undefined) throw new Error('nothing was asked for')
  const { id, keyspace } = requested
  const of = [victim.merchantId, id]
  for (const [statement, values] of [
    [
      `insert into payment_rules values ($1, false, '{"payout_daily_limits": {}}', now())`,
      [victim.merchantId],
    ],
    ['insert into network_watch values ($1, $2, 1000, now())', [network, keyspace]],
    [
      `insert into address_batch (keyspace, first, programs, signature, created_at, taken_at)
       values ($1, 1000, decode(repeat('01', $2), 'hex'), '\\x01', now(), now())`,
      [keyspace, chain === 'solana' ? 32 : 20],
    ],
    [`insert into payout_hold values ($1, $2, false, 'over_value_limit', null, now())`, of],
    [`insert into payout_refusal values ($1, $2, false, 'approval_invalid', now())`, of],
    ['insert into journal_question values ($1, $2, false, $3, now(), now())', [...of, network]],
    [`insert into lost_payout values ('po_lost', $1, now(), now())`, [network]],
  ] as const)
    await owner.query(statement, [...values])
  if (chain === 'solana')
    await owner.query(`insert into solana_found_sweep values ($1, '!', '', now())`, [network])
  if (chain === 'base') {
    await owner.query(
      `insert into found_payout select merchant_id, id, livemode, '0x' || repeat('ab', 32), 1, 1, 1, 1, now()
       from payout where merchant_id = $1 limit 1`,
      [victim.merchantId],
    )
    await owner.query(
      `insert into frozen_deposit select merchant_id, false, $2, 'USDC_BASE', program, invoice_id, 1, 'frozen', now(), now()
       from deposit_address where merchant_id = $1 limit 1`,
      [victim.merchantId, network],
    )
  }
}

/** All that the signer has signed, by its own journal and by what the database got of it. */
async function listSigned({ folder, database }: PayoutSteps): Promise<Signed[]> {
  const content = await readFile(join(folder, 'payouts.jsonl'), 'utf8')
  const lines = content.split('\n').filter((line) => line !== '')
  const journaled = lines.map((line): Signed => {
    const entry = lineSchema.parse(JSON.parse(line))
    const change = isUtxoEntry(entry) ? (entry.change?.output_index ?? null) : null
    return { id: entry.payout_id, raw: Buffer.from(entry.raw, 'hex'), change }
  })
  const { rows: maintenance } = await database.owner.query<Signed>(
    'select id, raw, null as change from solana_chore where raw is not null',
  )
  return [...journaled, ...maintenance]
}

/** The signer takes its turn before and after what follows payouts; one that stops at what it reads signs nothing. Why it did. */
async function turn(world: PayoutSteps): Promise<string[]> {
  const stopped: string[] = []
  for (const step of [() => world.sign(), () => world.tracker().pass(), () => world.sign()])
    await step().catch((error: unknown) => stopped.push(String(error)))
  return stopped
}

/** Puts every table and the signer's folder back as they are now, without triggers, as often as it is called. */
async function takeSnapshot(world: PayoutSteps): Promise<() => Promise<void>> {
  const { owner } = world.database
  const folder = await mkdtemp(join(tmpdir(), 'paylink-walls-'))
  await cp(world.folder, folder, { recursive: true })
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
    await rm(world.folder, { recursive: true })
    await cp(folder, world.folder, { recursive: true })
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
async function findings(pool: Pool, nodes: readonly ChainNode[]): Promise<string[]> {
  const results = await runAudit(pool, nodes)
  return results.flatMap(({ name, findings }) =>
    findings.map(({ subject, detail }) => `${name} ${subject} ${detail}`),
  )
}
