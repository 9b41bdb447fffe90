import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { EVM_CHAINS, type EvmChain } from '../src/core/chain/evm-networks.ts'
import { type Anvil, newEvmAddress, startAnvil } from '../test/support/anvil.ts'
import { createTestDatabase, type TestDatabase } from '../test/support/database.ts'
import { freePort } from '../test/support/free-port.ts'
import { type RpcProxy, startRpcProxy } from '../test/support/rpc-proxy.ts'
import { printFigure } from './support/figure.ts'
import { numberOf } from './support/number-of.ts'
import { type Paylink, startPaylink } from './support/paylink.ts'
import { memoryOfAll, readProcessTree } from './support/process-tree.ts'

const MEASURED_MS = numberOf('NETWORK_SECONDS', 60) * 1_000
const SETTLE_MS = 30_000
const MEGABYTE = 1024 * 1024

/** Blocks as the main chains have them, about: pause between two, and plain transfers in each. */
const MAINNET: { readonly [chain in EvmChain]: { readonly everyMs: number; readonly transactions: number } } =
  {
    ethereum: { everyMs: 12_000, transactions: 200 },
    base: { everyMs: 200, transactions: 30 },
    arbitrum: { everyMs: 250, transactions: 8 },
    polygon: { everyMs: 2_000, transactions: 100 },
  }

type Node = { readonly chain: EvmChain; readonly anvil: Anvil; readonly proxy: RpcProxy }

/** What a process and its networks used in a time. */
type Used = { readonly share: number; readonly memoryMb: number; readonly elapsedMs: number }

async function startWatching(
  database: TestDatabase,
  folder: string,
  nodes: readonly Node[],
): Promise<Paylink> {
  const urls = nodes.map(({ chain, proxy }) => [`TEST_${chain.toUpperCase()}_RPC_URL`, proxy.url] as const)
  return startPaylink(['api', 'watcher'], {
    DATABASE_URL: database.ownerUrl,
    API_DATABASE_URL: database.urls.api,
    WATCHER_DATABASE_URL: database.urls.watcher,
    LOG_LEVEL: 'fatal',
    DATA_DIR: folder,
    PORT: String(await freePort()),
    ...Object.fromEntries(urls),
  })
}

/** What the watcher uses while `meanwhile` goes on, its sandbox's own anvils left out. */
async function measure(paylink: Paylink, meanwhile: () => Promise<unknown>): Promise<Used> {
  const figures = () => readProcessTree(paylink.pid).filter(({ pid }) => pid === paylink.pid)
  const before = figures()[0]
  const beganAt = performance.now()
  await meanwhile()
  const elapsedMs = performance.now() - beganAt
  const after = figures()
  const share = ((after[0]?.processorMs ?? 0) - (before?.processorMs ?? 0)) / elapsedMs
  return { share, memoryMb: memoryOfAll(after) / MEGABYTE, elapsedMs }
}

/** Makes blocks at the main chain's rate; how many there were. */
async function makeBlocks({ chain, anvil }: Node): Promise<number> {
  const { everyMs, transactions } = MAINNET[chain]
  const { address } = newEvmAddress()
  const accounts = await anvil.rpc<string[]>('eth_accounts')
  const endsAt = performance.now() + MEASURED_MS
  let blocks = 0
  while (performance.now() < endsAt) {
    const nextAt = performance.now() + everyMs
    const sends = accounts.slice(0, transactions).map((from, id) => {
      const call = { from, to: address, value: '0x1', gas: '0x5208' }
      return { jsonrpc: '2.0', id, method: 'eth_sendTransaction', params: [call] }
    })
    const block = { jsonrpc: '2.0', id: sends.length, method: 'evm_mine', params: [] }
    const headers = { 'content-type': 'application/json' }
    await fetch(anvil.url, { method: 'POST', headers, body: JSON.stringify([...sends, block]) })
    blocks += 1
    await pause(Math.max(0, nextAt - performance.now()))
  }
  return blocks
}

test('networks of Ethereum’s kind at rest, and with blocks as the main chains have them', async () => {
  const database = await createTestDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'paylink-networks-'))
  const nodes: Node[] = []
  for (const chain of EVM_CHAINS) {
    const anvil = await startAnvil()
    await anvil.mine(2)
    nodes.push({ chain, anvil, proxy: await startRpcProxy(anvil.url) })
  }
  const ran = async (followed: readonly Node[], work: (paylink: Paylink) => Promise<void>) => {
    const paylink = await startWatching(database, folder, followed)
    await pause(SETTLE_MS)
    await work(paylink).finally(() => paylink.stop())
  }
  const percent = (share: number) => `${(share * 100).toFixed(2)} %`
  try {
    let none: Used | undefined
    await ran([], async (paylink) => {
      none = await measure(paylink, () => pause(MEASURED_MS))
    })
    await ran(nodes, async (paylink) => {
      const callsBefore = nodes.map(({ proxy }) => proxy.requests())
      const rest = await measure(paylink, () => pause(MEASURED_MS))
      const added = (value: (used: Used) => number) => (value(rest) - (none ? value(none) : 0)) / nodes.length
      const calls = nodes.map(
        ({ chain, proxy }, at) =>
          `${chain} ${((proxy.requests() - (callsBefore[at] ?? 0)) / (rest.elapsedMs / 60_000)).toFixed(0)}`,
      )
      printFigure({
        name: 'Each of four networks of Ethereum’s kind at rest: share of a core, memory',
        target: '≤ 1 %, ≤ 15 MB',
        measured: `${percent(added((used) => used.share))}, ${added((used) => used.memoryMb).toFixed(1)} MB`,
        detail: `the watcher without them ${percent(none?.share ?? 0)}, ${none?.memoryMb.toFixed(0)} MB; requests a minute: ${calls.join(', ')}`,
      })
      for (const node of nodes) {
        const { chain, proxy } = node
        const [requests, bytes] = [proxy.requests(), proxy.answeredBytes()]
        let blocks = 0
        const busy = await measure(paylink, async () => {
          blocks = await makeBlocks(node)
        })
        expect(blocks).toBeGreaterThan(0)
        const perMinute = busy.elapsedMs / 60_000
        printFigure({
          name: `${chain}: a block of ${MAINNET[chain].transactions} transfers every ${MAINNET[chain].everyMs} ms`,
          target: 'measured',
          measured: `${percent(busy.share - rest.share)} of a core`,
          detail:
            `${((proxy.requests() - requests) / perMinute).toFixed(0)} requests and ` +
            `${((proxy.answeredBytes() - bytes) / MEGABYTE / perMinute).toFixed(1)} MB a minute; ` +
            `${blocks} blocks in ${(busy.elapsedMs / 1_000).toFixed(0)} s, ` +
            `${(((busy.share - rest.share) * busy.elapsedMs) / blocks).toFixed(1)} ms of the processor a block; ` +
            `${busy.memoryMb.toFixed(0)} MB afterwards`,
        })
      }
    })
  } finally {
    for (const { proxy, anvil } of nodes) {
      await proxy.close()
      await anvil.remove()
    }
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  }
})
