import { setTimeout as sleep } from 'node:timers/promises'
import { address } from '@solana/kit'
import { expect, test } from 'vitest'
import { ChainUnavailable } from '../../src/chain/adapter.ts'
import { associatedTokenAccount } from '../../src/chain/solana/token-accounts.ts'
import { ASSET_IDS, ASSETS, type AssetId } from '../../src/core/assets.ts'
import { formatCoinAmount } from '../../src/core/money.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { sandboxMintOf } from '../../src/sandbox/solana/sandbox-mints.ts'
import { copyDatabase } from '../support/database-copy.ts'
import {
  assetOf,
  Deck,
  FIRST_SEED,
  historiesOf,
  KILLS_BEFORE_REST,
  killSometime,
  signerTurn,
  unlessCrashed,
} from '../support/payout-history.ts'
import { type Random, seededRandom } from '../support/random.ts'
import { lever } from '../support/solana-payer.ts'
import { SolanaPayoutWorld } from '../support/solana-payout-world.ts'
import { until } from '../support/until.ts'
import { brokenSolanaNode, FAULTS, type Fault } from './broken-solana-node.ts'

/** Histories in one world; the first of a world also makes the nonces and the vault. */
const WORLD_RUNS = 15
const WORLDS_AT_ONCE = 4
const STEPS_MAX = 18
const SETTLE_ROUNDS_MAX = 30
const CALM_ROUNDS_MAX = 30
/** After so many rounds blocks come by the dozen, so that what can no longer happen is seen to be too old. */
const PATIENT_ROUNDS = 6
const DOZENS = 36
const MISSED_MS = 3_600_000
const KILLS = process.env.LONG === '1' ? 60 : 2
/** A process comes past so many on its way to a payout, whose coins are swept and final before. */
const MOMENTS_MAX = 80
const BLOCK_MS = 20
const SOL = 1_000_000_000n
/** What is paid out, and the most of it that one address gets. */
const PAID = ASSET_IDS.filter((asset) => ASSETS[asset].chain === 'solana')
const RUNS = historiesOf({ short: 4, long: 1_000 }, PAID.length)
const mostOf = (asset: AssetId): bigint => (asset === 'SOL' ? SOL : 30_000_000n)
/** Blocks that no fork takes back. */
const FINALIZED_LAG = 3

type Shop = { readonly tenant: Tenant; readonly owners: readonly string[]; readonly total: bigint }

type History = {
  readonly world: SolanaPayoutWorld
  readonly random: Random
  readonly faults: Deck<Fault>
  /** Taken out of the chain by a fork, and not back yet. */
  readonly held: string[]
  /** Sets the database back to an earlier step of the history. */
  setBack: (() => Promise<void>) | null
}

/** A look of a tracker that may die before or after any of its calls, at a node that may be wrong in many ways. */
function trackerTurn({ world, random, faults }: History): Promise<void> {
  const at = { url: world.solana.url, lag: FINALIZED_LAG, random, fault: faults.deal() }
  const node = brokenSolanaNode(world.rpc, at)
  return unlessCrashed(
    () => world.tracker(world.broadcaster(node)).pass(),
    (error) => error instanceof ChainUnavailable,
  )
}

/** What happens in one step of a history. */
async function step(history: History): Promise<void> {
  const { world, random } = history
  const what = random.below(15)
  if (what < 4) return signerTurn(world, random, () => random.chance(0.5))
  if (what < 9) return trackerTurn(history)
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
    `select txid from payout_transaction union all select txid from solana_chore where txid is not null
     union all select txid from solana_token_sweep where txid is not null order by txid`,
  )
  const statuses = await world.rpc.statuses(rows.map(({ txid }) => txid))
  const taken = [...statuses].filter(([, { isFinal }]) => !isFinal).map(([txid]) => txid)
  if (taken.length === 0) return
  const txid = random.pick(taken)
  const isLost = random.chance(0.5)
  await lever(world.solana.url, isLost ? 'sandbox_drop' : 'sandbox_reorganiseaway', [txid])
  if (!isLost) held.push(txid)
}

/** All goes well until a payout is signed, and nobody has sent it yet. */
async function signOne(world: SolanaPayoutWorld, payouts: readonly Payout[]): Promise<void> {
  for (let round = 0; round < CALM_ROUNDS_MAX; round++) {
    await world.sign()
    const signed = await Promise.all(payouts.map(({ id }) => world.signedOf(id)))
    if (signed.some((transactions) => transactions.length > 0)) return
    await world.tracker().pass()
    await world.solana.mine(FINALIZED_LAG)
  }
  throw new Error('nothing was signed')
}

/** Everybody comes back and does their work until nothing is left to do. */
async function settle({ world, held }: History, payouts: readonly Payout[]): Promise<Payout[]> {
  let now: Payout[] = []
  for (const txid of held.splice(0)) await lever(world.solana.url, 'sandbox_release', [txid])
  for (let round = 0; round < SETTLE_ROUNDS_MAX; round++) {
    await world.turn()
    await world.solana.mine(round < PATIENT_ROUNDS ? FINALIZED_LAG : DOZENS)
    // So long an address of which no block took a sweep keeps what makes it exist.
    if (round === 2 * PATIENT_ROUNDS) world.now = new Date(world.now.getTime() + MISSED_MS)
    now = await Promise.all(
      payouts.map(({ merchantId, livemode, id }) => world.load({ merchantId, livemode }, id)),
    )
    if (now.every(({ status }) => status === 'confirmed')) break
  }
  await world.solana.mine(FINALIZED_LAG + 1)
  await world.turn()
  return now
}

/** What the vault holds, of SOL beyond what keeps it in being. */
async function inVault(world: SolanaPayoutWorld, asset: AssetId): Promise<bigint> {
  const { vault, reading } = await world.signerAccounts()
  if (asset !== 'SOL') return world.holdsTokens(asset, vault)
  const held = await world.holds(vault)
  return held === 0n ? 0n : held - (reading?.rentExempt ?? 0n)
}

const heldBy = (world: SolanaPayoutWorld, asset: AssetId, owner: string): Promise<bigint> =>
  asset === 'SOL' ? world.holds(owner) : world.holdsTokens(asset, owner)

async function openShop(world: SolanaPayoutWorld, random: Random, asset: AssetId): Promise<Shop> {
  const amounts = Array.from(
    { length: 1 + random.below(4) },
    () => mostOf(asset) / BigInt(1 + random.below(7)),
  )
  const tenant = await world.openShop([])
  const owners: string[] = []
  for (const amount of amounts) owners.push(await world.deposit(tenant, amount, { asset }))
  return { tenant, owners, total: amounts.reduce((sum, amount) => sum + amount, 0n) }
}

/** Once on the chain, once in the events. */
async function expectPaidOnce(world: SolanaPayoutWorld, payout: Payout, about: string): Promise<void> {
  expect(payout.status, `${about}: ${world.logged.slice(-12).join('')}`).toBe('confirmed')
  const { asset } = payout
  expect(await heldBy(world, asset, payout.destination), about).toBe(payout.amount - payout.networkFee)
  const mint = sandboxMintOf(asset)
  const account = mint === null ? payout.destination : associatedTokenAccount(payout.destination, mint)
  const paid = await world.solana.payer.client
    .getSignaturesForAddress(address(account), { commitment: 'confirmed' })
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
  const faults = new Deck(FAULTS, random)
  const history: History = { world, random, faults, held: [], setBack: null }
  // What was confirmed in an earlier history is no longer looked after.
  world.now = new Date(world.now.getTime() + 25 * 3_600_000)
  world.logged.length = 0
  const asset = assetOf(PAID, seed)
  const before = await inVault(world, asset)
  const shops = [await openShop(world, random, asset)]
  if (random.chance(0.3)) shops.push(await openShop(world, random, asset))
  // Deep enough that no history here takes the deposits away.
  await world.solana.mine(FINALIZED_LAG + 1)
  await world.tracker().pass()
  const payouts: Payout[] = []
  for (const { tenant, total } of shops) {
    const count = 1 + random.below(3)
    const isWhole = random.chance(0.5)
    const part = total / BigInt(isWhole ? count : count + 1)
    for (let at = 1; at <= count; at++) {
      const amount = isWhole && at === count ? total - part * BigInt(count - 1) : part
      payouts.push(
        await world.payout(tenant, formatCoinAmount(amount, ASSETS[asset].decimals), undefined, asset),
      )
    }
  }
  // A payout takes nonces and a sweep first, where most steps would be spent; what may happen twice is what is signed.
  if (random.chance(0.75)) {
    history.setBack = await copyDatabase(world.database.owner)
    await signOne(world, payouts)
  }
  for (let count = 0; count < STEPS_MAX; count++) await step(history)
  while (!faults.isEven) await trackerTurn(history)
  const done = await settle(history, payouts)
  await expectDone(world, { asset, shops, payouts: done, before, about })
}

/** Every payout once, and not a unit more or less in the vault and at the addresses than the books say. */
async function expectDone(
  world: SolanaPayoutWorld,
  of: { asset: AssetId; shops: readonly Shop[]; payouts: readonly Payout[]; before: bigint; about: string },
): Promise<void> {
  const { asset, shops, payouts, before, about } = of
  for (const payout of payouts) await expectPaidOnce(world, payout, about)
  let inBooks = 0n
  let onChain = (await inVault(world, asset)) - before
  for (const { tenant, owners, total } of shops) {
    const paid = payouts.filter(({ merchantId }) => merchantId === tenant.merchantId)
    const left = total - paid.reduce((sum, { amount }) => sum + amount, 0n)
    const { available = 0n, reserved } = await world.balances(tenant)
    expect({ available, reserved }, about).toEqual({ available: left, reserved: 0n })
    inBooks += available
    for (const owner of owners) onChain += await heldBy(world, asset, owner)
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
  `${RUNS} Solana histories of faults pay each payout exactly once; books agree (from ${FIRST_SEED})`,
  async () => {
    let next = 0
    const failures: Error[] = []
    const tellSome = async (): Promise<void> => {
      while (next < RUNS) {
        const first = next
        next += WORLD_RUNS
        const end = Math.min(RUNS, first + WORLD_RUNS)
        const world = await openWorld()
        let run = first
        try {
          for (; run < end; run++) await tellHistory(world, FIRST_SEED + run)
        } catch (cause) {
          // The world is of no more use; the other seeds tell their own.
          failures.push(new Error(`seed ${FIRST_SEED + run}`, { cause }))
          process.stdout.write(`seed ${FIRST_SEED + run} failed\n`)
        } finally {
          await world.close()
        }
        if (RUNS > WORLD_RUNS)
          process.stdout.write(`seeds ${FIRST_SEED + first} to ${FIRST_SEED + run - 1} ran\n`)
      }
    }
    await Promise.all(Array.from({ length: WORLDS_AT_ONCE }, tellSome))
    if (failures.length > 0)
      throw new AggregateError(failures, `${failures.length} histories ended otherwise`)
  },
  60_000 + RUNS * 60_000,
)

test(
  `${KILLS} kills while signing and sending: each payout of every coin is paid once; books agree`,
  async () => {
    const random = seededRandom(FIRST_SEED)
    const world = await openWorld()
    try {
      const shops = await Promise.all(
        PAID.map(async (asset) => ({ asset, tenant: await world.openShop([]), owners: [] as string[] })),
      )
      await world.tracker().pass()
      const payouts: Payout[] = []
      const load = () =>
        Promise.all(payouts.map(({ merchantId, livemode, id }) => world.load({ merchantId, livemode }, id)))
      const rest = async () => {
        const alive = await world.startProcess()
        const isDone = async () => {
          await world.solana.mine(1)
          return (await load()).every(({ status }) => status === 'confirmed')
        }
        await until(isDone, { what: 'every payout is confirmed', timeoutMs: 120_000 })
        await alive.kill()
      }
      for (let kill = 0; kill < KILLS; kill++) {
        for (const { asset, tenant, owners } of shops)
          owners.push(await world.deposit(tenant, mostOf(asset), { asset }))
        await world.solana.mine(FINALIZED_LAG)
        for (const { asset, tenant } of shops) {
          const amount = formatCoinAmount((mostOf(asset) * 4n) / 5n, ASSETS[asset].decimals)
          payouts.push(await world.payout(tenant, amount, undefined, asset))
        }
        await killSometime(random, await world.startProcess(), MOMENTS_MAX, async () => {
          await world.solana.mine(1)
          await sleep(BLOCK_MS)
        })
        // Later than all that the killed one wrote.
        world.now = new Date(world.now.getTime() + 60_000)
        if (random.chance(0.3)) await world.solana.reorganise(1 + random.below(FINALIZED_LAG))
        if ((kill + 1) % KILLS_BEFORE_REST === 0) await rest()
      }
      await rest()
      await world.solana.mine(FINALIZED_LAG + 1)
      const paid = await load()
      for (const { asset, ...shop } of shops) {
        const own = paid.filter((payout) => payout.asset === asset)
        const total = mostOf(asset) * BigInt(KILLS)
        const of = { asset, shops: [{ ...shop, total }], payouts: own, before: 0n }
        await expectDone(world, { ...of, about: `killed, ${asset}` })
      }
    } finally {
      await world.close()
    }
  },
  180_000 + KILLS * 20_000,
)
