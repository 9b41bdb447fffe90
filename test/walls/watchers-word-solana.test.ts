import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { recordPayout } from '../../src/payouts/advance-payout.ts'
import { insertMaintenance, type SweepSource } from '../../src/payouts/store/solana-maintenance.ts'
import { endRequest } from '../../src/payouts/store/solana-requests.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'
import { SolanaPayoutWorld } from '../support/solana-payout-world.ts'

/** What walls/watchers-word shows of accounts, shown of the vault. */

const SOL = 1_000_000_000n
const NETWORK = 'solana-test'

let world: SolanaPayoutWorld
beforeAll(async () => {
  world = await SolanaPayoutWorld.open()
  await world.fund()
  const victim = await world.openShop([9n * SOL])
  const own = await world.payout(victim, '0.5')
  await world.until(victim, own.id, 'confirmed')
})
afterAll(() => world?.close())

async function indexOf(tenant: Tenant): Promise<number> {
  const { rows } = await world.database.owner.query<{ idx: number }>(
    'select idx from deposit_address where merchant_id = $1 order by idx',
    [tenant.merchantId],
  )
  return rows[0]?.idx ?? -1
}

/** The checks of an audit that name a sweep or payout. */
async function namedOf(id: string, rpcUrl = world.solana.url): Promise<string[]> {
  const results = await runAudit(world.database.owner, [{ ...world.node(), rpcUrl }])
  return results
    .filter(({ findings }) => findings.some(({ subject }) => subject === id))
    .map(({ name }) => name)
}

async function forgeSweep(source: SweepSource): Promise<string> {
  const id = newId('maintenance', world.now)
  await insertMaintenance(
    world.database.pools.watcher,
    NETWORK,
    { kind: 'sweep', id, sources: [source] },
    world.now,
  )
  return id
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 6; turn++) await world.turn()
}

const unsealedSaid = (): unknown[] =>
  world.logged.filter((line) => line.includes('has not sealed it')).map((line) => JSON.parse(line))

test('with the watcher’s login a payout out of the vault is called failed, and is not paid again', async () => {
  const thief = await world.openShop([SOL])
  const first = await world.payout(thief, '0.9')
  await world.until(thief, first.id, 'submitted')
  const deps = { pool: world.database.pools.watcher, clock: () => world.now }
  const fact = { kind: 'dead', code: 'failed_on_chain', unspent: [] } as const
  await recordPayout(deps, { tenant: thief, payoutId: first.id, fact })
  const second = await world.payout(thief, '0.9')
  await turns()
  expect(await world.holds(first.destination)).toBeGreaterThan(0n)
  expect(await world.holds(second.destination)).toBe(0n)
  expect(await namedOf(first.id)).toEqual(
    expect.arrayContaining([`outcomes_${NETWORK}`, 'outcome_is_sealed']),
  )
  expect(unsealedSaid()).toContainEqual(
    expect.objectContaining({ payoutId: second.id, unsealed: [first.id] }),
  )
})

test('with the watcher’s login a made-up deposit is called swept into the vault, and nobody is paid', async () => {
  const { watcher } = world.database.pools
  const thief = await world.openShop([])
  await world.deposit(thief, SOL, { isPaid: false })
  const payout = await world.payout(thief, '0.9')
  const id = await forgeSweep({ index: await indexOf(thief), lamports: SOL })
  await world.tracker().pass()
  await world.sign()
  await endRequest(
    watcher,
    { table: 'solana_chore', network: NETWORK, id: id },
    { landed: true, now: world.now },
  )
  await turns()
  expect(await world.signedOf(payout.id)).toEqual([])
  expect(await world.holds(payout.destination)).toBe(0n)
  expect(await namedOf(id)).toEqual(expect.arrayContaining([`outcomes_${NETWORK}`, 'outcome_is_sealed']))
  const proxy = await startRpcProxy(world.solana.url)
  try {
    // The world's clock is behind the chain's: all was signed before a node that lacks the first blocks begins.
    proxy.lie('getFirstAvailableBlock', () => 2)
    expect(await namedOf(id, proxy.url)).toEqual(['outcome_is_sealed'])
  } finally {
    await proxy.close()
  }
  expect(unsealedSaid()).toContainEqual(expect.objectContaining({ payoutId: payout.id, unsealed: [id] }))
})

test('with the watcher’s login a made-up deposit is said to be about to be swept, and the audit names it', async () => {
  const thief = await world.openShop([])
  const address = await world.deposit(thief, SOL, { isPaid: false })
  const id = await forgeSweep({ index: await indexOf(thief), lamports: SOL })
  const held = `${NETWORK} SOL ${address}`
  expect(await namedOf(held)).toEqual([`balances_${NETWORK}`])
  await world.tracker().pass()
  await world.sign()
  const { rowCount } = await world.database.owner.query(
    `update solana_chore set signed_at = now() - interval '25 hours' where id = $1 and ended_at is null`,
    [id],
  )
  expect(rowCount).toBe(1)
  expect(await namedOf(held)).toEqual([`balances_${NETWORK}`])
})

test('one transaction into the vault counts once, under however many names it was asked for', async () => {
  const { watcher } = world.database.pools
  const thief = await world.openShop([SOL])
  const index = await indexOf(thief)
  const payout = await world.payout(thief, '1')
  const source = { index, lamports: SOL }
  await world.tracker().pass()
  await watcher.query('update solana_chore set ended_at = now(), landed = false where ended_at is null')
  const first = await forgeSweep(source)
  await world.sign()
  // The books forget the first, and the second is asked for over the same blockhash: the same transaction.
  await endRequest(
    watcher,
    { table: 'solana_chore', network: NETWORK, id: first },
    { landed: false, now: world.now },
  )
  const second = await forgeSweep(source)
  await world.sign()
  const { rows } = await watcher.query<{ txid: string }>(
    'select txid from solana_chore where id = any($1) and txid is not null',
    [[first, second]],
  )
  expect(new Set(rows.map(({ txid }) => txid)).size).toBe(1)
  expect(rows).toHaveLength(2)
  await world.tracker().pass()
  await world.solana.mine(1)
  await watcher.query('update solana_chore set landed = true, ended_at = now() where id = any($1)', [
    [first, second],
  ])
  await world.until(thief, payout.id, 'confirmed')
  await world.deposit(thief, SOL, { isPaid: false })
  const again = await world.payout(thief, '1')
  await turns()
  expect(await world.signedOf(again.id)).toEqual([])
  expect(await world.holds(again.destination)).toBe(0n)
})

test('a sweep that was signed before the database was set back counts for the row that asked for it again', async () => {
  const { watcher } = world.database.pools
  const shop = await world.openShop([SOL])
  const source = { index: await indexOf(shop), lamports: SOL }
  const payout = await world.payout(shop, '1')
  const lost = await forgeSweep(source)
  await world.sign()
  // As a standby knows it that was promoted: asked for, and never signed. So the watcher ends it, and asks again.
  await world.database.owner.query(
    `update solana_chore set txid = null, raw = null, last_valid_height = null, signed_at = null where id = $1`,
    [lost],
  )
  await endRequest(
    watcher,
    { table: 'solana_chore', network: NETWORK, id: lost },
    { landed: false, now: world.now },
  )
  const again = await forgeSweep(source)
  await world.sign()
  const { rows } = await watcher.query('select txid from solana_chore where id = $1', [again])
  expect(rows).toEqual([{ txid: expect.any(String) }])
  await world.until(shop, payout.id, 'confirmed')
  expect(await world.holds(payout.destination)).toBeGreaterThan(0n)
})
