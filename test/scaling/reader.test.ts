import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { AddressSet } from '../../src/chain/address-set.ts'
import { ProviderGroup } from '../../src/chain/provider-group.ts'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { ChainDriver, DrivenChain } from '../support/chain-driver.ts'
import { evmDriver } from '../support/evm-driver.ts'
import { startReader, type TestReader } from '../support/reader.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { solanaDriver } from '../support/solana-driver.ts'
import { until } from '../support/until.ts'
import { type DrivenNode, utxoAdapterOptions, utxoDriver } from '../support/utxo-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

const CELLS = 3
const NEEDS = ['litecoind']
const DRIVERS: readonly [ChainDriver, string, readonly string[]][] = [
  [utxoDriver('litecoin'), 'getblock', NEEDS],
  [evmDriver('ETH'), 'debug_traceBlockByHash', []],
  [solanaDriver('blocks'), 'getBlock', []],
]

for (const [driver, contents, tags] of DRIVERS)
  describe(`cells that read ${driver.title} through one reader`, { tags: [...tags] }, () => {
    let cells: WatchedChain[]
    let chain: DrivenChain
    let proxy: RpcProxy
    let reader: TestReader

    beforeAll(async () => {
      chain = await driver.start()
      const shared = Object.create(chain, { remove: { value: async () => {} } }) as DrivenChain
      cells = []
      for (let cell = 0; cell < CELLS; cell++)
        cells.push(await WatchedChain.open({ ...driver, start: async () => shared }))
      proxy = await startRpcProxy(chain.url)
      reader = await startReader(driver.network, [proxy.url])
    })
    afterAll(async () => {
      for (const cell of cells) await cell.close()
      await reader.stop()
      await proxy.close()
      await chain.remove()
    })

    test('each finds its payment, loses it to a reorganisation and finds it again', async () => {
      const sold = await Promise.all(
        cells.map(async (cell, index) => {
          const adapter = chain.adapter(reader.url(`cell-${index}`))
          const watcher = await cell.watchAtTip({ adapter })
          return { cell, invoice: await cell.openInvoice([watcher]) }
        }),
      )
      const [first] = sold
      if (first === undefined) throw new Error('there is no cell')
      const txid = await chain.pay(first.invoice.address, driver.amount)
      for (const { invoice } of sold.slice(1)) await chain.pay(invoice.address, driver.amount)
      await chain.mine(2)
      for (const { cell, invoice } of sold) await cell.untilStatus(invoice.id, 'paid')
      await chain.reorganise(2, txid)
      await first.cell.untilStatus(first.invoice.id, 'manual_review')
      for (const { cell } of sold) await cell.untilRead()
      await chain.mine(1)
      for (const { cell, invoice } of sold) {
        await cell.untilStatus(invoice.id, 'paid')
        expect(await cell.availableBalance()).toBe(driver.amount)
      }
      expect(await reader.metric('paylink_reader_shared_answers')).toBeGreaterThan(0)
      expect(proxy.calls).toContain(contents)
    })
  })

describe('one cell and its reader', { tags: NEEDS }, () => {
  let cell: WatchedChain<DrivenNode>
  let proxy: RpcProxy
  let reader: TestReader

  beforeAll(async () => {
    cell = await WatchedChain.open(utxoDriver('litecoin'))
  })
  afterAll(() => cell.close())
  beforeEach(async () => {
    proxy = await startRpcProxy(cell.chain.url)
    reader = await startReader('litecoin-test', [proxy.url])
  })
  afterEach(async () => {
    await cell.stopWatchers()
    await reader.stop()
    await proxy.close()
  })

  /** The first is followed, the second confirms. */
  function groupOf(urls: readonly [string, string]): ProviderGroup {
    const watched = new AddressSet()
    const [first, second] = urls.map(
      (rpcUrl) => new UtxoAdapter({ ...utxoAdapterOptions('litecoin', rpcUrl), clock: systemClock, watched }),
    )
    if (first === undefined || second === undefined) throw new Error('there are two')
    return new ProviderGroup({ name: 'reader', chain: first }, [{ name: 'node', chain: second }], systemClock)
  }

  async function untilUnavailable(why: RegExp): Promise<void> {
    const isSaid = async () => {
      const { status, reason } = await cell.state()
      return status === 'unavailable' && why.test(reason ?? '')
    }
    await until(isSaid, { what: `the network is unavailable: ${why}` })
  }

  async function rpc<Result>(name: string, method: string, params: readonly unknown[] = []): Promise<Result> {
    const { origin, pathname, username, password } = new URL(reader.url(name))
    const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
    const body = JSON.stringify({ jsonrpc: '1.0', id: 1, method, params })
    const response = await fetch(`${origin}${pathname}`, { method: 'POST', headers: { authorization }, body })
    return ((await response.json()) as { result: Result }).result
  }

  test('what is sent through it is in the next look of who sent it', async () => {
    const raw = await cell.chain.node.signUnsent([{ [await cell.chain.node.newAddress()]: '0.1' }])
    // Another cell's look is still worth something when it is sent.
    await rpc('other', 'getrawmempool', [false])
    const txid = await rpc<string>('cell', 'sendrawtransaction', [raw])
    expect(await rpc<string[]>('cell', 'getrawmempool', [false])).toContain(txid)
    await cell.chain.mine(1)
    expect(await rpc('cell', 'getrawmempool', [false])).toEqual([])
  })

  test('a cell without its reader says so and goes on once it is back', async () => {
    const watcher = await cell.watchAtTip({ adapter: cell.chain.adapter(reader.url('cell')) })
    const invoice = await cell.openInvoice([watcher])
    await reader.stop()
    await untilUnavailable(/refuses the connection: start it, or correct TEST_LITECOIN_RPC_URL/)
    await cell.chain.pay(invoice.address, cell.driver.amount)
    await reader.start()
    await cell.untilStatus(invoice.id, 'payment_detected')
    // Its node may be gone as well.
    await cell.chain.stop()
    await untilUnavailable(/fails with HTTP 502/)
    await cell.chain.startAgain()
    await cell.chain.mine(1)
    await cell.untilStatus(invoice.id, 'paid')
  })

  test('a cell that names the node after its reader follows the node while the reader is away', async () => {
    const group = groupOf([reader.url('cell'), cell.chain.url])
    const watcher = await cell.watchAtTip({ adapter: group, changes: { agreement: group } })
    const invoice = await cell.openInvoice([watcher])
    await reader.stop()
    await cell.chain.pay(invoice.address, cell.driver.amount)
    await cell.untilStatus(invoice.id, 'payment_detected')
    const isFollowed = async () =>
      /node is followed in place of reader/.test((await cell.state()).reason ?? '')
    await until(isFollowed, { what: 'the node is followed' })
    // It is confirmed by the reader again.
    await cell.chain.mine(1)
    await cell.untilStatus(invoice.id, 'confirming')
    await reader.start()
    await cell.untilStatus(invoice.id, 'paid')
  })

  // Last, for the cell then stands on the chain of the lie.
  test('a reader whose chain is a lie makes nothing final where another provider is asked without it', async () => {
    const liar = await cell.chain.node.copy()
    try {
      const group = groupOf([reader.url('cell'), cell.chain.url])
      const watcher = await cell.watchAtTip({ adapter: group, changes: { agreement: group } })
      const invoice = await cell.openInvoice([watcher])
      const before = await cell.balances()
      const payment = await cell.chain.node.signUnsent([{ [invoice.address]: '0.1' }])
      proxy.forwardTo(liar.rpcUrl)
      // The honest node goes on: no chain of the liar's is unconfirmed for want of one.
      await cell.chain.mine(1)
      await liar.rpc('sendrawtransaction', [payment])
      await liar.mine(3)
      await until(async () => (await cell.state()).status === 'halted', { what: 'the lie is found' })
      expect((await cell.state()).reason).toMatch(/reader has block .* and node has .*: nothing is credited/)
      expect(await cell.statusOf(invoice.id)).toBe('confirming')
      expect((await cell.balances()).available).toBe(before.available)
    } finally {
      await cell.stopWatchers()
      await liar.remove()
    }
  })
})
