import { afterEach, expect, test } from 'vitest'
import { SWEEP_CHECKS } from '../../src/audit/payout-checks.ts'
import { runAudit } from '../../src/audit/run-audit.ts'
import { ChainUnavailable } from '../../src/chain/adapter.ts'
import { ASSETS, tokensOf } from '../../src/core/assets.ts'
import { EVM_CHAINS, type EvmChain } from '../../src/core/chain/evm-networks.ts'
import { formatCoinAmount } from '../../src/core/money.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { hex } from '../support/anvil.ts'
import { boundChain, coinsOf, type EvmAsset, EvmPayoutWorld, isUsdt } from '../support/evm-payout-world.ts'
import {
  assetOf,
  Crash,
  Deck,
  FIRST_SEED,
  historiesOf,
  KILLS_BEFORE_REST,
  killSometime,
  seedsByWorld,
  signerTurn,
  unlessCrashed,
} from '../support/payout-history.ts'
import { type Random, seededRandom } from '../support/random.ts'
import { until } from '../support/until.ts'

const RUNS = historiesOf(
  { short: 3, long: 1_000 },
  Math.max(...EVM_CHAINS.map((chain) => 1 + tokensOf(chain).length)),
)
const STEPS_MAX = 16
const SETTLE_ROUNDS_MAX = 30

let world: EvmPayoutWorld
async function open(chain: EvmChain): Promise<{ coin: EvmAsset; tokens: readonly EvmAsset[] }> {
  const tokens = tokensOf(chain) as readonly EvmAsset[]
  world = await EvmPayoutWorld.open(chain, { withUsdt: tokens.some((token) => isUsdt(token)) })
  await world.guardToken()
  await world.fuelHotWallet(100n * 10n ** 18n)
  return { coin: coinsOf(chain).coin, tokens }
}
afterEach(() => world?.close())

const FAULTS = ['none', 'none', 'before', 'after', 'error', 'timeout', 'lie', 'behind', 'hangs'] as const

type Fault = (typeof FAULTS)[number]
type History = {
  readonly random: Random
  readonly faults: Deck<Fault>
  readonly payouts: readonly Payout[]
}

/** A look of a tracker whose calls may die before or after they did what they do, or be answered wrongly. */
function trackerTurn({ random, faults }: History): Promise<void> {
  const fault = faults.deal()
  const tracker = world.tracker((chain) => ({
    ...boundChain(chain),
    receiptOf: async (txid) => {
      const strikes = random.chance(0.5)
      if (strikes && fault === 'hangs') throw new ChainUnavailable('no answer')
      // Of several nodes behind one URL this one has not come so far.
      return strikes && fault === 'behind' ? null : chain.receiptOf(txid)
    },
    broadcast: async (raw) => {
      const strikes = random.chance(0.5)
      if (strikes && fault === 'before') throw new Crash('before it was sent')
      if (strikes && fault === 'lie') return { kind: 'known' }
      const verdict = await chain.broadcast(raw)
      if (strikes && fault === 'after') throw new Crash('after it was sent')
      if (strikes && fault === 'timeout') throw new ChainUnavailable('a timeout')
      return strikes && fault === 'error' ? { kind: 'refused', reason: 'internal error' } : verdict
    },
  }))
  return unlessCrashed(
    () => tracker.pass(),
    (error) => error instanceof ChainUnavailable,
  )
}

/** What happens in one step of a history. */
async function step(history: History): Promise<void> {
  const { random, payouts } = history
  const what = random.below(12)
  if (what < 4) return signerTurn(world, random, () => random.chance(0.5))
  if (what < 8) return trackerTurn(history)
  if (what === 8) return world.anvil.mine(1)
  if (what === 9) {
    const losesAll = random.chance(0.5)
    return world.anvil.reorganise(1 + random.below(2), () => losesAll)
  }
  if (what === 10) return forget(random.pick(payouts), random)
  world.now = new Date(world.now.getTime() + random.below(8) * 60_000)
  await world.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [hex(BigInt(random.below(3) * 10 ** 9 + 10 ** 8))])
}

/** The database is set back to before this payout, and maybe its sweeps, were signed. */
async function forget(payout: Payout, random: Random): Promise<void> {
  const { owner } = world.database
  const { rowCount } = await owner.query(
    `update payout set status = 'approved', txid = null, submitted_at = null, network_fee = $2, event_count = 2
     where id = $1 and status in ('approved', 'submitted')`,
    [payout.id, payout.networkFee],
  )
  if (rowCount === 0) return
  await owner.query('delete from account_nonce where intent_id = $1', [payout.id])
  for (const table of ['payout_transaction', 'payout_gas'])
    await owner.query(`delete from ${table} where payout_id = $1`, [payout.id])
  await owner.query(
    'delete from event_awaiting where event_id in (select id from event where resource_id = $1 and sequence > 2)',
    [payout.id],
  )
  await owner.query('delete from event where resource_id = $1 and sequence > 2', [payout.id])
  if (random.chance(0.5)) return
  const { rows } = await owner.query<{ id: string }>(
    `update sweep set status = 'planned', txid = null, cost = null, final_at = null where payout_id = $1 returning id`,
    [payout.id],
  )
  const swept = rows.map(({ id }) => id)
  await owner.query('delete from sweep_transaction where sweep_id = any($1)', [swept])
  await owner.query('delete from account_nonce where intent_id = any($1)', [swept])
}

/** Everybody comes back and does their work until nothing is left to do. */
async function settle(tenant: Tenant, payouts: readonly Payout[]): Promise<Payout[]> {
  let now: Payout[] = []
  for (let round = 0; round < SETTLE_ROUNDS_MAX; round++) {
    await world.tracker().pass()
    await world.sign()
    await world.tracker().pass()
    await world.anvil.mine(1)
    // What the base fee has left behind is replaced in time.
    world.now = new Date(world.now.getTime() + 60_000)
    now = await Promise.all(payouts.map(({ id }) => world.load(tenant, id)))
    if (now.every(({ status }) => status === 'confirmed') && (await areSwept(payouts))) break
  }
  await world.tracker().pass()
  return now
}

/** Whether all that was swept for these payouts is in a final block. */
async function areSwept(payouts: readonly Payout[]): Promise<boolean> {
  const { rowCount } = await world.database.owner.query(
    `select from sweep where payout_id = any ($1) and status <> 'failed' and final_at is null`,
    [payouts.map(({ id }) => id)],
  )
  return rowCount === 0
}

const KILLS = process.env.LONG === '1' ? 100 : 2
/** A process comes past so many on its way to a payout of each kind. */
const MOMENTS_MAX = 60

const sweepChecks = new Set(SWEEP_CHECKS.map(({ name }) => name))

const WORLDS = EVM_CHAINS.flatMap((chain) =>
  seedsByWorld(RUNS).map((seeds) => ({ chain, seeds, first: seeds[0], count: seeds.length })),
)

test.each(WORLDS)(
  '$count histories of crashes, lies, freezes and forks on $chain: each is paid once (from $first)',
  async ({ seeds, chain }) => {
    const { coin, tokens } = await open(chain)
    for (const seed of seeds) {
      const about = `seed ${seed}`
      const random = seededRandom(seed)
      // What was confirmed in an earlier history is no longer looked after.
      world.now = new Date(world.now.getTime() + 25 * 3_600_000)
      await world.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [hex(10n ** 9n)])
      const asset = assetOf([coin, ...tokens], seed)
      const unit = 10n ** BigInt(ASSETS[asset].decimals)
      const amounts = Array.from({ length: 1 + random.below(3) }, () => unit / BigInt(1 + random.below(5)))
      const tenant = await world.openShop(asset, amounts)
      // The largest deposit of all, which its issuer has frozen, is nobody's payout.
      const frozen = asset !== coin && random.chance(0.5) ? 2n * unit : 0n
      if (frozen > 0n) await world.freezeIn(asset, (await world.deposit(tenant, asset, frozen)).address)
      // Deep enough that no history here takes the deposits away.
      await world.anvil.mine(3)
      await world.tracker().pass()
      const total = amounts.reduce((sum, amount) => sum + amount, 0n)
      const payouts: Payout[] = []
      for (const amount of random.chance(0.5) ? [total / 2n] : [total / 3n, total / 4n])
        payouts.push(await world.payout(tenant, asset, formatCoinAmount(amount, ASSETS[asset].decimals)))
      const history = { random, payouts, faults: new Deck(FAULTS, random) }
      for (let count = 0; count < STEPS_MAX; count++) await step(history)
      while (!history.faults.isEven) await trackerTurn(history)
      const done = await settle(tenant, payouts)
      for (const payout of done) {
        expect(payout.status, `${about}: ${world.logged.slice(-8).join('')}`).toBe('confirmed')
        expect(await world.holds(asset, payout.destination), about).toBe(payout.amount - payout.networkFee)
        expect(payout.networkFee, about).toBeLessThanOrEqual(payout.networkFeeMax)
        expect(await world.eventsOf(payout.id), about).toEqual([
          'requested',
          'approved',
          'submitted',
          'confirmed',
        ])
      }
      const paid = done.reduce((sum, { amount }) => sum + amount, 0n)
      expect(await world.balances(tenant), about).toMatchObject({
        available: total + frozen - paid,
        reserved: 0n,
      })
      const audit = await runAudit(world.database.owner, [])
      expect(
        audit.filter(({ name, findings }) => sweepChecks.has(name) && findings.length > 0),
        about,
      ).toEqual([])
    }
  },
  120_000 + RUNS * 60_000,
)

test.each(EVM_CHAINS)(
  `${KILLS} kills while signing and sending: each payout of every coin on %s is paid once`,
  async (chain) => {
    const { coin, tokens } = await open(chain)
    const random = seededRandom(FIRST_SEED)
    const shops = await Promise.all(
      [coin, ...tokens].map(async (asset) => ({ asset, tenant: await world.openShop(asset, []) })),
    )
    await world.tracker().pass()
    const payouts: Payout[] = []
    const rest = async () => {
      const alive = await world.startProcess()
      const isDone = async () => {
        await world.anvil.mine(1)
        const now = await Promise.all(payouts.map(load))
        return now.every(({ status }) => status === 'confirmed')
      }
      await until(isDone, { what: 'every payout is confirmed', timeoutMs: 120_000 })
      await alive.kill()
    }
    for (let kill = 0; kill < KILLS; kill++) {
      for (const { asset, tenant } of shops) {
        await world.deposit(tenant, asset, 10n ** BigInt(ASSETS[asset].decimals))
        payouts.push(await world.payout(tenant, asset, '0.8'))
      }
      await killSometime(random, await world.startProcess(), MOMENTS_MAX)
      if (random.chance(0.5)) await world.anvil.mine(1)
      if ((kill + 1) % KILLS_BEFORE_REST === 0) await rest()
    }
    await rest()
    for (const { asset, destination, amount, networkFee, id } of await Promise.all(payouts.map(load))) {
      expect(await world.holds(asset as EvmAsset, destination)).toBe(amount - networkFee)
      expect(await world.eventsOf(id)).toEqual(['requested', 'approved', 'submitted', 'confirmed'])
    }
    const audit = await runAudit(world.database.owner, [])
    expect(audit.filter(({ name, findings }) => sweepChecks.has(name) && findings.length > 0)).toEqual([])
  },
  120_000 + KILLS * 30_000,
)

const load = ({ merchantId, livemode, id }: Payout): Promise<Payout> =>
  world.load({ merchantId, livemode }, id)
