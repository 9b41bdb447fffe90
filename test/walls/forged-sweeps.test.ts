import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import { insertSweep, updateSweep } from '../../src/payouts/store/sweeps.ts'
import type { Pool } from '../../src/postgres/pool.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { type EvmAsset, EvmPayoutWorld } from '../support/evm-payout-world.ts'
import { forgeBalance } from '../support/forge-balance.ts'

const ASSETS = [
  { asset: 'ETH_BASE', unit: 10n ** 18n },
  { asset: 'USDC_BASE', unit: 1_000_000n },
] as const

let world: EvmPayoutWorld
beforeAll(async () => {
  world = await EvmPayoutWorld.open('base')
  await world.fuelHotWallet()
})
afterAll(() => world?.close())

type Place = { readonly address: Buffer; readonly keyIndex: number }

async function placeOf(tenant: Tenant): Promise<Place> {
  const { rows } = await world.database.owner.query<Place>(
    'select program as address, idx as "keyIndex" from deposit_address where merchant_id = $1',
    [tenant.merchantId],
  )
  const [place] = rows
  if (place === undefined) throw new Error('the merchant has no deposit address')
  return place
}

/** A sweep for a payout, of whatever address, with a deposit that is not there. */
async function forgeSweep(pool: Pool, payout: Payout, place: Place, amount: bigint) {
  const { merchantId, livemode, network, asset, id: payoutId } = payout
  const id = newId('sweep', world.now)
  const nonce = asset === 'USDC_BASE' ? null : 0
  const sweep = {
    merchantId,
    livemode,
    id,
    payoutId,
    network,
    asset,
    ...place,
    amount,
    nonce,
    delegationNonce: null,
    now: world.now,
  }
  await withTransaction(pool, { merchantId, livemode }, (tx) =>
    insertSweep(tx, { ...sweep, transferIds: [newId('payment', world.now)] }),
  )
  return sweep
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) {
    await world.tracker().pass()
    await world.sign()
    await world.tracker().pass()
    await world.anvil.mine(1)
  }
}

/** A merchant with a paid invoice, and another with an unpaid one, a forged balance and an approved payout of it. */
async function openTheft(asset: EvmAsset, unit: bigint) {
  const victim = await world.openShop(asset, [(unit * 3n) / 4n])
  const thief = await world.openShop(asset, [])
  await world.openInvoice(thief, { asset, amount: unit })
  const forged = { asset, amount: unit / 2n, now: world.now }
  const balance = await forgeBalance(world.database.pools.watcher, thief, forged)
  return { victim, thief, balance, payout: await world.payout(thief, asset, '0.5') }
}

async function auditedOf(id: string): Promise<string[]> {
  const results = await runAudit(world.database.owner, [])
  return results
    .filter(({ findings }) => findings.some(({ subject }) => subject === id))
    .map(({ name }) => name)
}

describe.each(ASSETS)('$asset', ({ asset, unit }) => {
  test("with the watcher's login nobody sweeps another merchant's deposit, even if the row got in", async () => {
    const { victim, balance, payout } = await openTheft(asset, unit)
    const { owner, pools } = world.database
    const place = await placeOf(victim)
    const amount = (unit * 3n) / 4n
    await expect(forgeSweep(pools.watcher, payout, place, amount)).rejects.toThrow('row-level security')
    const { id } = await forgeSweep(owner, payout, place, amount)
    expect(await auditedOf(id)).toContain('sweep_takes_own_deposits')
    expect(await auditedOf(balance)).toContain('posting_has_its_transfer')
    await turns()
    expect(await world.holds(asset, place.address)).toBe(amount)
    expect(await world.holds(asset, payout.destination)).toBe(0n)
    expect(await world.signedFor(payout.id)).toEqual({ payout: [], sweeps: [] })
    expect(world.logged.join('')).toContain('a sweep is not worth deposits of its own merchant')
    // The victim is paid all the same.
    const own = await world.payout(victim, asset, '0.5')
    await world.until(victim, own.id, 'confirmed')
  })

  test('what a lost journal had swept counts again by its own signature, for its own merchant alone', async () => {
    const { owner } = world.database
    // What the forged row says is taken for the thief's, and is not there for gas.
    await world.fuelHotWallet()
    const shop = await world.openShop(asset, [unit])
    const first = await world.payout(shop, asset, '0.4')
    await world.until(shop, first.id, 'confirmed')
    await rm(join(world.folder, 'payouts.jsonl'))
    // Another merchant's row with the same bytes, as whoever has the signer's login could write it.
    const thief = await openTheft(asset, unit)
    const forged = await forgeSweep(owner, thief.payout, await placeOf(thief.thief), unit / 2n)
    await owner.query(
      `insert into sweep_transaction (merchant_id, sweep_id, number, livemode, network, txid, raw, cost, created_at)
       select $1, $2, 1, false, t.network, t.txid || '0', t.raw, t.cost, now() from sweep_transaction t
       join sweep s on s.id = t.sweep_id where s.payout_id = $3 limit 1`,
      [thief.thief.merchantId, forged.id, first.id],
    )
    await updateSweep(owner, forged, {
      status: 'done',
      transaction: { txid: '0xcopied', cost: 0n },
      finalAt: world.now,
    })
    const second = await world.payout(shop, asset, '0.5')
    await world.until(shop, second.id, 'confirmed')
    expect(await world.holds(asset, second.destination)).toBeGreaterThan(0n)
    expect(world.logged.join('')).toContain('written down again by its own signature')
    await turns()
    expect(await world.signedFor(thief.payout.id)).toMatchObject({ payout: [] })
    expect(await world.holds(asset, thief.payout.destination)).toBe(0n)
  })

  test('what nobody signed in is paid out to nobody, whatever the sweeps in the database say', async () => {
    const { victim, thief, payout } = await openTheft(asset, unit)
    const { owner, pools } = world.database
    // The victim's rest lies in the hot wallet, which both share.
    const own = await world.payout(victim, asset, '0.1')
    await world.until(victim, own.id, 'confirmed')
    const held = await world.holds(asset, world.hot)
    const sweep = await forgeSweep(pools.watcher, payout, await placeOf(thief), unit / 2n)
    const done = { status: 'done', transaction: { txid: '0xforged', cost: 0n }, finalAt: world.now } as const
    await expect(updateSweep(pools.watcher, sweep, done)).rejects.toThrow('row-level security')
    await updateSweep(owner, sweep, done)
    expect(await auditedOf(sweep.id)).toEqual(
      expect.arrayContaining(['sweep_takes_own_deposits', 'sweep_is_sent_once']),
    )
    await turns()
    expect(await world.holds(asset, payout.destination)).toBe(0n)
    expect(await world.holds(asset, world.hot)).toBe(held)
    expect(await world.signedFor(payout.id)).toEqual({ payout: [], sweeps: [] })
    expect(world.logged.join('')).toContain('more was swept for the merchant than was signed')
  })
})

test("with the watcher's login no failed sweep comes back and no payment goes to another merchant", async () => {
  const { victim, thief } = await openTheft('ETH_BASE', 10n ** 18n)
  const { owner, pools } = world.database
  const payout = await world.payout(victim, 'ETH_BASE', '0.5')
  await world.tracker().pass()
  const { rowCount: failed } = await owner.query(
    `update sweep set status = 'failed', final_at = now() where payout_id = $1`,
    [payout.id],
  )
  const { rowCount: back } = await pools.watcher.query(
    `update sweep set status = 'planned' where payout_id = $1`,
    [payout.id],
  )
  expect([failed, back]).toEqual([1, 0])
  for (const table of ['transfer', 'payout', 'sweep'])
    await expect(
      pools.watcher.query(`update ${table} set merchant_id = $1`, [thief.merchantId]),
      table,
    ).rejects.toThrow('permission denied')
})

test("with the watcher's login no sweep moves to another payout while its own goes on", async () => {
  const shop = await world.openShop('ETH_BASE', [10n ** 18n])
  const ids = [
    (await world.payout(shop, 'ETH_BASE', '0.4')).id,
    (await world.payout(shop, 'ETH_BASE', '0.1')).id,
  ]
  await world.tracker().pass()
  const { owner, pools } = world.database
  const { rows } = await owner.query<{ first: string }>(
    'select payout_id as first from sweep where merchant_id = $1',
    [shop.merchantId],
  )
  const first = rows[0]?.first
  const second = ids.find((id) => id !== first)
  const move = () =>
    pools.watcher.query('update sweep set payout_id = $3 where merchant_id = $1 and payout_id = $2', [
      shop.merchantId,
      first,
      second,
    ])
  await expect(move()).rejects.toThrow('belongs to payout')
  // A sweep whose payout failed goes on for another's sake.
  await owner.query(`update payout set status = 'failed' where id = $1`, [first])
  expect((await move()).rowCount).toBe(1)
})

test("with the watcher's login a sweep leaves a signed payout only if it was not signed itself", async () => {
  const shop = await world.openShop('ETH_BASE', [10n ** 18n])
  const ids = [
    (await world.payout(shop, 'ETH_BASE', '0.4')).id,
    (await world.payout(shop, 'ETH_BASE', '0.1')).id,
  ]
  await world.tracker().pass()
  const { owner, pools } = world.database
  const { rows } = await owner.query<{ id: string; first: string }>(
    'select id, payout_id as first from sweep where merchant_id = $1',
    [shop.merchantId],
  )
  const { id = '', first = '' } = rows[0] ?? {}
  const second = ids.find((each) => each !== first) ?? ''
  const move = (to: string) => pools.watcher.query('update sweep set payout_id = $2 where id = $1', [id, to])
  const sign = (payout: string) =>
    owner.query(
      `insert into payout_transaction
         (merchant_id, payout_id, number, livemode, network, txid, raw, network_fee, from_height, created_at)
       values ($1, $2, 1, false, $3, '0x' || $2, '', 0, 0, now())`,
      [shop.merchantId, payout, world.network],
    )
  await sign(first)
  expect((await move(second)).rowCount).toBe(1)
  await owner.query(
    `insert into sweep_transaction (merchant_id, sweep_id, number, livemode, network, txid, raw, cost, created_at)
     values ($1, $2, 1, false, $3, '0x' || $2, '', 0, now())`,
    [shop.merchantId, id, world.network],
  )
  await sign(second)
  await expect(move(first)).rejects.toThrow('belongs to payout')
})

test("with the watcher's login a payout called failed gives its sweep away, and nobody is paid more for it", async () => {
  await world.fuelHotWallet()
  const shop = await world.openShop('ETH_BASE', [10n ** 18n])
  const { pools } = world.database
  const one = await world.payout(shop, 'ETH_BASE', '0.4')
  const other = await world.payout(shop, 'ETH_BASE', '0.1')
  await world.tracker().pass()
  const { rows } = await pools.watcher.query<{ id: string; payout: string }>(
    'select id, payout_id as payout from sweep where merchant_id = $1',
    [shop.merchantId],
  )
  const [sweep] = rows
  const [robbed, taker] = sweep?.payout === one.id ? [one, other] : [other, one]
  await pools.watcher.query(
    `update payout set status = 'failed', failed_at = now(), failure_code = 'sweep_failed' where id = $1`,
    [robbed.id],
  )
  await pools.watcher.query('update sweep set payout_id = $2 where id = $1', [sweep?.id, taker.id])
  expect(await auditedOf(robbed.id)).not.toEqual([])
  await world.until(shop, taker.id, 'confirmed')
  await turns()
  const paid = await world.holds('ETH_BASE', taker.destination)
  expect(paid).toBeLessThanOrEqual(taker.amount)
  expect(taker.amount - paid).toBeLessThanOrEqual(taker.networkFeeMax)
  expect(await world.holds('ETH_BASE', robbed.destination)).toBe(0n)
  expect((await world.signedFor(taker.id)).sweeps).toHaveLength(1)
  expect(await world.signedFor(robbed.id)).toEqual({ payout: [], sweeps: [] })
})

test('with the watcher’s login no deposit is signed away by a nonce that nothing leads up to', async () => {
  const { owner, pools } = world.database
  const shop = await world.openShop('ETH_BASE', [10n ** 18n])
  await world.tracker().pass()
  const payout = await world.payout(shop, 'ETH_BASE', '0.5')
  const { rows } = await owner.query<{ id: string }>('select id from transfer where merchant_id = $1', [
    shop.merchantId,
  ])
  const { merchantId, livemode, network, asset, id: payoutId } = payout
  const sweep = { merchantId, livemode, id: newId('sweep', world.now), payoutId, network, asset }
  const forged = { ...(await placeOf(shop)), amount: 10n ** 18n, nonce: 1_000_000, delegationNonce: null }
  await withTransaction(pools.watcher, shop, (tx) =>
    insertSweep(tx, { ...sweep, ...forged, transferIds: rows.map(({ id }) => id), now: world.now }),
  )
  await world.sign()
  expect((await owner.query('select from sweep_transaction where sweep_id = $1', [sweep.id])).rowCount).toBe(
    0,
  )
  expect(world.logged.join('')).toContain('a nonce that nothing leads up to')
  // Once it is out of the way the deposit is swept as ever.
  await owner.query(`update sweep set status = 'failed', final_at = now() where id = $1`, [sweep.id])
  const next = await world.payout(shop, 'ETH_BASE', '0.4')
  await world.until(shop, next.id, 'confirmed')
})
