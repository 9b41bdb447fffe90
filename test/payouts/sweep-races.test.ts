import { afterAll, beforeAll, expect, test } from 'vitest'
import { SWEEP_CHECKS } from '../../src/audit/payout-checks.ts'
import { runAudit } from '../../src/audit/run-audit.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import { readLongWaits } from '../../src/payouts/store/long-waits.ts'
import { withdrawUnsignedApprovals } from '../../src/payouts/store/payouts.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { hex } from '../support/anvil.ts'
import { boundChain, EvmPayoutWorld } from '../support/evm-payout-world.ts'

const ETHER = 10n ** 18n
const DAY_MS = 24 * 3_600_000

let world: EvmPayoutWorld
beforeAll(async () => {
  world = await EvmPayoutWorld.open('base')
  await world.fuelHotWallet()
})
afterAll(() => world?.close())

/** The order of payouts is that of their ids, which tell the time. */
function later(ms: number): void {
  world.now = new Date(world.now.getTime() + ms)
}

/** A merchant's sweeps, oldest first: for which payout, and how many deposits each has. */
async function sweepsOf({ merchantId }: Tenant) {
  const { rows } = await world.database.owner.query<{
    id: string
    payout: string
    status: string
    nonce: number
    deposits: number
  }>(
    `select s.id, s.payout_id as payout, s.status, s.nonce,
       (select count(*)::int from sweep_transfer l where l.merchant_id = s.merchant_id and l.sweep_id = s.id) as deposits
     from sweep s where s.merchant_id = $1 order by s.created_at, s.id`,
    [merchantId],
  )
  return rows
}

const checked = new Set(SWEEP_CHECKS.map(({ name }) => name))
async function findings() {
  const results = await runAudit(world.database.owner, [])
  return results.filter(({ name, findings }) => checked.has(name) && findings.length > 0)
}

/** Confirmed, and the destination has the amount without the fee, once. */
async function expectPaid(tenant: Tenant, { id, asset, destination, amount }: Payout): Promise<void> {
  const { networkFee } = await world.until(tenant, id, 'confirmed')
  const coin = asset === 'USDC_BASE' ? asset : 'ETH_BASE'
  expect(await world.holds(coin, destination)).toBe(amount - networkFee)
}

/** What was asked for is swept, in a block, and known to need so much gas; the signer has yet to sign it. */
async function sweepFor(): Promise<void> {
  await world.tracker().pass()
  await world.sign()
  await world.tracker().pass()
  await world.anvil.mine(1)
  await world.tracker().pass()
}

test('nothing more is swept for a payout that is signed while the watcher plans', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER, ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await sweepFor()
  let isSigned = false
  const signing = world.tracker((chain) => ({
    ...boundChain(chain),
    // Asked after what is unsigned was read, and before anything is planned.
    finalizedHeight: async () => {
      if (!isSigned) await world.sign()
      isSigned = true
      return chain.finalizedHeight()
    },
  }))
  await signing.pass()
  expect((await world.signedFor(payout.id)).payout).toHaveLength(1)
  expect(await sweepsOf(tenant)).toMatchObject([{ payout: payout.id, status: 'done' }])
  await expectPaid(tenant, payout)
  await expectPaid(tenant, await world.payout(tenant, 'ETH_BASE', '1'))
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
  expect(await findings()).toEqual([])
})

test('a sweep of a payout that was rejected after a restore goes on for the next payout', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await world.tracker().pass()
  expect(await withdrawUnsignedApprovals(world.database.owner, () => false)).toContain(payout.id)
  await world.reject(tenant, payout.id)
  const next = await world.payout(tenant, 'ETH_BASE', '1')
  await expectPaid(tenant, next)
  expect(await sweepsOf(tenant)).toMatchObject([{ payout: next.id, status: 'done' }])
})

test.each([
  ['ETH_BASE', ETHER, 'planned'],
  ['USDC_BASE', 1_000_000n, 'planned'],
  ['ETH_BASE', ETHER, 'signed'],
  ['USDC_BASE', 1_000_000n, 'signed'],
] as const)('a payout in %s is brought back with the sweep that it took over (%#)', async (...given) => {
  const [asset, unit, backedUpBefore] = given
  const tenant = await world.openShop(asset, [unit])
  let restore = await world.backUp()
  const rejected = await world.payout(tenant, asset, '1')
  await world.tracker().pass()
  await world.sign()
  expect((await world.signedFor(rejected.id)).payout).toEqual([])
  await withdrawUnsignedApprovals(world.database.owner, () => false)
  await world.reject(tenant, rejected.id)
  if (backedUpBefore === 'signed') {
    await world.database.owner.query('drop schema backup cascade')
    restore = await world.backUp()
  }
  later(1_000)
  const next = await world.payout(tenant, asset, '1')
  await expectPaid(tenant, next)
  const before = await sweepsOf(tenant)
  expect(before).toMatchObject([{ payout: next.id, status: 'done' }])
  await restore()
  expect(await world.recover()).toEqual({ [next.id]: 'recovered' })
  await world.until(tenant, next.id, 'confirmed')
  expect(await sweepsOf(tenant)).toEqual(before)
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
  expect(await findings()).toEqual([])
})

test('nothing is swept for a payout that is signed while a node says what its deposits hold', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER, ETHER])
  const older = await world.request(tenant, 'ETH_BASE', '1')
  later(1_000)
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await sweepFor()
  later(1_000)
  // It takes what was swept for the newer one, which lacks as much from then on.
  await world.approve(tenant, older.id)
  let asked = 0
  const signing = world.tracker((chain) => ({
    ...boundChain(chain),
    nonceOf: async (account, at) => {
      asked += 1
      if (asked === 1) {
        // The older one comes first only where the signer knows what its destination takes.
        await world.database.owner.query('delete from payout_gas where payout_id = $1', [older.id])
        await world.sign()
      }
      return chain.nonceOf(account, at)
    },
  }))
  await signing.pass()
  expect(asked).toBe(1)
  expect((await world.signedFor(payout.id)).payout).toHaveLength(1)
  expect(await sweepsOf(tenant)).toMatchObject([{ payout: payout.id, status: 'done' }])
  await expectPaid(tenant, payout)
  await expectPaid(tenant, older)
  expect(await findings()).toEqual([])
})

test('what was planned for a payout that the signer was signing goes on for the next payout', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER, ETHER])
  const older = await world.request(tenant, 'ETH_BASE', '1')
  later(1_000)
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await sweepFor()
  later(1_000)
  await world.approve(tenant, older.id)
  await world.sign({
    reached: async (point) => {
      if (point === 'before_journal') await world.tracker().pass()
    },
  })
  expect((await world.signedFor(payout.id)).payout).toHaveLength(1)
  expect(await sweepsOf(tenant)).toMatchObject([
    { payout: payout.id, status: 'done' },
    { payout: payout.id, status: 'planned' },
  ])
  // Nobody waits for a sweep that is there for the next payout.
  const tomorrow = new Date(world.now.getTime() + DAY_MS)
  expect((await readLongWaits(world.database.owner, tomorrow)).map(({ state }) => state)).not.toContain(
    'planned',
  )
  await expectPaid(tenant, payout)
  await expectPaid(tenant, older)
  expect(await sweepsOf(tenant)).toMatchObject([
    { payout: payout.id, status: 'done' },
    { payout: older.id, status: 'done' },
  ])
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
  expect(await findings()).toEqual([])
})

test('of a sweep that was not signed, the deposits that are left are swept anew, with its nonce', async () => {
  const tenant = await world.openShop('ETH_BASE', [])
  const { invoiceId, address } = await world.deposit(tenant, 'ETH_BASE', ETHER)
  await world.payInvoice(tenant, { invoiceId, address, asset: 'ETH_BASE', amount: ETHER / 2n })
  const { rows } = await world.database.owner.query<{ txid: string }>(
    'select txid from transfer where merchant_id = $1 and amount = $2',
    [tenant.merchantId, ETHER / 2n],
  )
  const txid = rows[0]?.txid ?? ''
  const payout = await world.payout(tenant, 'ETH_BASE', '1.4')
  await world.tracker().pass()
  await world.anvil.reorganise(1, (each) => each === txid)
  await world.takeBack(tenant, txid)
  expect(await world.until(tenant, payout.id, 'failed')).toMatchObject({ failureCode: 'deposit_gone' })
  // The signer is asked first whether its journal knows of a signature.
  await world.tracker().pass()
  expect(await sweepsOf(tenant)).toMatchObject([{ status: 'planned', deposits: 2 }])
  await world.sign()
  await world.tracker().pass()
  expect(await sweepsOf(tenant)).toMatchObject([{ status: 'failed', deposits: 0 }])
  later(1_000)
  await expectPaid(tenant, await world.payout(tenant, 'ETH_BASE', '1'))
  expect(await sweepsOf(tenant)).toMatchObject([
    { status: 'failed', nonce: 0, deposits: 0 },
    { status: 'done', nonce: 0, deposits: 1 },
  ])
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n, shortfall: 0n })
  expect(await findings()).toEqual([])
})

/** A tracker of a node that says that each account has sent so much more than it has. */
const exaggerating = (by: number) =>
  world.tracker((chain) => ({
    ...boundChain(chain),
    nonceOf: async (account, at) => (await chain.nonceOf(account, at)) + (at === 'latest' ? by : 0),
  }))

test('a nonce that a node once gives too high is given to no sweep, which would wait behind the gap', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await exaggerating(3).pass()
  expect(await sweepsOf(tenant)).toEqual([])
  await expectPaid(tenant, payout)
  expect(await sweepsOf(tenant)).toMatchObject([{ status: 'done', nonce: 0 }])
})

test('a nonce that one of two providers gives too high, also as final, is given to no sweep', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  const chain = world.clientAt(world.anvil.url)
  const nonceOf = async (account: Uint8Array, at: 'latest' | 'finalized') =>
    (await chain.nonceOf(account, at)) + 3
  const liar = { name: 'a liar', chain: { ...boundChain(chain), nonceOf } }
  await world.trackerOf([liar, { name: 'another', chain }]).pass()
  expect(await sweepsOf(tenant)).toEqual([])
  await chain.close()
  await expectPaid(tenant, payout)
})

test('what a deposit address sent without a sweep counts once it is final', async () => {
  const tenant = await world.openShop('ETH_BASE', [])
  const { address } = await world.deposit(tenant, 'ETH_BASE', ETHER)
  await world.anvil.rpc('anvil_impersonateAccount', [address])
  await world.anvil.rpc('eth_sendTransaction', [{ from: address, to: address, value: '0x0' }])
  await world.anvil.mine(1)
  await world.anvil.rpc('anvil_setBalance', [address, hex(ETHER)])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await world.tracker().pass()
  expect(await sweepsOf(tenant)).toEqual([])
  await expectPaid(tenant, payout)
  expect(await sweepsOf(tenant)).toMatchObject([{ status: 'done', nonce: 1 }])
})

test('a nonce of the hot wallet that a node once gives too high is given to nothing, and is logged', async () => {
  const tenant = await world.openShop('USDC_BASE', [1_000_000n])
  const payout = await world.payout(tenant, 'USDC_BASE', '1')
  const ahead = world.tracker((chain) => ({
    ...boundChain(chain),
    accountOf: async (account) => {
      const read = await chain.accountOf(account)
      return { ...read, nonce: read.nonce + 3 }
    },
  }))
  world.logged.length = 0
  for (let turn = 0; turn < 2; turn++) {
    later(5_000)
    await ahead.pass()
    await world.sign()
  }
  expect(world.logged.join('')).toContain('the hot wallet sent more than was signed here')
  expect(await sweepsSigned(tenant)).toBe(0)
  await expectPaid(tenant, payout)
})

async function sweepsSigned({ merchantId }: Tenant): Promise<number> {
  const { rowCount } = await world.database.owner.query(
    'select from sweep_transaction where merchant_id = $1',
    [merchantId],
  )
  return rowCount ?? 0
}

test('what is signed behind a nonce that nothing has is reported, and goes on once the next is signed', async () => {
  const [first, second] = [
    await world.openShop('ETH_BASE', [ETHER]),
    await world.openShop('ETH_BASE', [ETHER]),
  ]
  const payout = await world.payout(first, 'ETH_BASE', '1')
  await sweepFor()
  await world.setHotWallet('nonce = nonce + 1')
  await world.sign()
  expect((await world.signedFor(payout.id)).payout).toHaveLength(1)
  await world.tracker().pass()
  await world.anvil.mine(1)
  await world.tracker().pass()
  const soon = new Date(world.now.getTime() + DAY_MS / 24 / 2)
  expect(await readLongWaits(world.database.owner, soon)).toMatchObject([
    { state: 'behind_a_gap', oldestId: payout.id, count: 1 },
  ])
  later(1_000)
  const next = await world.payout(second, 'ETH_BASE', '1')
  await expectPaid(second, next)
  await expectPaid(first, payout)
  expect(await readLongWaits(world.database.owner, soon)).toEqual([])
})
