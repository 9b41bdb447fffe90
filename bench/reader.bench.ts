import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { ChainAdapter } from '../src/chain/adapter.ts'
import { EvmAdapter, type EvmAdapterOptions } from '../src/chain/evm/evm-adapter.ts'
import { SolanaAdapter } from '../src/chain/solana/solana-adapter.ts'
import { UtxoAdapter } from '../src/chain/utxo/utxo-adapter.ts'
import type { Network } from '../src/core/assets.ts'
import { evmNetworkOf } from '../src/core/chain/evm-networks.ts'
import { SOLANA_PROBE_MS, UTXO_PROBE_MS } from '../src/core/chain/probe-pauses.ts'
import { rpcSettingOf } from '../src/nodes/chain-nodes.ts'
import { systemClock } from '../src/runtime/clock.ts'
import type { ChainDriver, DrivenChain } from '../test/support/chain-driver.ts'
import { evmDriver } from '../test/support/evm-driver.ts'
import { freePort } from '../test/support/free-port.ts'
import { type RpcProxy, startRpcProxy } from '../test/support/rpc-proxy.ts'
import { solanaDriver } from '../test/support/solana-driver.ts'
import { utxoDriver } from '../test/support/utxo-driver.ts'
import { WatchedChain } from '../test/support/watched-chain.ts'
import type { Watching } from '../test/support/watched-network.ts'
import { median, percentile, printFigure } from './support/figure.ts'
import { numberOf } from './support/number-of.ts'
import { startPaylink } from './support/paylink.ts'
import { readProcessTree } from './support/process-tree.ts'

const CELLS = 10
const SETTLE_MS = 3_000
const REST_MS = numberOf('REST_SECONDS', 20) * 1_000
const PAYMENTS = numberOf('PAYMENTS', 20)
const DETECTED_MS_MAX = 60_000
const LOOK_MS = 5

type Options<Adapter extends new (...args: never[]) => unknown> = ConstructorParameters<Adapter>[0]
type Family = {
  readonly name: string
  readonly driver: ChainDriver
  /** The network at whose pace cells look, and by whose path they read. */
  readonly pace: Network
  readonly adapter: (options: object, rpcUrl: string) => ChainAdapter
  readonly pollIntervalMs: number
  /** Between a payment's block and the next one; null: payments are seen before. */
  readonly blockMs: number
}

const baseProbeMs = evmNetworkOf('base').probeIntervalMs
const FAMILIES: readonly Family[] = [
  {
    name: 'litecoind',
    driver: utxoDriver('litecoin'),
    pace: 'litecoin-test',
    adapter: (options, rpcUrl) =>
      new UtxoAdapter({
        ...(options as Options<typeof UtxoAdapter>),
        ...{ rpcUrl, probeIntervalMs: UTXO_PROBE_MS.alone, clock: systemClock },
      }),
    pollIntervalMs: 1_000,
    blockMs: 2_000,
  },
  {
    name: 'anvil at the pace of Base',
    driver: evmDriver('ETH_BASE'),
    pace: 'base-live',
    adapter: (options, url) =>
      new EvmAdapter({
        ...(options as EvmAdapterOptions),
        ...{ url, probeIntervalMs: baseProbeMs, clock: systemClock },
      }),
    pollIntervalMs: 4_000,
    blockMs: 2_000,
  },
  {
    name: 'the Solana sandbox, by blocks',
    driver: solanaDriver('blocks'),
    pace: 'solana-test',
    adapter: (options, rpcUrl) =>
      new SolanaAdapter({
        ...(options as Options<typeof SolanaAdapter>),
        ...{ rpcUrl, probeIntervalMs: SOLANA_PROBE_MS, clock: systemClock },
      }),
    pollIntervalMs: 1_000,
    blockMs: 1_200,
  },
]

/** What cells asked, and what of it came to the node. */
type Counts = { readonly asked: number; readonly atNode: number }
type Measured = {
  readonly rest: Counts
  readonly restMs: number
  /** With a payment and a block now and then. */
  readonly busy: Counts
  readonly megabytesPerBlock: number
  readonly detectedMs: readonly number[]
  readonly readerShare: number
}

const MEGABYTE = 1024 * 1024

/** What so many cells ask the node, at rest and with a payment and a block now and then. */
async function measure(
  family: Family,
  chain: DrivenChain,
  cells: readonly WatchedChain[],
  withReader: boolean,
): Promise<Measured> {
  const proxy = await startRpcProxy(chain.url)
  const reader = withReader ? await openReader(family.pace, proxy) : null
  try {
    const watchers = await Promise.all(
      cells.map(async (cell, index) => {
        const url = reader?.url(`cell-${index}`) ?? proxy.url
        // Cells do not start at the same moment.
        await pause(Math.random() * family.pollIntervalMs)
        const changes = { pollIntervalMs: family.pollIntervalMs, upkeepIntervalMs: 1_000 }
        return cell.watchAtTip({ adapter: family.adapter(chain.recipe.options, url), changes })
      }),
    )
    await pause(SETTLE_MS)
    const counts = async (): Promise<Counts> => {
      const atNode = proxy.calls.length
      return { atNode, asked: atNode + ((await reader?.sharedAnswers()) ?? 0) }
    }
    const [before, processorMs, beganAt] = [await counts(), reader?.processorMs() ?? 0, performance.now()]
    await pause(REST_MS)
    const restMs = performance.now() - beganAt
    const [rested, bytesBefore] = [await counts(), proxy.answeredBytes()]
    const detectedMs: number[] = []
    for (let payment = 0; payment < PAYMENTS; payment++) {
      const at = payment % cells.length
      detectedMs.push(await pay(family, chain, cells[at], watchers.slice(at, at + 1)))
      await pause(family.blockMs * (0.5 + Math.random()))
    }
    const between = (first: Counts, last: Counts): Counts => ({
      asked: last.asked - first.asked,
      atNode: last.atNode - first.atNode,
    })
    return {
      rest: between(before, rested),
      restMs,
      busy: between(rested, await counts()),
      megabytesPerBlock: (proxy.answeredBytes() - bytesBefore) / MEGABYTE / PAYMENTS,
      detectedMs,
      readerShare: ((reader?.processorMs() ?? 0) - processorMs) / (performance.now() - beganAt),
    }
  } finally {
    await Promise.all(cells.map((cell) => cell.stopWatchers()))
    await reader?.stop()
    await proxy.close()
  }
}

/** Pays an invoice of a cell and mines a block; how long it took until the cell had seen it. */
async function pay(
  { driver }: Family,
  chain: DrivenChain,
  cell: WatchedChain | undefined,
  watchers: readonly Watching[],
): Promise<number> {
  if (cell === undefined) throw new Error('there is no cell')
  const invoice = await cell.openInvoice(watchers)
  const paidAt = performance.now()
  await chain.pay(invoice.address, driver.amount)
  const sentAt = driver.seesWaiting ? performance.now() : await mined(chain)
  while ((await cell.statusOf(invoice.id)) === 'awaiting_payment') {
    if (performance.now() - paidAt > DETECTED_MS_MAX) throw new Error('the payment was not seen')
    await pause(LOOK_MS)
  }
  const detectedMs = performance.now() - sentAt
  if (driver.seesWaiting) await chain.mine(1)
  return detectedMs
}

async function mined(chain: DrivenChain): Promise<number> {
  await chain.mine(1)
  return performance.now()
}

async function openReader(network: Network, proxy: RpcProxy) {
  const [port, operatorPort] = [String(await freePort()), String(await freePort())]
  const folder = await mkdtemp(join(tmpdir(), 'paylink-reader-'))
  const paylink = await startPaylink(['reader'], {
    ...{ PORT: port, READER_PORT: port, DATA_DIR: folder, OPERATOR_PORT: operatorPort },
    [rpcSettingOf(network)]: proxy.url,
  })
  return {
    url: (cell: string) => `http://${cell}:@127.0.0.1:${port}/${network}/0`,
    sharedAnswers: async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${operatorPort}/metrics`)).text()
      return Number(/^paylink_reader_shared_answers\{.*\} (\d+)$/m.exec(metrics)?.[1])
    },
    processorMs: () => readProcessTree(paylink.pid)[0]?.processorMs ?? 0,
    stop: async () => {
      await paylink.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

test.each(FAMILIES)('what ten cells ask $name, with a reader and without', async (family) => {
  const chain = await family.driver.start()
  const shared = Object.create(chain, { remove: { value: async () => {} } }) as DrivenChain
  const cells: WatchedChain[] = []
  try {
    for (let cell = 0; cell < CELLS; cell++)
      cells.push(await WatchedChain.open({ ...family.driver, start: async () => shared }))
    const one = await measure(family, chain, cells.slice(0, 1), false)
    const ten = await measure(family, chain, cells, false)
    const tenByReader = await measure(family, chain, cells, true)
    // Of the same run, since what one cell asks in a minute depends on what else the machine does.
    const ratio = ({ asked, atNode }: Counts) => ((atNode * CELLS) / asked).toFixed(2)
    const list = (of: (measured: Measured) => number, digits = 0) =>
      [one, ten, tenByReader].map((measured) => of(measured).toFixed(digits)).join(', ')
    printFigure({
      name: `${family.name}: calls of ten cells that come to the node by a reader ÷ what one of them asks, at rest; with blocks`,
      target: '≤ 1.5',
      measured: `${ratio(tenByReader.rest)}; ${ratio(tenByReader.busy)}`,
      detail: [
        'one cell, ten, ten by a reader:',
        `calls at the node a minute at rest ${list(({ rest, restMs }) => (rest.atNode * 60_000) / restMs)};`,
        `calls for a block with its payment and the time until the next ${list(({ busy }) => busy.atNode / PAYMENTS)};`,
        `megabytes ${list((of) => of.megabytesPerBlock, 2)};`,
        `detected after ${list((of) => median(of.detectedMs))} ms, p95 ${list((of) => percentile(of.detectedMs, 0.95))};`,
        `processor of the reader ${(tenByReader.readerShare * 100).toFixed(1)} %`,
      ].join(' '),
    })
    expect(tenByReader.detectedMs).toHaveLength(PAYMENTS)
  } finally {
    for (const cell of cells) await cell.close()
    await chain.remove()
  }
})
