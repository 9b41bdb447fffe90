import { address } from '@solana/kit'
import { expect, test } from 'vitest'
import { ChainUnavailable } from '../../src/chain/adapter.ts'
import { formatCoinAmount } from '../../src/core/money.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import type { Tenant } from '../../src/db/transaction.ts'
import { brokenSolanaNode } from '../support/broken-solana-node.ts'
import { copyDatabase } from '../support/database-copy.ts'
import { FIRST_SEED, historiesOf, signerTurn, unlessCrashed } from '../support/payout-history.ts'
import { type Random, seededRandom } from '../support/random.ts'
import { lever } from '../support/solana-payer.ts'
import { SolanaPayoutWorld } from '../support/solana-payout-world.ts'

const RUNS = historiesOf({ short: 4, long: 1_000 })
/** Histories in one world; the first of a world also makes the nonces and the vault. */
const WORLD_RUNS = 25
const STEPS_MAX = 18
const SETTLE_ROUNDS_MAX = 30
/** After so many rounds blocks come by the dozen, so that what can no longer happen is seen to be too old. */
const PATIENT_ROUNDS = 6
const DOZENS = 36
const SOL = 1_000_000_000n
/** Blocks that no fork takes back. */
const FINALIZED_LAG = 3

type Shop = { readonly tenant: Tenant; readonly owners: readonly string[]; readonly total: bigint }

type History = {
  readonly world: SolanaPayoutWorld
  readonly random: Random
  /** Taken out of the chain by a fork, and not back yet. */
  readonly held: string[]
  /** Sets the database back to an earlier step of the history. */
  setBack: (() => Promise<void>) | null
}

/** A look of a courier that may die before or after any of its calls, at a node that may be wrong in many ways. */
function courierTurn({ world, random }: History): Promise<void> {
  const node = brokenSolanaNode(world.rpc, { url: world.solana.url, lag: FINALIZED_LAG, random })
  return unlessCrashed(
    () => world.courier(world.carriage(node)).pass(),
    (error) => error instanceof ChainUnavailable,
  )
}

/** What happens in one step of a history. */
async function step(history: History): Promise<void> {
  const { world, random } = history
  const what = random.below(15)
  if (what < 4) return signerTurn(world, random, () => random.chance(0.5))
  if (what < 9) return courierTurn(history)
  if (what < 11) return world.solana.mine(1 + random.below(3))
  if (what === 11) return world.solana.reorganise(1 + random.below(FINALIZED_LAG))
  if (what === 12) return takeAway(history)
  if (what === 13) {
    if (history.setBack === null || random.chance(0.3))
      history.setBack = await copyDatabase(world.database.owner)
    else await history.setBack()
    return
  }
  world.now = new Date(world.now.getTime() + random.below(40) * 60_000)
}

/** A fork on which one of the newest transactions did not happen; it is lost, or comes back later. */
async function takeAway({ world, random, held }: History): Promise<void> {
  const { rows } = await world.database.owner.query<{ txid: string }>(
    `select txid from payout_transaction union all select txid from solana_chore where txid is not null order by txid`,
  )
  const statuses = await world.rpc.statuses(rows.map(({ txid }) => txid))
  const taken = [...statuses].filter(([, { isFinal }]) => !isFinal).map(([txid]) => txid)
  if (taken.length === 0) return
  const txid = random.pick(taken)
  const isLost = random.chance(0.5)
  await lever(world.solana.url, isLost ? 'sandbox_drop' : 'sandbox_reorganiseaway', [txid])
  if (!isLost) held.push(txid)
}

/** Everybody comes back and does their work until nothing is left to do. */
async function settle({ world, held }: History, payouts: readonly Payout[]): Promise<Payout[]> {
  let now: Payout[] = []
  for (const txid of held.splice(0)) await lever(world.solana.url, 'sandbox_release', [txid])
  for (let round = 0; round < SETTLE_ROUNDS_MAX; round++) {
    await world.turn()
    await world.solana.mine(round < PATIENT_ROUNDS ? FINALIZED_LAG : DOZENS)
    now = await Promise.all(
      payouts.map(({ merchantId, livemode, id }) => world.load({ merchantId, livemode }, id)),
    )
    if (now.every(({ status }) => status === 'confirmed')) break
  }
  await world.solana.mine(FINALIZED_LAG + 1)
  await world.turn()
  return now
}

/** What the vault holds beyond what keeps it in being. */
async function inVault(world: SolanaPayoutWorld): Promise<bigint> {
  const { vault, reading } = await world.house()
  const held = await world.holds(vault)
  return held === 0n ? 0n : held - (reading?.rentExempt ?? 0n)
}

async function openShop(world: SolanaPayoutWorld, random: Random): Promise<Shop> {
  const amounts = Array.from({ length: 1 + random.below(4) }, () => SOL / BigInt(1 + random.below(7)))
  const tenant = await world.openShop([])
  const owners: string[] = []
  for (const amount of amounts) owners.push(await world.deposit(tenant, amount))
  return { tenant, owners, total: amounts.reduce((sum, amount) => sum + amount, 0n) }
}

/** Once on the chain, once in the events. */
async function expectPaidOnce(world: SolanaPayoutWorld, payout: Payout, about: string): Promise<void> {
  expect(payout.status, `${about}: ${world.logged.slice(-12).join('')}`).toBe('confirmed')
  expect(await world.holds(payout.destination), about).toBe(payout.amount - payout.networkFee)
  const paid = await world.solana.payer.client
    .getSignaturesForAddress(address(payout.destination), { commitment: 'confirmed' })
    .send()
  expect(
    paid.filter(({ err }) => err === null).map(({ signature }) => signature),
    about,
  ).toEqual([payout.txid])
  expect(payout.networkFee, about).toBeLessThanOrEqual(payout.networkFeeMax)
  expect(await world.eventsOf(payout.id), about).toEqual(['requested', 'approved', 'submitted', 'confirmed'])
}

async function tellHistory(world: SolanaPayoutWorld, seed: number): Promise<void> {
  const about = `seed ${seed}`
  const random = seededRandom(seed)
  const history: History = { world, random, held: [], setBack: null }
  // What was confirmed in an earlier history is no longer looked after.
  world.now = new Date(world.now.getTime() + 25 * 3_600_000)
  world.logged.length = 0
  const before = await inVault(world)
  const shops = [await openShop(world, random)]
  if (random.chance(0.3)) shops.push(await openShop(world, random))
  // Deep enough that no history here takes the deposits away.
  await world.solana.mine(FINALIZED_LAG + 1)
  await world.courier().pass()
  const payouts: Payout[] = []
  for (const { tenant, total } of shops) {
    const count = 1 + random.below(3)
    const isWhole = random.chance(0.5)
    const part = total / BigInt(isWhole ? count : count + 1)
    for (let at = 1; at <= count; at++) {
      const amount = isWhole && at === count ? total - part * BigInt(count - 1) : part
      payouts.push(await world.payout(tenant, formatCoinAmount(amount, 9)))
    }
  }
  for (let count = 0; count < STEPS_MAX; count++) await step(history)
  const done = await settle(history, payouts)
  for (const payout of done) await expectPaidOnce(world, payout, about)
  let inBooks = 0n
  let onChain = (await inVault(world)) - before
  for (const { tenant, owners, total } of shops) {
    const paid = done.filter(({ merchantId }) => merchantId === tenant.merchantId)
    const left = total - paid.reduce((sum, { amount }) => sum + amount, 0n)
    const { available = 0n, reserved = 0n } = await world.balances(tenant)
    expect({ available, reserved }, about).toEqual({ available: left, reserved: 0n })
    inBooks += available
    for (const owner of owners) onChain += await world.holds(owner)
  }
  expect(onChain, about).toBe(inBooks)
}

async function openWorld(): Promise<SolanaPayoutWorld> {
  const world = await SolanaPayoutWorld.open()
  await world.turn()
  await world.fund()
  await lever(world.solana.url, 'sandbox_setlag', [0, FINALIZED_LAG])
  return world
}

test(
  `${RUNS} histories of crashes at every step, wrong answers, nodes that are behind, forks and databases set back on Solana: every payout is paid exactly once, and ledger and chain agree (seeds from ${FIRST_SEED})`,
  async () => {
    for (let first = 0; first < RUNS; first += WORLD_RUNS) {
      const world = await openWorld()
      try {
        for (let run = first; run < Math.min(RUNS, first + WORLD_RUNS); run++)
          await tellHistory(world, FIRST_SEED + run)
      } finally {
        await world.close()
      }
    }
  },
  60_000 + RUNS * 60_000,
)
