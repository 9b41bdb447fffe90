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
import { startPaylink } from './support/paylink.ts'
import { readProcessTree } from './support/process-tree.ts'

const CELLS = 10
const SETTLE_MS = 3_000
const REST_MS = Number(process.env.REST_SECONDS ?? 20) * 1_000
const PAYMENTS = Number(process.env.PAYMENTS ?? 20)
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

type Measured = {
  readonly restPerMinute: number
  readonly perBlock: number
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
    const [calls, processorMs, beganAt] = [proxy.calls.length, reader?.processorMs() ?? 0, performance.now()]
    await pause(REST_MS)
    const restMs = performance.now() - beganAt
    const restCalls = proxy.calls.length - calls
    const [before, bytesBefore, busyAt] = [proxy.calls.length, proxy.answeredBytes(), performance.now()]
    const detectedMs: number[] = []
    for (let payment = 0; payment < PAYMENTS; payment++) {
      const at = payment % cells.length
      detectedMs.push(await pay(family, chain, cells[at], watchers.slice(at, at + 1)))
      await pause(family.blockMs * (0.5 + Math.random()))
    }
    const busyMs = performance.now() - busyAt
    const more = proxy.calls.length - before - (restCalls * busyMs) / restMs
    return {
      restPerMinute: (restCalls * 60_000) / restMs,
      perBlock: more / PAYMENTS,
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
  const port = String(await freePort())
  const folder = await mkdtemp(join(tmpdir(), 'paylink-reader-'))
  const paylink = await startPaylink(['reader'], {
    ...{ PORT: port, READER_PORT: port, DATA_DIR: folder },
    [rpcSettingOf(network)]: proxy.url,
  })
  return {
    url: (cell: string) => `http://${cell}:@127.0.0.1:${port}/${network}/0`,
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
    const oneByReader = await measure(family, chain, cells.slice(0, 1), true)
    const ten = await measure(family, chain, cells, false)
    const tenByReader = await measure(family, chain, cells, true)
    const ratio = (of: (measured: Measured) => number, measured: Measured) =>
      (of(measured) / of(one)).toFixed(2)
    const each = [one, oneByReader, ten, tenByReader]
    const list = (of: (measured: Measured) => number, digits = 0) =>
      each.map((measured) => of(measured).toFixed(digits)).join(', ')
    printFigure({
      name: `${family.name}: calls that ten cells make by a reader ÷ those of one cell, at rest; more for a block`,
      target: '≤ 1.5',
      measured: `${ratio((of) => of.restPerMinute, tenByReader)}; ${ratio((of) => of.perBlock, tenByReader)}`,
      detail: [
        'one cell, one by a reader, ten, ten by a reader:',
        `calls a minute at rest ${list((of) => of.restPerMinute)};`,
        `more for a block and its payment ${list((of) => of.perBlock, 1)};`,
        `megabytes a block ${list((of) => of.megabytesPerBlock, 2)};`,
        `detected after ${list((of) => median(of.detectedMs))} ms, p95 ${list((of) => percentile(of.detectedMs, 0.95))};`,
        `processor of the reader ${list((of) => of.readerShare * 100, 1)} %`,
      ].join(' '),
    })
    expect(tenByReader.detectedMs).toHaveLength(PAYMENTS)
  } finally {
    for (const cell of cells) await cell.close()
    await chain.remove()
  }
})
