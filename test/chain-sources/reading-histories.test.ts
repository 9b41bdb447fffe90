import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { BlockHistory } from '../../src/chain/adapter.ts'
import { EvmAdapter, type EvmAdapterOptions } from '../../src/chain/evm/evm-adapter.ts'
import { ProgramSet } from '../../src/chain/program-set.ts'
import { historyOf } from '../../src/chain/utxo/block-source.ts'
import { openBlocks } from '../../src/chain/utxo/open-provider.ts'
import { systemClock } from '../../src/clock.ts'
import { rescanBlocks } from '../../src/watcher/rescan.ts'
import type { ChainDriver } from '../support/chain-driver.ts'
import { evmDriver } from '../support/evm-driver.ts'
import { type Random, seededRandom } from '../support/random.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { sandboxDriver } from '../support/sandbox-driver.ts'
import { type OpenInvoice, WatchedChain } from '../support/watched-chain.ts'
import type { Watching } from '../support/watched-network.ts'

const LONG = process.env.LONG === '1'
const HISTORIES = LONG ? 1_000 : 3
const STEPS = 12
const TIMEOUT_MS = LONG ? 6 * 3_600_000 : 180_000
const ANSWER_MS_MAX = 2_000

/** A reader of blocks of its own, that somebody else's watcher knows nothing of. */
type OpenHistory = (url: string, programs: ProgramSet) => { history: BlockHistory; close(): Promise<void> }

const utxoHistory: OpenHistory = (url, programs) => {
  const provider = openBlocks(url, 'TEST_LITECOIN_RPC_URL', programs)
  return { history: historyOf(provider.blocks, 'LTC'), close: () => provider.close() }
}

const FAMILIES: readonly { driver: ChainDriver; open: OpenHistory | 'adapter'; stalls: string[] }[] = [
  { driver: sandboxDriver, open: utxoHistory, stalls: [] },
  {
    driver: evmDriver('ETH', { answerMsMax: ANSWER_MS_MAX }),
    open: 'adapter',
    stalls: ['debug_traceBlockByHash'],
  },
]

describe.each(FAMILIES)('$driver.title', ({ driver, open, stalls }) => {
  let watched: WatchedChain
  let proxy: RpcProxy
  let watcher: Watching
  beforeAll(async () => {
    watched = await WatchedChain.open(driver)
    proxy = await startRpcProxy(watched.chain.url)
  })
  afterEach(() => watched.stopWatchers())
  afterAll(async () => {
    await proxy.close()
    await watched.close()
  })

  const programs = new ProgramSet()

  async function watchAgain(): Promise<void> {
    await watched.stopWatchers()
    watcher = watched.watch({ adapter: watched.chain.adapter(proxy.url) })
    const { rows } = await watched.database.owner.query<{ program: Buffer }>(
      'select program from deposit_address',
    )
    watcher.adapter.watched.add(rows.map(({ program }) => program))
    programs.add(rows.map(({ program }) => program))
  }

  /** Reads the newest blocks again; what it read is out of date by the time it records it. */
  async function rescanWhile(happen: () => Promise<void>): Promise<void> {
    const { height, hash } = await watched.state()
    if (height === null || hash === null) return
    const own = openOwn()
    let happened = false
    const { history } = own
    const stale: BlockHistory = {
      hashAt: (at) => history.hashAt(at),
      readFrom: (from, count) => history.readFrom(from, count),
      isOnChain: async (block) => {
        const answer = await history.isOnChain(block)
        if (!happened) await happen()
        happened = true
        return answer
      },
    }
    try {
      await rescanBlocks({
        pool: watched.database.owner,
        clock: systemClock,
        network: driver.network,
        blocks: stale,
        from: Math.max(1, height - 4),
        to: height,
        checkpoint: { height, hash },
        mustAgree: driver.settlesLater,
        readTwice: [],
        strangers: new Map(),
        notifier: { invoiceChanged: () => {}, deliveriesWaiting: () => {} },
        onBatch: () => {},
      })
    } finally {
      await own.close()
    }
  }

  function openOwn(): ReturnType<OpenHistory> {
    if (open !== 'adapter') return open(watched.chain.url, programs)
    const options = watched.chain.recipe.options as EvmAdapterOptions
    const adapter = new EvmAdapter({
      ...options,
      clock: systemClock,
      watched: programs,
      nativeMode: 'traces',
    })
    return { history: adapter, close: () => adapter.close() }
  }

  async function pay(invoices: OpenInvoice[], txids: string[]): Promise<void> {
    const invoice = await watched.openInvoice([watcher])
    const { rows } = await watched.database.owner.query<{ program: Buffer }>(
      'select program from deposit_address where invoice_id = $1',
      [invoice.id],
    )
    programs.add(rows.map(({ program }) => program))
    invoices.push(invoice)
    txids.push(await watched.chain.pay(invoice.address, driver.amount))
  }

  async function step(random: Random, invoices: OpenInvoice[], txids: string[]): Promise<void> {
    const move = async () => {
      const depth = 1 + random.below(3)
      if (random.chance(0.5)) await watched.chain.reorganise(depth)
      else await watched.chain.mine(1 + random.below(2))
    }
    switch (random.below(7)) {
      case 0:
      case 1:
        await pay(invoices, txids)
        return
      case 2:
        return move()
      case 3:
        return rescanWhile(move)
      case 4:
        return watchAgain()
      case 5:
        // The lead goes to whoever is quicker, and its last holder has not noticed yet.
        await watched.database.owner.query(
          'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1',
          [`paylink-watcher-${driver.network}`],
        )
        return
      default:
        proxy.tellTheTruth()
        if (random.chance(0.5)) for (const method of stalls) proxy.stall(method)
        if (random.chance(0.3)) proxy.refuseEvery(3)
    }
  }

  test(`in ${HISTORIES} histories of stale readers, faults and forks each payment counts once`, {
    timeout: TIMEOUT_MS,
  }, async () => {
    const first = Number(process.env.SEED ?? 20_261_122)
    for (let seed = first; seed < first + HISTORIES; seed++) {
      const random = seededRandom(seed)
      await watched.stopWatchers()
      watcher = await watched.watchAtTip({ adapter: watched.chain.adapter(proxy.url) })
      const before = await watched.availableBalance()
      const [invoices, txids]: [OpenInvoice[], string[]] = [[], []]
      try {
        for (let count = 0; count < STEPS; count++) await step(random, invoices, txids)
        proxy.tellTheTruth()
        await watched.chain.mine(6)
        for (const { id } of invoices) {
          await watched.untilStatus(id, 'paid')
          const { rows } = await watched.database.owner.query(
            `select from transfer where invoice_id = $1 and status in ('detected', 'confirming', 'confirmed')`,
            [id],
          )
          expect(rows).toHaveLength(1)
          expect(await watched.eventsOf(id)).not.toContain('expired')
        }
        await watched.untilRead()
        expect(await watched.availableBalance()).toBe(before + BigInt(invoices.length) * driver.amount)
        expect((await watched.state()).status).toBe('ok')
      } catch (error) {
        throw new Error(`the history with SEED=${seed} failed`, { cause: error })
      }
    }
  })
})
