import { secp256k1 } from '@noble/curves/secp256k1.js'
import { p2wpkh } from '@scure/btc-signer'
import { expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { historiesOf, seedsByWorld, signerTurn } from '../support/payout-history.ts'
import { PayoutWorld } from '../support/payout-world.ts'
import { seededRandom } from '../support/random.ts'
import { startSandboxMoney } from '../support/sandbox-money.ts'
import { seedMerchant } from '../support/seed.ts'
import { REORG_MAX, UtxoHistory } from './utxo-history.ts'

const RUNS = historiesOf({ short: 10, long: 1_000 })
const STEPS = 16
const LTC = 100_000_000n
/** Blocks by which a payout is final: 24, and as many for what has to be given up. Each may wait for another one's change. */
const SETTLE_ROUNDS = 8
const SETTLE_BLOCKS = 6
const MINUTE_MS = 60_000
type Money = Awaited<ReturnType<typeof startSandboxMoney>>

async function step(history: UtxoHistory, world: PayoutWorld, random: ReturnType<typeof seededRandom>) {
  switch (random.below(16)) {
    case 0:
    case 1:
    case 2:
      return signerTurn(world, random)
    case 3:
    case 4:
    case 5:
      return history.look()
    case 6:
    case 7:
      return history.mine(1 + random.below(3))
    case 8:
    case 9:
    case 10:
      return history.read(true)
    case 11:
      return history.reorganise()
    case 12:
      return history.doubleSpend()
    case 13:
      return history.spendPaid()
    case 14:
      return history.request()
    default:
      world.now = new Date(world.now.getTime() + random.below(40) * MINUTE_MS)
      return world.database.owner.query(
        'update network_fee set milli_per_vbyte = $2, updated_at = $3 where network = $1',
        [world.network, 1_000 + random.below(4_000), world.now],
      )
  }
}

/** The faults have stopped: everybody does their work until nothing is under way. */
async function settle(history: UtxoHistory, world: PayoutWorld): Promise<void> {
  const tracker = world.tracker()
  const isUnderWay = async () => {
    const now = await Promise.all(history.payouts.map(({ id }) => world.load(history.tenant, id)))
    return now.some(({ status }) => status === 'approved' || status === 'submitted')
  }
  for (let round = 0; round < SETTLE_ROUNDS * (1 + history.payouts.length); round++) {
    await history.read()
    await world.sign()
    await tracker.pass()
    await world.sign()
    await tracker.pass()
    if (round > 1 && !(await isUnderWay())) return
    await history.mine(SETTLE_BLOCKS)
    world.now = new Date(world.now.getTime() + MINUTE_MS)
  }
}

async function judge(history: UtxoHistory, world: PayoutWorld, from: number): Promise<void> {
  const chain = await history.paidFrom(from)
  let sent = 0n
  for (const { id } of history.payouts) {
    const { status, amount, networkFee } = await world.load(history.tenant, id)
    const payee = history.payees.get(id)
    if (payee === undefined) throw new Error('no payee')
    const { script } = p2wpkh(secp256k1.getPublicKey(payee.key, true))
    const paid = chain.get(Buffer.from(script).toString('hex')) ?? []
    expect({ id, status, paid }).toEqual(
      status === 'confirmed'
        ? { id, status, paid: [amount - networkFee] }
        : { id, status: 'failed', paid: [] },
    )
    if (status === 'confirmed') sent += amount
  }
  const { rows } = await world.database.owner.query<{ sum: bigint | null }>(
    `select sum(amount)::numeric as sum from transfer where merchant_id = $1 and ledger_bucket = 'available'`,
    [history.tenant.merchantId],
  )
  const balances = await world.balances(history.tenant)
  const { available = 0n, shortfall = 0n, reserved = 0n } = balances
  expect(reserved).toBe(0n)
  expect(available + shortfall).toBe(BigInt(rows[0]?.sum ?? 0) - sent)
  expect(await world.coinsOnChain(history.tenant)).toBe(available + shortfall)
  expect(world.logged.filter((line) => line.includes('contradicts'))).toEqual([])
}

/** Which endings there were: a campaign in which nothing happens shows nothing. */
async function tellOutcomes({ database }: PayoutWorld): Promise<void> {
  const { rows } = await database.owner.query<{ outcome: string; count: number }>(
    `select coalesce(failure_code, status) as outcome, count(*)::integer as count from payout group by 1
     union all select 'deposits ' || status, count(*)::integer from transfer group by 1
     union all select 'transactions of payouts', count(*)::integer from payout_transaction
     union all select 'shortfalls', count(*)::integer from ledger_transfer where kind = 'shortfall' order by 1`,
  )
  process.stdout.write(`${rows.map(({ outcome, count }) => `${outcome}: ${count}`).join(', ')}\n`)
}

async function runHistory(world: PayoutWorld, money: Money, seed: number): Promise<void> {
  const random = seededRandom(seed)
  // What was confirmed in an earlier history is no longer looked after.
  world.now = new Date(world.now.getTime() + 25 * 60 * MINUTE_MS)
  world.logged.length = 0
  await money.mine(30)
  const { height } = await world.watch()
  await world.tracker().pass()
  const tenant = await seedMerchant(world.database)
  const history = new UtxoHistory({ world, client: money.sandbox.client, random, tenant })
  await history.open()
  try {
    for (let count = 1 + random.below(3); count > 0; count--) {
      await history.pay(LTC / BigInt(1 + random.below(20)))
      if (random.chance(0.5)) await history.mine(1)
    }
    if (random.chance(0.5)) await history.flood()
    await history.mine(2)
    await history.read()
    await history.request()
    for (let count = 0; count < STEPS; count++) await step(history, world, random)
    await settle(history, world)
    // A fork may begin below the history's own blocks, and has their payments in its first.
    await judge(history, world, height + 1 - REORG_MAX)
  } finally {
    await history.close()
  }
}

test.each(seedsByWorld(RUNS).map((seeds) => ({ seeds, first: seeds[0] })))(
  'whatever a chain of coins does, every payout is paid at most once and none is stuck (seeds from $first)',
  async ({ seeds }) => {
    const money = await startSandboxMoney()
    const world = await PayoutWorld.open(money, 'test')
    try {
      const failed: string[] = []
      for (const seed of seeds) {
        try {
          await runHistory(world, money, seed)
        } catch (error) {
          failed.push(`seed ${seed}: ${error instanceof Error ? error.stack : error}`)
          // By itself it runs with `PAYOUT_SEED` and `PAYOUT_RUNS=1`.
          process.stdout.write(`${failed.at(-1)}\n`)
        }
      }
      await tellOutcomes(world)
      expect(failed).toEqual([])
      // As the filler leaves it: the next index is no address's.
      await world.database.owner.query('update account_key set next_index = next_index + 1')
      const broken = (await runAudit(world.database.owner, [])).filter(({ findings }) => findings.length > 0)
      expect(broken).toEqual([])
    } finally {
      await world.close()
      await money.remove()
    }
  },
  RUNS * 30_000,
)
