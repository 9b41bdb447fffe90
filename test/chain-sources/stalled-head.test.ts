import { afterEach, expect, test } from 'vitest'
import { EvmAdapter, type EvmAdapterOptions } from '../../src/chain/evm/evm-adapter.ts'
import { ProviderGroup } from '../../src/chain/provider-group.ts'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { UTXO_PARAMETERS } from '../../src/core/chain/utxo-parameters.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { evmDriver } from '../support/evm-driver.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { until } from '../support/until.ts'
import { utxoDriver } from '../support/utxo-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

const HOUR_MS = 3_600_000
const SEPOLIA = '0xaa36a7'
const LITECOIN_TESTNET = UTXO_PARAMETERS.find(({ chain, name }) => chain === 'litecoin' && name === 'test')

const opened: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

/** A node and a proxy before it, which reports a public chain where it is asked to. */
async function open<Chain extends WatchedChain>(opening: Promise<Chain>) {
  const watched = await opening
  opened.push(() => watched.close())
  const proxy = await startRpcProxy(watched.chain.url)
  opened.push(() => proxy.close())
  return { watched, proxy }
}

const openEvm = () => open(WatchedChain.open(evmDriver('ETH')))
const openUtxo = () => open(WatchedChain.open(utxoDriver('litecoin')))

/** As who follows the head finds it after so much time without a block. */
const later = (aheadMs: () => number) => () => new Date(Date.now() + aheadMs())

function evmAdapter(watched: WatchedChain, proxy: RpcProxy, aheadMs: () => number): EvmAdapter {
  const options = watched.chain.recipe.options as EvmAdapterOptions
  return new EvmAdapter({ ...options, url: proxy.url, clock: later(aheadMs) })
}

function utxoAdapter(proxy: RpcProxy, aheadMs: () => number): UtxoAdapter {
  return new UtxoAdapter({
    chain: 'litecoin',
    livemode: false,
    rpcUrl: proxy.url,
    rpcSetting: 'TEST_LITECOIN_RPC_URL',
    zmqUrl: null,
    clock: later(aheadMs),
    probeIntervalMs: 50,
  })
}

function tellOfTestnet(proxy: RpcProxy, connections: () => number): void {
  proxy.lie('getblockchaininfo', (told) => ({ ...(told as object), chain: 'test' }))
  proxy.lie('getblockhash', (told, { params }) => (params[0] === 0 ? LITECOIN_TESTNET?.genesisHash : told))
  proxy.lie('getnetworkinfo', (told) => ({ ...(told as object), connections: connections() }))
}

const untilState = (watched: WatchedChain, status: string, reason: RegExp) =>
  until(
    async () => {
      const state = await watched.stateOrNull()
      return state?.status === status && reason.test(state.reason ?? '')
    },
    { what: `the network is ${status}` },
  )

/** What is due while the head stands does not expire, and does once the head moves again. */
async function expectNothingExpires(
  watched: WatchedChain,
  adapter: UtxoAdapter | EvmAdapter,
  fault: { begin: () => void; reason: RegExp; end: () => void },
): Promise<void> {
  const watcher = await watched.watchAtTip({ adapter })
  const invoice = await watched.openInvoice([watcher])
  fault.begin()
  await untilState(watched, 'syncing', fault.reason)
  await watched.endNow([invoice.id])
  await watched.untilSaidAgain()
  await watched.untilSaidAgain()
  expect(await watched.statusOf(invoice.id)).toBe('awaiting_payment')
  fault.end()
  await watched.untilStatus(invoice.id, 'expired')
}

test('on a public chain of Ethereum nothing expires by a head that is too old', async () => {
  const { watched, proxy } = await openEvm()
  proxy.lie('eth_chainId', () => SEPOLIA)
  let aheadMs = 0
  await expectNothingExpires(
    watched,
    evmAdapter(watched, proxy, () => aheadMs),
    {
      begin: () => {
        aheadMs = HOUR_MS
      },
      reason: /newest block of TEST_ETHEREUM_RPC_URL is (59|60|61) minutes old/,
      end: () => {
        aheadMs = 0
      },
    },
  )
})

test('on a public chain of Litecoin nothing expires by a head that is too old', {
  tags: ['litecoind'],
}, async () => {
  const { watched, proxy } = await openUtxo()
  tellOfTestnet(proxy, () => 8)
  await watched.chain.mine(1)
  let aheadMs = 0
  await expectNothingExpires(
    watched,
    utxoAdapter(proxy, () => aheadMs),
    {
      begin: () => {
        aheadMs = HOUR_MS
      },
      reason: /newest block of TEST_LITECOIN_RPC_URL is \d+ minutes old/,
      end: () => {
        aheadMs = 0
      },
    },
  )
})

test('on a public chain nothing expires by a node that is connected to no other', {
  tags: ['litecoind'],
}, async () => {
  const { watched, proxy } = await openUtxo()
  let connections = 8
  tellOfTestnet(proxy, () => connections)
  await watched.chain.mine(1)
  await expectNothingExpires(
    watched,
    utxoAdapter(proxy, () => 0),
    {
      begin: () => {
        connections = 0
      },
      reason: /no connection to any other/,
      end: () => {
        connections = 8
      },
    },
  )
})

test('the second provider stands in for one whose head is too old, and says so', async () => {
  const { watched, proxy } = await openEvm()
  proxy.lie('eth_chainId', () => SEPOLIA)
  let aheadMs = 0
  const first = evmAdapter(watched, proxy, () => aheadMs)
  const second = new EvmAdapter({
    ...(watched.chain.recipe.options as EvmAdapterOptions),
    url: proxy.url,
    clock: systemClock,
    watched: first.watched,
  })
  const adapter = new ProviderGroup(
    { name: 'first', chain: first },
    [{ name: 'second', chain: second }],
    systemClock,
  )
  const watcher = await watched.watchAtTip({ adapter, changes: { agreement: adapter } })
  const invoice = await watched.openInvoice([watcher])
  aheadMs = HOUR_MS
  await untilState(watched, 'ok', /second is followed in place of first: the newest block .* minutes old/)
  await watched.chain.pay(invoice.address, watched.driver.amount)
  await watched.chain.mine(6)
  await watched.untilStatus(invoice.id, 'paid')
})

test('a private chain may stand still for as long as it likes', async () => {
  const { watched, proxy } = await openEvm()
  const adapter = evmAdapter(watched, proxy, () => HOUR_MS)
  const watcher = await watched.watchAtTip({ adapter })
  const invoice = await watched.openInvoice([watcher])
  await watched.endNow([invoice.id])
  await watched.untilStatus(invoice.id, 'expired')
})
