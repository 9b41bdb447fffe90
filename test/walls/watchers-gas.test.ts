import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertSweep } from '../../src/payouts/store/sweeps.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { newEvmAddress } from '../support/anvil.ts'
import { EvmPayoutWorld } from '../support/evm-payout-world.ts'

const ETHER = 10n ** 18n
/** A thousand gwei for a unit of gas; five are the most that is believed on Base. */
const FORGED_TIP = 10n ** 12n
/** More than any of these payouts costs at a price that is believed. */
const LOST_MAX = ETHER / 100n
const SWEEPS_OF_NOTHING = 80

let world: EvmPayoutWorld
beforeAll(async () => {
  world = await EvmPayoutWorld.open('base')
  // Ether that is there for others.
  await world.fuelHotWallet()
})
afterAll(() => world?.close())

/** With the watcher's key: the hot wallet has any amount of ether, and blocks want this tip. */
const forgePrice = () => world.setHotWallet('tip = $1, balance = 1e24', [FORGED_TIP])

/** Turns of watcher and signer, each after the prices were forged again; what the hot wallet lost. */
async function lostOver(turns: number): Promise<bigint> {
  const before = await world.holds('ETH_BASE', world.hot)
  for (let turn = 0; turn < turns; turn++) {
    await world.tracker().pass()
    await forgePrice()
    await world.sign()
    await world.tracker().pass()
    await world.anvil.mine(1)
  }
  return before - (await world.holds('ETH_BASE', world.hot))
}

test("with the watcher's key nobody has the hot wallet pay any tip for a token", async () => {
  const shop = await world.openShop('USDC_BASE', [10_000_000n])
  const payout = await world.payout(shop, 'USDC_BASE', '10')
  const lost = await lostOver(6)
  expect(await world.load(shop, payout.id)).toMatchObject({ status: 'confirmed' })
  expect(lost).toBeLessThan(LOST_MAX)
})

test("with the watcher's key nobody has a contract burn more gas than a destination may take", async () => {
  const shop = await world.openShop('ETH_BASE', [ETHER])
  const { address } = newEvmAddress()
  await forgePrice()
  const payout = await world.payout(shop, 'ETH_BASE', '1', address)
  await world.database.pools.watcher.query(
    'insert into payout_gas (merchant_id, payout_id, livemode, gas) values ($1, $2, false, 16000000)',
    [shop.merchantId, payout.id],
  )
  // Jumps to its beginning until the gas is used up.
  await world.anvil.rpc('anvil_setCode', [address, '0x5b5f56'])
  const lost = await lostOver(8)
  expect(await world.load(shop, payout.id)).toMatchObject({ failureCode: 'destination_refuses' })
  // Its own ether was swept in and is there.
  expect(lost + ETHER).toBeLessThan(LOST_MAX)
})

test("what the watcher's login says of a hot wallet signs nothing, and nothing waits behind it for good", async () => {
  const { watcher } = world.database.pools
  const shop = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(shop, 'ETH_BASE', '1')
  await world.tracker().pass()
  await world.sign()
  await world.tracker().pass()
  await world.anvil.mine(1)
  await world.tracker().pass()
  const signed = async () => (await world.signedFor(payout.id)).payout.length
  const { rows } = await watcher.query<{ seal: Buffer }>('select seal from hot_wallet')
  // A nonce that nothing leads up to is of a transaction that no block ever takes.
  for (const said of [
    'nonce = 1000000',
    'balance = balance + 1',
    'base_fee = base_fee + 1',
    'l1_fee = l1_fee + 1',
    'new_account_gas = new_account_gas + 1',
    `updated_at = updated_at + interval '1 second'`,
    'seal = null',
    `seal = decode(repeat('ab', 64), 'hex')`,
  ]) {
    await world.tracker().pass()
    await watcher.query(`update hot_wallet set ${said}`)
    await world.sign()
    expect(await signed(), said).toBe(0)
  }
  // Nor does what was true of it once.
  await world.tracker().pass()
  world.now = new Date(world.now.getTime() + 1_000)
  await world.tracker().pass()
  await watcher.query('update hot_wallet set seal = $1', [rows[0]?.seal])
  await world.sign()
  expect(await signed()).toBe(0)
  for (const said of [`balance = 7`, `version = '9'`, `contract = decode(repeat('ab', 20), 'hex')`]) {
    await world.tracker().pass()
    await watcher.query(`update hot_wallet_token set ${said}`)
    await world.sign()
    expect(await signed(), said).toBe(0)
  }
  expect(world.logged.join('')).toContain('has not sealed what it read of the hot wallet')
  await world.until(shop, payout.id, 'confirmed')
})

test("with the watcher's login 64 sweeps of nothing burn gas in a day, and no more", async () => {
  const { watcher } = world.database.pools
  const shop = await world.openShop('USDC_BASE', [1_000_000n])
  const payout = await world.payout(shop, 'USDC_BASE', '1')
  await world.tracker().pass()
  const { rows } = await watcher.query<{ invoiceId: string; address: Buffer; keyIndex: number }>(
    `select invoice_id as "invoiceId", program as address, idx as "keyIndex" from deposit_address where merchant_id = $1`,
    [shop.merchantId],
  )
  const [place] = rows
  if (place === undefined) throw new Error('the shop has no deposit address')
  const { invoiceId, address, keyIndex } = place
  const { merchantId, livemode, network, asset, id: payoutId } = payout
  const amount = 1_000_000n
  for (let number = 0; number < SWEEPS_OF_NOTHING; number++) {
    const transferId = newId('payment', world.now)
    await watcher.query(
      `insert into transfer (merchant_id, id, livemode, invoice_id, network, txid, output_index, asset, amount, status,
         first_seen_at, detected_at, confirmed_at, confirmations_required, late, dust, announced_confirming,
         announced_review, ledger_bucket, ledger_postings, block_height, block_hash, block_time)
       values ($1, $2, false, $3, $4, $5, $6, $7, $8, 'confirmed', now(), now(), now(), 1, false, false, true, false,
         'available', 1, 1, '0xforged', now())`,
      [merchantId, transferId, invoiceId, network, `0x${'cd'.repeat(32)}`, number, asset, amount],
    )
    const id = newId('sweep', world.now)
    const sweep = { merchantId, livemode, id, payoutId, network, asset, address, keyIndex, amount }
    await withTransaction(watcher, shop, (tx) =>
      insertSweep(tx, {
        ...sweep,
        nonce: null,
        delegationNonce: null,
        transferIds: [transferId],
        now: world.now,
      }),
    )
  }
  for (let turn = 0; turn < 8; turn++) {
    await world.sign()
    await world.tracker().pass()
    await world.anvil.mine(1)
    await world.tracker().pass()
  }
  const { rows: signed } = await world.database.owner.query<{ count: number }>(
    `select count(distinct t.sweep_id)::int as count from sweep_transaction t join sweep s on s.id = t.sweep_id
     where s.merchant_id = $1`,
    [merchantId],
  )
  // One of them was the payout's own, which landed.
  expect(signed[0]?.count).toBe(65)
  expect(world.logged.join('')).toContain('moved nothing')
})
