import { address, getAddressEncoder } from '@solana/kit'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { SolanaAdapter, type WayOfWatching } from '../../src/chain/solana/solana-adapter.ts'
import { SolanaRpc } from '../../src/chain/solana/solana-rpc.ts'
import { WatchedOwners } from '../../src/chain/solana/watched-owners.ts'
import type { Invoice } from '../../src/core/invoice/types.ts'
import { changePaymentRules } from '../../src/flows/change-payment-rules.ts'
import { listAddressesToFund } from '../../src/payouts/store/solana-funding.ts'
import { listOpenMaintenance } from '../../src/payouts/store/solana-maintenance.ts'
import { saveSignedRequest } from '../../src/payouts/store/solana-requests.ts'
import type { Queryable } from '../../src/postgres/pool.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { seedMerchant } from '../support/seed.ts'
import { SolanaPayoutWorld } from '../support/solana-payout-world.ts'

const SOL = 1_000_000_000n
const DAY_MS = 24 * 3_600_000
const TURNS_MAX = 20

/** How often the history of an account was asked for. */
class CountingRpc extends SolanaRpc {
  histories = 0

  override signaturesFor(...asked: Parameters<SolanaRpc['signaturesFor']>) {
    this.histories++
    return super.signaturesFor(...asked)
  }
}

let world: SolanaPayoutWorld
let smallest: bigint
beforeAll(async () => {
  world = await SolanaPayoutWorld.open()
  await world.fund()
  smallest = await world.rpc.rentExemptMinimum()
})
beforeEach(() => {
  world.now = new Date()
})
afterAll(() => world?.close())

/** A merchant whose buyers have wallets that pay no empty address. */
async function openShop(): Promise<Tenant> {
  const tenant = await seedMerchant(world.database)
  const deps = { pool: world.database.pools.api, clock: () => world.now }
  await changePaymentRules(deps, { tenant, changes: { solana_funded_addresses: true } })
  return tenant
}

async function untilHolds(owner: string, lamports: bigint): Promise<void> {
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    if ((await world.holds(owner)) === lamports) return
    await world.turn()
  }
  throw new Error(`${owner} holds ${await world.holds(owner)}: ${world.logged.join('')}`)
}

/** What a watcher finds that was never there before, from the first block on. */
async function found(way: WayOfWatching, { address: owner }: Invoice) {
  const watched = new WatchedOwners()
  watched.add([Buffer.from(getAddressEncoder().encode(address(owner)))])
  const adapter = new SolanaAdapter({
    livemode: false,
    rpcUrl: world.solana.url,
    rpcSetting: 'the test',
    clock: systemClock,
    watched,
    way,
    feePayer: async () => (await world.signerAccounts()).feePayer,
  })
  try {
    const tip = await adapter.tip()
    const from = { ...tip, height: tip.height - 100, hash: (await adapter.hashAt(tip.height - 100)) ?? '' }
    const update = await adapter.nextUpdate(from, 1_000)
    return (update?.blocks ?? []).flatMap(({ transfers }) => transfers.map(({ amount }) => amount))
  } finally {
    await adapter.close()
  }
}

async function pay(tenant: Tenant, invoice: Invoice): Promise<void> {
  const { id: invoiceId, amount, address: to } = invoice
  const txid = await world.solana.pay(to, amount)
  await world.solana.mine(1)
  await world.record(tenant, { network: 'solana-test', asset: 'SOL', txid, output: 1, invoiceId, amount })
  await world.database.owner.query(`update invoice set status = 'paid' where id = $1`, [invoiceId])
}

test('an address holds the smallest balance before it is paid, where the merchant asks for it', async () => {
  const [asks, asksNot] = [await openShop(), await seedMerchant(world.database)]
  const funded = await world.invoice(asks, SOL)
  const empty = await world.invoice(asksNot, SOL)
  await untilHolds(funded.address, smallest)
  expect(await world.holds(empty.address)).toBe(0n)
  // Once, however often it is looked at.
  for (let turn = 0; turn < 5; turn++) await world.turn()
  expect(await world.holds(funded.address)).toBe(smallest)
  expect(await world.audited()).toEqual([])
})

test.each(['blocks', 'accounts'] as const)('what was put there is no payment, watched by %s', async (way) => {
  const tenant = await openShop()
  const invoice = await world.invoice(tenant, SOL / 4n)
  await untilHolds(invoice.address, smallest)
  expect(await found(way, invoice)).toEqual([])
  await pay(tenant, invoice)
  expect(await found(way, invoice)).toEqual([SOL / 4n])
})

test.each(['blocks', 'accounts'] as const)(
  'a payout that pays another merchant’s invoice here is a payment, watched by %s',
  async (way) => {
    const [payer, tenant] = [await openShop(), await openShop()]
    await pay(payer, await world.invoice(payer, SOL))
    const invoice = await world.invoice(tenant, SOL / 4n)
    await untilHolds(invoice.address, smallest)
    const { id } = await world.payout(payer, '0.5', invoice.address)
    const { amount, networkFee } = await world.until(payer, id, 'confirmed')
    expect(await found(way, invoice)).toEqual([amount - networkFee])
  },
)

test('a database that has forgotten what it put on an address pays out what was paid there all the same', async () => {
  const tenant = await openShop()
  const invoice = await world.invoice(tenant, SOL)
  await untilHolds(invoice.address, smallest)
  await pay(tenant, invoice)
  await world.database.owner.query(`delete from solana_chore where kind = 'fund'`)
  const payout = await world.payout(tenant, '0.9')
  await world.until(tenant, payout.id, 'confirmed')
  expect(await world.holds(invoice.address)).toBe(smallest)
})

test('who sends a little to many addresses has no history read, and no payout waits', async () => {
  const tenant = await openShop()
  const owners: string[] = []
  for (let count = 0; count < 12; count++) owners.push(await world.deposit(tenant, SOL))
  for (const owner of owners.slice(0, 11)) await world.solana.pay(owner, 1n)
  await world.solana.mine(1)
  const rpc = new CountingRpc(world.solana.url, 'the test')
  try {
    const tracker = world.tracker(world.broadcaster(rpc))
    const { id } = await world.payout(tenant, '0.5')
    let most = 0
    for (let turn = 0; turn < TURNS_MAX && (await world.load(tenant, id)).status !== 'confirmed'; turn++) {
      const before = rpc.histories
      await tracker.pass()
      most = Math.max(most, rpc.histories - before)
      await world.sign()
      await world.solana.mine(1)
      world.now = new Date(world.now.getTime() + 1_000)
    }
    expect([(await world.load(tenant, id)).status, most]).toEqual(['confirmed', 0])
  } finally {
    await rpc.close()
  }
})

test('checkouts of one merchant tie up the smallest balances of 100 addresses, and no more', async () => {
  const tenant = await openShop()
  const invoices: Invoice[] = []
  for (let count = 0; count < 103; count++) invoices.push(await world.invoice(tenant, SOL))
  const held = async () => {
    const balances = await Promise.all(invoices.map((invoice) => world.holds(invoice.address)))
    return balances.filter((lamports) => lamports > 0n).length
  }
  for (let turn = 0; turn < 60 && (await held()) < 100; turn++) await world.turn()
  for (let turn = 0; turn < 5; turn++) await world.turn()
  expect(await held()).toBe(100)
})

test('nothing is taken from an address where nothing was put, whatever a watcher asks for', async () => {
  const tenant = await seedMerchant(world.database)
  const invoice = await world.invoice(tenant, SOL)
  await pay(tenant, invoice)
  await world.database.pools.watcher.query(
    `insert into solana_chore (network, id, kind, indexes, lamports, created_at)
     select 'solana-test', 'forged', 'reclaim', array[idx], array[10000000::numeric], now()
     from deposit_address where invoice_id = $1`,
    [invoice.id],
  )
  for (let turn = 0; turn < 5; turn++) await world.turn()
  expect(await world.holds(invoice.address)).toBe(SOL)
  expect(world.logged.join('')).toContain('more was to be reclaimed from an address than was put there')
  await world.database.owner.query(`delete from solana_chore where id = 'forged'`)
  const payout = await world.payout(tenant, '1')
  await world.until(tenant, payout.id, 'confirmed')
})

test('with too little for payouts and sweeps the fee payer funds nobody, and the log says so once', async () => {
  const poor = await SolanaPayoutWorld.open()
  try {
    await poor.fund(15_000_000n)
    const tenant = await seedMerchant(poor.database)
    const deps = { pool: poor.database.pools.api, clock: () => poor.now }
    await changePaymentRules(deps, { tenant, changes: { solana_funded_addresses: true } })
    const invoice = await poor.invoice(tenant, SOL)
    const tracker = poor.tracker()
    for (let turn = 0; turn < 5; turn++) await poor.turn(tracker)
    expect(await poor.holds(invoice.address)).toBe(0n)
    const said = poor.logged.filter((line) => line.includes('too little SOL to fund addresses'))
    expect(said).toHaveLength(1)
  } finally {
    await poor.close()
  }
})

test('while there is too little to fund all that ask, what lies on old addresses still comes back', async () => {
  const poor = await SolanaPayoutWorld.open()
  try {
    // Enough for one address beside what is kept.
    await poor.fund(20_000_000n + 3n * smallest)
    const tenant = await seedMerchant(poor.database)
    const deps = { pool: poor.database.pools.api, clock: () => poor.now }
    await changePaymentRules(deps, { tenant, changes: { solana_funded_addresses: true } })
    const old = await poor.invoice(tenant, SOL)
    const tracker = poor.tracker()
    const until = async (owner: string, lamports: bigint) => {
      for (let turn = 0; turn < TURNS_MAX && (await poor.holds(owner)) !== lamports; turn++)
        await poor.turn(tracker)
      expect(await poor.holds(owner)).toBe(lamports)
    }
    await until(old.address, smallest)
    await poor.database.owner.query(
      `update invoice set status = 'expired', expires_at = expires_at - interval '8 days' where id = $1`,
      [old.id],
    )
    for (let count = 0; count < 3; count++) await poor.invoice(tenant, SOL)
    await until(old.address, 0n)
  } finally {
    await poor.close()
  }
})

test('what was put on an address goes back to the fee payer a week later, where nothing else lies there', async () => {
  const tenant = await openShop()
  const [paid, unpaid, late] = [
    await world.invoice(tenant, SOL),
    await world.invoice(tenant, SOL),
    await world.invoice(tenant, SOL),
  ]
  for (const { address: owner } of [paid, unpaid, late]) await untilHolds(owner, smallest)
  await pay(tenant, paid)
  const { id, destination } = await world.payout(tenant, '1')
  const { amount, networkFee } = await world.until(tenant, id, 'confirmed')
  expect(await world.holds(destination)).toBe(amount - networkFee)
  // Nobody has recorded this one yet.
  await world.solana.pay(late.address, 5n * smallest)
  await world.solana.mine(1)
  world.now = new Date(world.now.getTime() + 6 * DAY_MS)
  for (let turn = 0; turn < 5; turn++) await world.turn()
  expect(await world.holds(paid.address)).toBe(smallest)
  world.now = new Date(world.now.getTime() + 2 * DAY_MS)
  await untilHolds(paid.address, 0n)
  await untilHolds(unpaid.address, 0n)
  for (let turn = 0; turn < 5; turn++) await world.turn()
  expect(await world.holds(late.address)).toBe(6n * smallest)
  expect(await world.audited()).toEqual([])
})

test('a lamport sent to funded addresses goes into the vault, and what was put there comes back', async () => {
  const tenant = await openShop()
  await pay(tenant, await world.invoice(tenant, SOL))
  const first = await world.payout(tenant, '0.5')
  await world.until(tenant, first.id, 'confirmed')
  const [dusty, unrecorded] = [await world.invoice(tenant, SOL), await world.invoice(tenant, SOL)]
  for (const { address: owner, id: invoiceId } of [dusty, unrecorded]) {
    await untilHolds(owner, smallest)
    const txid = await world.solana.pay(owner, 1n)
    await world.solana.mine(1)
    if (owner === dusty.address)
      await world.record(tenant, {
        network: 'solana-test',
        asset: 'SOL',
        txid,
        output: 1,
        invoiceId,
        amount: 1n,
      })
  }
  world.now = new Date(world.now.getTime() + 8 * DAY_MS)
  const tracker = world.tracker()
  for (let turn = 0; turn < TURNS_MAX && (await world.holds(dusty.address)) > 0n; turn++)
    await world.turn(tracker)
  expect(await world.holds(dusty.address)).toBe(0n)
  expect(await world.holds(unrecorded.address)).toBe(smallest + 1n)
  expect(await world.audited()).toEqual([])
})

test('what nobody signs within an hour is requested anew; a signature that comes later is not kept', async () => {
  const tenant = await openShop()
  const invoice = await world.invoice(tenant, SOL)
  const tracker = world.tracker()
  await tracker.pass()
  const open = async () =>
    (await listOpenMaintenance(world.database.owner, 'solana-test', 50)).map(({ maintenance }) => maintenance)
  const [asked] = await open()
  expect(asked).toMatchObject({ kind: 'fund' })
  world.now = new Date(world.now.getTime() + 61 * 60_000)
  await tracker.pass()
  expect((await open()).filter(({ id }) => id === asked?.id)).toEqual([])
  const late = { txid: 'late', raw: Buffer.of(1), lastValidHeight: 1, now: world.now }
  await saveSignedRequest(
    world.database.pools.signer,
    { table: 'solana_chore', network: 'solana-test', id: asked?.id ?? '' },
    late,
  )
  const { rows } = await world.database.owner.query('select txid, landed from solana_chore where id = $1', [
    asked?.id,
  ])
  expect(rows).toEqual([{ txid: null, landed: false }])
  await world.database.owner.query(
    `update invoice set expires_at = expires_at + interval '1 day' where id = $1`,
    [invoice.id],
  )
  await untilHolds(invoice.address, smallest)
})

test('addresses to fund are found without reading what else was asked of the signer', async () => {
  const tenant = await openShop()
  for (let count = 0; count < 3; count++) await world.invoice(tenant, SOL)
  await world.database.owner.query(
    `insert into solana_chore (network, id, kind, indexes, lamports, created_at, ended_at, landed)
     select 'solana-test', 'old ' || n, 'sweep', array[900000 + n], array[1::numeric], now(), now(), true
     from generate_series(1, 50000) n`,
  )
  await world.database.owner.query('vacuum analyze')
  const plans: string[] = []
  const asking = {
    query: async (text: string, values: unknown[]) => {
      const { rows } = await world.database.pools.watcher.query<{ 'QUERY PLAN': string }>(
        `explain ${text}`,
        values,
      )
      plans.push(...rows.map((row) => row['QUERY PLAN']))
      return { rows: [] }
    },
  } as unknown as Queryable
  const place = { network: 'solana-test', keyspace: 'solana-test', limit: 10 } as const
  await listAddressesToFund(asking, place, { perMerchant: 100, now: world.now })
  expect(plans.filter((line) => line.includes('Seq Scan on solana_chore'))).toEqual([])
  expect(plans.filter((line) => line.includes('solana_chore_funded')).length).toBeGreaterThanOrEqual(2)
  await world.database.owner.query(`delete from solana_chore where id like 'old %'`)
})
