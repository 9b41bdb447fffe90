import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { AddressSet } from '../../src/chain/address-set.ts'
import { ProviderGroup } from '../../src/chain/provider-group.ts'
import { EsploraAdapter } from '../../src/chain/utxo/esplora-adapter.ts'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { NODE_PROGRAMS } from '../support/daemons.ts'
import { describeNeeding } from '../support/describe-needing.ts'
import { startEsploraServer } from '../support/esplora-server.ts'
import { inventBlock, serveInvented } from '../support/invented-block.ts'
import type { TestNode } from '../support/litecoind.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { until } from '../support/until.ts'
import { type DrivenNode, settingOf, utxoDriver } from '../support/utxo-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

const AMOUNT = '0.1'
const AWAY_MS = 30_000

describeNeeding(NODE_PROGRAMS, 'two providers of %s', (chain) => {
  let watched: WatchedChain<DrivenNode>
  let first: TestNode
  let second: TestNode
  let proxies: readonly [RpcProxy, RpcProxy]
  /** What the group's clock runs ahead. */
  let aheadMs = 0

  beforeAll(async () => {
    watched = await WatchedChain.open(utxoDriver(chain))
    first = watched.chain.node
    second = await first.copy()
  })
  afterAll(async () => {
    await second.remove()
    await watched.close()
  })
  beforeEach(async () => {
    aheadMs = 0
    proxies = [await startRpcProxy(first.rpcUrl), await startRpcProxy(second.rpcUrl)]
  })
  afterEach(async () => {
    await watched.stopWatchers()
    await Promise.all(proxies.map((proxy) => proxy.close()))
  })

  const setting = settingOf(chain)
  const node = (rpcUrl: string, addresses: AddressSet) => {
    const options = { chain, livemode: false, rpcSetting: setting, zmqUrl: null } as const
    return new UtxoAdapter({
      ...options,
      rpcUrl,
      clock: systemClock,
      probeIntervalMs: 50,
      watched: addresses,
    })
  }

  function groupOf(urls: readonly [string, string]): ProviderGroup {
    const addresses = new AddressSet()
    const clock = () => new Date(Date.now() + aheadMs)
    const [a, b] = urls
    return new ProviderGroup(
      { name: 'node A', chain: node(a, addresses) },
      [{ name: 'node B', chain: node(b, addresses) }],
      clock,
    )
  }

  /** A watcher at the tip that follows the first node and has the second confirm. */
  async function watch(group = groupOf([proxies[0].url, proxies[1].url])) {
    return watched.watchAtTip({ adapter: group, changes: { agreement: group, pollIntervalMs: 50 } })
  }

  /** Gives one node the blocks of the other that it lacks, as the network would. */
  async function relay(from: TestNode, to: TestNode): Promise<void> {
    const missing: string[] = []
    let hash = await from.rpc<string>('getbestblockhash')
    for (;;) {
      const known = await to.rpc('getblockheader', [hash]).then(
        () => true,
        () => false,
      )
      if (known) break
      missing.unshift(hash)
      hash = (await from.rpc<{ previousblockhash: string }>('getblockheader', [hash])).previousblockhash
    }
    for (const block of missing) await to.rpc('submitblock', [await from.rpc('getblock', [block, 0])])
    expect(await to.rpc('getbestblockhash')).toBe(await from.rpc('getbestblockhash'))
  }

  async function untilTold(status: string, reason: RegExp | null): Promise<void> {
    let last: object = {}
    const isTold = async () => {
      const state = await watched.state()
      last = { status: state.status, reason: state.reason }
      return (
        state.status === status && (reason === null ? state.reason === null : reason.test(state.reason ?? ''))
      )
    }
    try {
      await until(isTold, { what: `the network is ${status}` })
    } catch (error) {
      throw new Error(`the network should be ${status} (${reason}) and is ${JSON.stringify(last)}`, {
        cause: error,
      })
    }
  }

  test('an ordinary block asks the second provider nothing; one that settles a payment asks block and depth', async () => {
    const watcher = await watch()
    const invoice = await watched.openInvoice([watcher], watched.needs(2))
    await first.pay(invoice.address, AMOUNT)
    await first.mine(1)
    await relay(first, second)
    await watched.untilStatus(invoice.id, 'confirming')
    await watched.untilRead()
    expect(proxies[1].calls).toEqual([])
    // The second has the block by the time that the watcher sees it, and is not asked in vain before.
    proxies[0].hold()
    await first.mine(1)
    await relay(first, second)
    proxies[0].resume()
    await watched.untilStatus(invoice.id, 'paid')
    expect(proxies[1].calls).toEqual(['getblockhash', 'getblockhash'])
    await first.mine(3)
    await relay(first, second)
    await watched.untilRead()
    expect(proxies[1].calls).toEqual(['getblockhash', 'getblockhash'])
  })

  test('an invoice is paid only once the second provider has the block, and the network says so meanwhile', async () => {
    const watcher = await watch()
    const invoice = await watched.openInvoice([watcher])
    await first.pay(invoice.address, AMOUNT)
    await first.mine(1)
    await untilTold(
      'ok',
      /payments in 1 block wait for another provider to confirm: node B has not come to block/,
    )
    expect(await watched.statusOf(invoice.id)).toBe('confirming')
    await relay(first, second)
    await watched.untilStatus(invoice.id, 'paid')
    await untilTold('ok', null)
    expect(await watched.eventsOf(invoice.id)).toEqual(['payment_detected', 'confirming', 'paid'])
  })

  test('a second provider that has the block and nothing above it confirms no depth', async () => {
    const watcher = await watch()
    const invoice = await watched.openInvoice([watcher], watched.needs(3))
    await first.pay(invoice.address, AMOUNT)
    await first.mine(1)
    await relay(first, second)
    await watched.untilStatus(invoice.id, 'confirming')
    await first.mine(2)
    await untilTold(
      'ok',
      /payments in 1 block wait for another provider to confirm: node B has not come to block/,
    )
    expect(await watched.statusOf(invoice.id)).toBe('confirming')
    await relay(first, second)
    await watched.untilStatus(invoice.id, 'paid')
    await untilTold('ok', null)
  })

  test('while the second provider is down payments are detected and wait, and are paid once it is back', async () => {
    const watcher = await watch()
    const invoice = await watched.openInvoice([watcher])
    const unpaid = await watched.openInvoice([watcher], { expiresAtMs: Date.now() + 1_000 })
    await second.stop()
    await first.pay(invoice.address, AMOUNT)
    await watched.untilStatus(invoice.id, 'payment_detected')
    await first.mine(1)
    await untilTold('ok', /wait for another provider/)
    expect(await watched.statusOf(invoice.id)).toBe('confirming')
    await watched.untilStatus(unpaid.id, 'expired')
    await second.start()
    await relay(first, second)
    aheadMs += AWAY_MS
    await watched.untilStatus(invoice.id, 'paid')
    await untilTold('ok', null)
  })

  test('a second provider that never answers delays no detection for long', async () => {
    const watcher = await watch()
    const invoice = await watched.openInvoice([watcher])
    const other = await watched.openInvoice([watcher])
    proxies[1].hold()
    await first.pay(invoice.address, AMOUNT)
    await first.mine(1)
    await untilTold('ok', /does not answer/)
    await first.pay(other.address, AMOUNT)
    await watched.untilStatus(other.id, 'payment_detected')
    expect(await watched.statusOf(invoice.id)).toBe('confirming')
    proxies[1].resume()
    await relay(first, second)
    aheadMs += AWAY_MS
    await watched.untilStatus(invoice.id, 'paid')
    await first.mine(1)
    await relay(first, second)
  })

  test('where providers have different blocks nothing is credited and the network halts until they agree', async () => {
    const watcher = await watch()
    const invoice = await watched.openInvoice([watcher])
    const before = await watched.balances()
    await second.mine(1)
    await first.pay(invoice.address, AMOUNT)
    await first.mine(1)
    await untilTold(
      'halted',
      /node A has block [0-9a-f]{64} at height \d+ and node B has [0-9a-f]{64}: nothing is credited/,
    )
    expect(await watched.statusOf(invoice.id)).toBe('confirming')
    expect((await watched.balances()).available).toBe(before.available)
    await first.mine(1)
    await relay(first, second)
    await watched.untilStatus(invoice.id, 'paid')
    await untilTold('ok', null)
  })

  test('while the first provider is down the second is followed and nothing paid, until the first is back', async () => {
    const watcher = await watch()
    const invoice = await watched.openInvoice([watcher])
    await watched.untilRead()
    const payment = await first.signUnsent([{ [invoice.address]: AMOUNT }])
    await first.stop()
    await untilTold('ok', /node B is followed in place of node A: ./)
    await second.rpc('sendrawtransaction', [payment])
    await watched.untilStatus(invoice.id, 'payment_detected')
    await second.mine(1)
    await untilTold('ok', /payments in 1 block wait for another provider/)
    expect(await watched.statusOf(invoice.id)).toBe('confirming')
    await first.start()
    await relay(second, first)
    aheadMs += AWAY_MS
    await watched.untilStatus(invoice.id, 'paid')
    await untilTold('ok', null)
  })

  test('a second provider on another fork does not stand in for the first', async () => {
    const watcher = await watch()
    const invoice = await watched.openInvoice([watcher])
    await first.pay(invoice.address, AMOUNT)
    await first.mine(1)
    await watched.untilStatus(invoice.id, 'confirming')
    await second.mine(3)
    await first.stop()
    await untilTold('unavailable', /node B does not know block \d+ .*behind or on another fork/)
    expect(await watched.paymentsOf(invoice.id)).toEqual(['confirming'])
    await first.start()
    await first.mine(3)
    await relay(first, second)
    aheadMs += AWAY_MS
    await watched.untilStatus(invoice.id, 'paid')
  })

  test('an Esplora server confirms what a node says', async () => {
    const server = await startEsploraServer(second)
    try {
      const addresses = new AddressSet()
      const options = {
        chain,
        livemode: false,
        url: server.url,
        setting,
        watched: addresses,
      } as const
      const esplora = new EsploraAdapter({ ...options, clock: systemClock })
      const followed = { name: 'node A', chain: node(proxies[0].url, addresses) }
      const group = new ProviderGroup(followed, [{ name: 'Esplora', chain: esplora }], systemClock)
      const watcher = await watch(group)
      const invoice = await watched.openInvoice([watcher])
      await first.pay(invoice.address, AMOUNT)
      await first.mine(1)
      await untilTold('ok', /Esplora has not come to block/)
      await relay(first, second)
      await watched.untilStatus(invoice.id, 'paid')
      const kinds = server.calls.map((path) =>
        path.replace(/[0-9a-f]{64}/, 'HASH').replace(/height\/\d+/, 'height/N'),
      )
      // Genesis once, for the chain's rules; then the hash at a height, and its header for the proof of work.
      expect(new Set(kinds)).toEqual(new Set(['/block-height/N', '/block/HASH']))
    } finally {
      await watched.stopWatchers()
      await server.stop()
    }
  })
  test('a block that one provider invents is refused, and the other provider takes over', async () => {
    const server = await startEsploraServer(second)
    try {
      const addresses = new AddressSet()
      const shared = { chain, livemode: false, setting, watched: addresses } as const
      const esplora = new EsploraAdapter({ ...shared, url: server.url, clock: systemClock })
      const other = { name: 'node A', chain: node(proxies[0].url, addresses) }
      const group = new ProviderGroup({ name: 'Esplora', chain: esplora }, [other], systemClock)
      const watcher = await watch(group)
      const invoice = await watched.openInvoice([watcher])
      const parent = {
        height: await second.rpc<number>('getblockcount'),
        hash: await second.rpc<string>('getbestblockhash'),
      }
      const addressBytes = await first.addressBytesOf(invoice.address)
      serveInvented(server, inventBlock({ chain, parent, addressBytes, bits: 0x207f_ffff, hasWork: false }))
      await untilTold('ok', /node A is followed in place of Esplora: .* does not have the proof of work/)
      expect(await watched.statusOf(invoice.id)).toBe('awaiting_payment')
      await first.pay(invoice.address, AMOUNT)
      await first.mine(1)
      await relay(first, second)
      await watched.untilStatus(invoice.id, 'confirming')
      await untilTold(
        'ok',
        /block waits? for another provider to confirm: .* does not have the proof of work/,
      )
      server.tellTheTruth()
      await watched.untilStatus(invoice.id, 'paid')
    } finally {
      await watched.stopWatchers()
      await server.stop()
    }
  })
})
