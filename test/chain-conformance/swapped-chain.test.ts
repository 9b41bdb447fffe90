import { afterEach, expect, test } from 'vitest'
import type { ChainAdapter } from '../../src/chain/adapter.ts'
import { EvmAdapter, type EvmAdapterOptions } from '../../src/chain/evm/evm-adapter.ts'
import { SolanaAdapter } from '../../src/chain/solana/solana-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { ChainDriver, DrivenChain } from '../support/chain-driver.ts'
import { evmDriver } from '../support/evm-driver.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { solanaDriver } from '../support/solana-driver.ts'
import { lever } from '../support/solana-payer.ts'
import { until } from '../support/until.ts'
import { type DrivenNode, utxoDriver } from '../support/utxo-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** More than the first chain has when its node is swapped: only a longer chain can be taken for a better branch. */
const BLOCKS_AHEAD = 20

let watched: WatchedChain
let other: DrivenChain
/** The only provider. */
let proxy: RpcProxy
afterEach(async () => {
  await watched?.close()
  await proxy?.close()
  await other?.remove()
})

type Case = {
  readonly name: string
  readonly tags: string[]
  readonly driver: ChainDriver
  readonly other: ChainDriver
  /** An adapter for the first chain alone. */
  readonly adapter: (chain: DrivenChain, url: string) => Promise<ChainAdapter>
  readonly reason: RegExp
}

const utxo = (chain: 'bitcoin' | 'litecoin', otherChain: 'bitcoin' | 'litecoin'): Case => ({
  name: `${chain} for ${otherChain}`,
  tags: ['bitcoind', 'litecoind'],
  driver: utxoDriver(chain),
  other: utxoDriver(otherChain),
  adapter: async (driven, url) => (driven as DrivenNode).adapter(url),
  reason: new RegExp(`is no ${chain}`),
})

const CASES: Case[] = [
  utxo('litecoin', 'bitcoin'),
  utxo('bitcoin', 'litecoin'),
  {
    name: 'Ethereum for another chain of its kind',
    tags: [],
    driver: evmDriver('ETH'),
    other: evmDriver('ETH', {}, { chainId: 31_338 }),
    adapter: async ({ recipe, url: own }, url) => {
      const { hash: genesis } = (await lever(own, 'eth_getBlockByNumber', ['0x0', false])) as { hash: string }
      const privateChain = { genesis, chainId: 31_337 }
      const options = recipe.options as EvmAdapterOptions
      return new EvmAdapter({ ...options, url, clock: systemClock, privateChain })
    },
    reason: /is on chain 31338/,
  },
  {
    name: 'a Solana cluster for another',
    tags: [],
    driver: solanaDriver('accounts'),
    other: solanaDriver('accounts'),
    adapter: async ({ recipe, url: own }, url) => {
      const options = recipe.options as ConstructorParameters<typeof SolanaAdapter>[0]
      const genesis = String(await lever(own, 'getGenesisHash', []))
      const privateChain = { genesis, chainId: null }
      return new SolanaAdapter({ ...options, rpcUrl: url, clock: systemClock, privateChain })
    },
    reason: /is on another cluster/,
  },
]

for (const { name, tags, driver, other: otherDriver, adapter, reason } of CASES) {
  test(`a node swapped under the watcher takes nothing back, pays and ends nothing: ${name}`, {
    tags,
  }, async () => {
    watched = await WatchedChain.open(driver)
    other = await otherDriver.start()
    proxy = await startRpcProxy(watched.chain.url)
    await other.mine(BLOCKS_AHEAD)
    const watcher = await watched.watchAtTip({ adapter: await adapter(watched.chain, proxy.url) })
    const [paid, waiting, open] = [
      await watched.openInvoice([watcher]),
      await watched.openInvoice([watcher], watched.needs(6)),
      await watched.openInvoice([watcher]),
    ]
    for (const { address } of [paid, waiting]) await watched.chain.pay(address, driver.amount)
    await watched.chain.mine(3)
    await watched.untilStatus(paid.id, 'paid')
    await watched.untilStatus(waiting.id, 'confirming')
    const told = () => Promise.all([paid, waiting, open].map(({ id }) => watched.eventsOf(id)))
    const [events, balances] = [await told(), await watched.balances()]

    proxy.forwardTo(other.url)
    await watched.endNow([open.id])
    await until(async () => (await watched.state()).status === 'halted', { what: 'the network halts' })
    expect((await watched.state()).reason).toMatch(reason)
    expect(await told()).toEqual(events)
    expect(await watched.balances()).toEqual(balances)

    proxy.forwardTo(watched.chain.url)
    await watched.chain.mine(6)
    await watched.untilStatus(waiting.id, 'paid')
    await watched.untilStatus(open.id, 'expired')
    expect(await watched.statusOf(paid.id)).toBe('paid')
  })
}
