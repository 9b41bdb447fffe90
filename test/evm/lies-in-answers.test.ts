import { setTimeout as pause } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import type { NativeMode } from '../../src/chain/evm/block-reader.ts'
import { EvmAdapter } from '../../src/chain/evm/evm-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { startAnvil } from '../support/anvil.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { callData } from '../support/evm-contracts.ts'
import { EvmWorkload } from '../support/evm-workload.ts'
import { type Random, seededRandom } from '../support/random.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'
import { type Watching, watchWith } from '../support/watched-network.ts'

const IS_LONG = process.env.LONG === '1'
const SEED = Number(process.env.SEED ?? 20_261_126)
const RUNS = Number(process.env.LYING_RUNS ?? (IS_LONG ? 100 : 1))
const STEPS = 30
const STEP_MS_MAX = 300
/** Until everything is final, whose marks anvil puts two blocks behind its tip. */
const BLOCKS_AT_LAST = 6
/** The database is cut off after each so many changes of an invoice. */
const CUT_EACH = 7
const HOUR_MS = 3_600_000
const BOOKED_MS_MAX = 90_000
/** Longer than what a history waits for, so that a wait that is in vain says what for. */
const TIMEOUT_MS = 60_000 + RUNS * 3 * BOOKED_MS_MAX
/** Beyond dust, in ether as in the token. */
const UNIT = 10n ** 13n
const SETTING = 'TEST_BASE_RPC_URL'

test.each(['balances', 'traces'] as const)(
  `answers that are wrong inside leave the books as the chain is, read by %s, ${RUNS} histories`,
  async (mode) => {
    for (let seed = SEED; seed < SEED + RUNS; seed++) await play(mode, seed)
  },
  TIMEOUT_MS,
)

async function play(mode: NativeMode, seed: number): Promise<void> {
  const world = await World.open(mode, seededRandom(seed))
  try {
    await world.play()
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`the history with SEED=${seed} failed: ${why}`, { cause: error })
  } finally {
    await world.close()
  }
}

/** A chain of payments of every kind, invoices of two merchants, watchers, and a node between them that errs. */
class World {
  readonly #random: Random
  readonly #mode: NativeMode
  readonly #workload: EvmWorkload
  readonly #proxy: RpcProxy
  readonly #database: TestDatabase
  /** Merchants by the address (hex) of their invoices. */
  readonly #owners = new Map<string, string>()
  #watchers: Watching[] = []
  #recorded = 0

  private constructor(
    mode: NativeMode,
    random: Random,
    parts: { workload: EvmWorkload; proxy: RpcProxy; database: TestDatabase },
  ) {
    this.#mode = mode
    this.#random = random
    this.#workload = parts.workload
    this.#proxy = parts.proxy
    this.#database = parts.database
  }

  static async open(mode: NativeMode, random: Random): Promise<World> {
    const anvil = await startAnvil()
    const workload = await EvmWorkload.start(anvil, random)
    workload.amount = () => UNIT * BigInt(1 + random.below(50))
    const parts = { workload, proxy: await startRpcProxy(anvil.url), database: await createTestDatabase() }
    return new World(mode, random, parts)
  }

  async close(): Promise<void> {
    await this.#stop()
    await this.#proxy.close()
    await this.#workload.anvil.remove()
    await this.#database.drop()
  }

  async play(): Promise<void> {
    const { anvil } = this.#workload
    this.#watch()
    await this.#openInvoices()
    await vi.waitFor(async () => expect(await this.#states()).toMatchObject([{ status: 'ok' }]), {
      timeout: BOOKED_MS_MAX,
    })
    for (let count = 0; count < STEPS; count++) {
      await this.#step()
      await pause(this.#random.below(STEP_MS_MAX))
    }
    this.#proxy.tellTheTruth()
    await anvil.mine(BLOCKS_AT_LAST)
    await vi.waitFor(async () => expect(await this.#booked()).toEqual(await this.#held()), {
      timeout: BOOKED_MS_MAX,
    })
    await vi.waitFor(async () => expect(await this.#states()).toEqual([{ status: 'ok', reason: null }]), {
      timeout: BOOKED_MS_MAX,
    })
    await this.#stop()
    expect(await this.#findings()).toEqual([])
  }

  async #step(): Promise<void> {
    switch (this.#random.below(8)) {
      case 0:
        return this.#workload.reorganise()
      case 1:
        this.#proxy.tellTheTruth()
        return this.#err()
      case 2:
        return this.#err()
      case 3:
        return this.#cutDatabase()
      case 4:
        if (this.#random.chance(0.5)) await this.#stop()
        return this.#watch()
      case 5:
        return this.#proxy.tellTheTruth()
      default:
        return this.#workload.block()
    }
  }

  #err(): void {
    const random = this.#random
    const method = random.pick(['eth_getBlockReceipts', 'eth_getLogs', 'debug_traceBlockByHash'])
    const isInside = method === 'eth_getBlockReceipts' && random.chance(0.6)
    this.#proxy.lie(method, (told) => {
      if (!Array.isArray(told) || told.length === 0) return told
      return isInside ? otherReceipts(random, told) : otherList(random, told)
    })
  }

  async #cutDatabase(): Promise<void> {
    await this.#database.owner.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and usename = $1`,
      [new URL(this.#database.urls.watcher).username],
    )
  }

  /** One more watcher, which leads once no other does. */
  #watch(): void {
    const { addresses, contracts } = this.#workload
    const adapter = new EvmAdapter({
      chain: 'base',
      livemode: false,
      setting: SETTING,
      url: this.#proxy.url,
      clock: systemClock,
      tokenContracts: { USDC: contracts.token.contract },
      nativeMode: this.#mode,
      openAddresses: async () => addresses,
      probeIntervalMs: 30,
    })
    adapter.watched.add(addresses)
    // Cut off between a block's payments and the checkpoint, a watcher reads the block again, and may be told otherwise.
    const invoiceChanged = () => {
      this.#recorded += 1
      if (this.#recorded % CUT_EACH === 0) void this.#cutDatabase()
    }
    const notifier = { invoiceChanged, deliveriesWaiting: () => {} }
    this.#watchers.push(watchWith(this.#database, adapter, { notifier }))
  }

  async #stop(): Promise<void> {
    for (const watcher of this.#watchers) {
      await watcher.stop()
      await watcher.adapter.close()
    }
    this.#watchers = []
  }

  async #openInvoices(): Promise<void> {
    const tenants = [await seedMerchant(this.#database), await seedMerchant(this.#database)]
    for (const addressBytes of this.#workload.addresses) {
      const tenant = this.#random.pick(tenants)
      const asset = this.#random.pick(['ETH_BASE', 'USDC_BASE'] as const)
      const now = Date.now()
      const address = `0x${addressBytes.toString('hex')}`
      const terms = { createdAtMs: now, expiresAtMs: now + HOUR_MS, asset, amount: 30n * UNIT, address }
      const confirmations = { [asset]: 1 }
      await seedInvoice(this.#database, tenant, { ...terms, confirmations }, addressBytes)
      this.#owners.set(addressBytes.toString('hex'), tenant.merchantId)
    }
  }

  async #states(): Promise<unknown[]> {
    return (await this.#database.owner.query('select status, reason from network_state')).rows
  }

  /** What is final, by merchant and asset. */
  async #booked(): Promise<Record<string, bigint>> {
    const { rows } = await this.#database.owner.query<{ merchant_id: string; asset: string; sum: bigint }>(
      `select merchant_id, asset, sum(balance) as sum from ledger_balance
       where account in ('available', 'suspense') group by 1, 2`,
    )
    return withoutZero(rows.map(({ merchant_id, asset, sum }) => [`${merchant_id} ${asset}`, BigInt(sum)]))
  }

  /** What the addresses of their invoices hold on the chain. */
  async #held(): Promise<Record<string, bigint>> {
    const { anvil, contracts } = this.#workload
    const { contract } = contracts.token
    const held: [string, bigint][] = []
    for (const [addressBytes, merchantId] of this.#owners) {
      const address = `0x${addressBytes}`
      const call = { to: contract, data: callData('balanceOf(address)', address) }
      const ether = await anvil.rpc<string>('eth_getBalance', [address, 'latest'])
      held.push([`${merchantId} ETH_BASE`, BigInt(ether)])
      held.push([`${merchantId} USDC_BASE`, BigInt(await anvil.rpc<string>('eth_call', [call, 'latest']))])
    }
    return withoutZero(held)
  }

  async #findings(): Promise<string[]> {
    const { anvil, contracts } = this.#workload
    const place = { network: 'base-test', chain: 'base', livemode: false } as const
    const node = {
      rpcUrl: anvil.url,
      rpcSetting: SETTING,
      tokenContracts: { USDC: contracts.token.contract },
    }
    const none = { furtherUrls: [], zmqUrl: null, sandbox: null }
    const results = await runAudit(this.#database.owner, [{ ...place, ...node, ...none }])
    return results.flatMap(({ name, findings }) => findings.map((each) => `${name}: ${JSON.stringify(each)}`))
  }
}

function withoutZero(amounts: readonly (readonly [string, bigint])[]): Record<string, bigint> {
  const sums = new Map<string, bigint>()
  for (const [key, amount] of amounts) if (amount !== 0n) sums.set(key, (sums.get(key) ?? 0n) + amount)
  return Object.fromEntries(sums)
}

/** A list as a node may send it by mistake: of another block, cut off, in another order, twice, or in capitals. */
function otherList(random: Random, list: readonly object[]): unknown {
  switch (random.below(9)) {
    case 0:
      return list.toReversed()
    case 1:
      return list.slice(0, list.length >>> 1)
    case 2:
      return list.flatMap((each) => (random.chance(0.5) ? [each, each] : [each]))
    case 3:
      return list.map((each) => ({ ...each, removed: true }))
    case 4:
      return null
    case 5:
      return []
    case 6:
      return JSON.parse(
        JSON.stringify(list).replace(/0x[0-9a-f]+/g, (hex) => `0x${hex.slice(2).toUpperCase()}`),
      )
    case 7:
      return list.map((each) => ({ ...each, blockHash: `0x${'ab'.repeat(32)}` }))
    default:
      return list.map((each, index) => (index === list.length >>> 1 ? {} : each))
  }
}

type Receipt = { readonly status: string; readonly logs: readonly object[] }

/** Receipts of the right transactions, some of which say what did not happen. */
function otherReceipts(random: Random, receipts: readonly Receipt[]): Receipt[] {
  const way = random.below(5)
  return receipts.map((receipt) => (random.chance(0.5) ? receipt : otherReceipt(way, receipt)))
}

function otherReceipt(way: number, receipt: Receipt): Receipt & { readonly gasUsed?: string } {
  const { status, logs } = receipt
  switch (way) {
    case 0:
      return { ...receipt, logs: logs.flatMap((log) => [log, log]) }
    case 1:
      return { ...receipt, logs: logs.slice(1) }
    case 2:
      return { ...receipt, status: status === '0x1' ? '0x0' : '0x1' }
    case 3:
      return { ...receipt, gasUsed: '0x1' }
    default:
      return {
        ...receipt,
        logs: logs.map((log) => ({ ...log, data: `0x${UNIT.toString(16).padStart(64, '0')}` })),
      }
  }
}
