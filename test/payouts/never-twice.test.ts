import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatCoinAmount } from '../../src/core/money.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import type { PayoutChain } from '../../src/payouts/broadcast/utxo/utxo-broadcaster.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { Crash, FIRST_SEED, historiesOf, signerTurn, unlessCrashed } from '../support/payout-history.ts'
import { PayoutWorld } from '../support/payout-world.ts'
import { type Random, seededRandom } from '../support/random.ts'
import { startSandboxMoney } from '../support/sandbox-money.ts'

const RUNS = historiesOf({ short: 20, long: 1_000 })
const STEPS_MAX = 14
/** A look of a tracker at two payouts makes about so many calls. */
const CALLS_MAX = 8
const LTC = 100_000_000n

let money: Awaited<ReturnType<typeof startSandboxMoney>>
let world: PayoutWorld
beforeAll(async () => {
  money = await startSandboxMoney()
  world = await PayoutWorld.open(money)
})
afterAll(async () => {
  await world?.close()
  await money?.remove()
})

/** A look of a tracker that may die before or after any of its calls, or be answered wrongly. */
function trackerTurn(random: Random): Promise<void> {
  const fault = random.pick(['none', 'none', 'before', 'after', 'unknown', 'not found'] as const)
  const fatalCall = 1 + random.below(CALLS_MAX)
  let calls = 0
  const call = async <Result>(name: string, ask: () => Promise<Result>): Promise<Result> => {
    calls += 1
    const isFatal = calls === fatalCall
    if (fault === 'before' && isFatal) throw new Crash(`before ${name}`)
    const answer = await ask()
    if (fault === 'after' && isFatal) throw new Crash(`after ${name}`)
    return answer
  }
  const wrap = (chain: PayoutChain): PayoutChain => ({
    hasBlock: (block) => chain.hasBlock(block),
    feeRate: () => call('the fee', () => chain.feeRate()),
    tipHeight: () => call('the height', () => chain.tipHeight()),
    isUnspent: (txid, index) => call('a coin', () => chain.isUnspent(txid, index)),
    find: (sought) => call('a search', () => chain.find(sought)),
    spenderOf: (output, from) => call('a search', () => chain.spenderOf(output, from)),
    hasInBlock: (txid, block) => call('a block', () => chain.hasInBlock(txid, block)),
    staleTransactions: (txid, height) => call('a branch', () => chain.staleTransactions(txid, height)),
    broadcast: async (raw) => {
      const verdict = await call('a broadcast', () => chain.broadcast(raw))
      // A node that took it and says that it did not.
      if (fault === 'unknown') return { kind: 'refused', reason: 'txn-mempool-conflict' }
      return fault === 'not found' ? { kind: 'lacks_inputs' } : verdict
    },
  })
  return unlessCrashed(() => world.tracker(wrap).pass())
}

/** What happens in one step of a history. */
function step(random: Random, payouts: readonly Payout[]): Promise<unknown> {
  switch (random.below(10)) {
    case 0:
    case 1:
    case 2:
      return signerTurn(world, random)
    case 3:
    case 4:
    case 5:
      return trackerTurn(random)
    case 6:
      return money.mine(1 + random.below(2))
    case 7:
      return money.sandbox.client.reorganise(1 + random.below(2))
    case 8:
      return forget(random.pick(payouts))
    default:
      world.now = new Date(world.now.getTime() + random.below(40) * 60_000)
      return world.database.owner.query(
        'update network_fee set milli_per_vbyte = $2, updated_at = $3 where network = $1',
        [world.network, 1_000 + random.below(6_000), world.now],
      )
  }
}

/** The database is set back to before this payout was signed, unless its money is booked out already. */
async function forget(payout: Payout): Promise<void> {
  const { owner } = world.database
  const { rowCount } = await owner.query(
    `update payout set status = 'approved', txid = null, submitted_at = null, network_fee = $2,
       event_count = least(event_count, 2)
     where id = $1 and status in ('approved', 'submitted')`,
    [payout.id, payout.networkFee],
  )
  if (rowCount === 0) return
  for (const table of ['payout_change', 'payout_input', 'payout_transaction']) {
    await owner.query(`delete from ${table} where payout_id = $1`, [payout.id])
  }
  await owner.query(
    'delete from event_awaiting where event_id in (select id from event where resource_id = $1 and sequence > 2)',
    [payout.id],
  )
  await owner.query('delete from event where resource_id = $1 and sequence > 2', [payout.id])
}

/** Everybody comes back and does their work until nothing is left to do. */
async function settle(tenant: Tenant, payouts: readonly Payout[]): Promise<Payout[]> {
  for (let round = 0; round < 12; round++) {
    await world.sign()
    await world.tracker().pass()
    await money.mine(1)
    await world.tracker().pass()
    const now = await Promise.all(payouts.map(({ id }) => world.load(tenant, id)))
    if (now.every(({ status }) => status === 'confirmed')) return now
  }
  return Promise.all(payouts.map(({ id }) => world.load(tenant, id)))
}

test(
  `${RUNS} histories of faults pay each payout exactly once; books and chain agree (from ${FIRST_SEED})`,
  async () => {
    for (let run = 0; run < RUNS; run++) {
      const seed = FIRST_SEED + run
      const random = seededRandom(seed)
      const about = `seed ${seed}`
      const coins = Array.from({ length: 1 + random.below(4) }, () => LTC / BigInt(1 + random.below(5)))
      // What was confirmed in an earlier history is no longer looked after.
      world.now = new Date(world.now.getTime() + 25 * 3_600_000)
      const height = Number(await world.rpc.callRaw('getblockcount', []))
      const feeBps = random.chance(0.5) ? 1_000 : 0
      const tenant = await world.openShop(coins, feeBps)
      // Deep enough that no history here takes the deposits away.
      await money.mine(30)
      await world.tracker().pass()
      const total = coins.reduce((sum, amount) => sum + amount, 0n)
      const amounts = random.chance(0.5) ? [total / 2n] : [total / 3n, total / 4n]
      const payouts: Payout[] = []
      for (const amount of amounts) {
        payouts.push(await world.payout(tenant, formatCoinAmount(amount, 8)))
      }
      // What the operator keeps is among the same coins, and leaves by the same way.
      if (feeBps > 0) payouts.push(await world.payoutOfFees(tenant))
      for (let count = 0; count < STEPS_MAX; count++) await step(random, payouts)
      const done = await settle(tenant, payouts)
      const fees = feeBps === 0 ? 0n : coins.reduce((sum, amount) => sum + amount / 10n, 0n)
      for (const payout of done) {
        expect(payout.status, about).toBe('confirmed')
        expect(await world.paidTo(payout.destination, height), about).toEqual([
          payout.amount - payout.networkFee,
        ])
        const told = payout.source === 'fees' ? [] : ['requested', 'approved', 'submitted', 'confirmed']
        expect(await world.eventsOf(payout.id), about).toEqual(told)
      }
      const balances = await world.balances(tenant)
      const { available = 0n, reserved } = balances
      expect([reserved, balances.fees ?? 0n, balances.fees_reserved ?? 0n], about).toEqual([0n, 0n, 0n])
      expect(available, about).toBe(total - fees - amounts.reduce((sum, amount) => sum + amount, 0n))
      expect(await world.coinsOnChain(tenant), about).toBe(available)
    }
  },
  RUNS * 20_000,
)
