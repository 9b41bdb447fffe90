import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { EvmAdapter, type EvmAdapterOptions } from '../../src/chain/evm/evm-adapter.ts'
import { ProviderGroup } from '../../src/chain/provider-group.ts'
import { keyspaceOfNetwork } from '../../src/core/assets.ts'
import { listOpenAddresses } from '../../src/db/chain/watched-addresses.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { bytecodeOf, callData } from '../support/evm-contracts.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { until } from '../support/until.ts'
import { WatchedChain } from '../support/watched-chain.ts'
import { rescanEvm } from './rescan-evm.ts'

const ANSWER_MS_MAX = 5_000

let watched: WatchedChain<DrivenAnvil>
let first: RpcProxy
let second: RpcProxy
let payer: string
beforeAll(async () => {
  watched = await WatchedChain.open(evmDriver('ETH', { answerMsMax: ANSWER_MS_MAX }))
  first = await startRpcProxy(watched.chain.url)
  second = await startRpcProxy(watched.chain.url)
  payer = await watched.chain.anvil.deploy(await bytecodeOf('BatchPayer'))
})
afterEach(async () => {
  await watched.stopWatchers()
  first.tellTheTruth()
  second.tellTheTruth()
})
afterAll(async () => {
  await first.close()
  await second.close()
  await watched.close()
})

/** A payment by a contract, and one by a wallet, to invoices of their own. */
async function payTwoWays(watcher: Parameters<typeof watched.openInvoice>[0][number]): Promise<string[]> {
  const { amount } = watched.driver
  const [inner, plain] = [await watched.openInvoice([watcher]), await watched.openInvoice([watcher])]
  const data = callData('pay(address[],uint256[])', [inner.address], [amount])
  await watched.chain.anvil.send({ to: payer, value: amount, data })
  await watched.chain.pay(plain.address, amount)
  await watched.chain.mine(6)
  return [inner.id, plain.id]
}

const untilSaid = (words: RegExp) =>
  until(async () => words.test((await watched.state()).reason ?? ''), { what: 'the network says why' })

test('a block whose traces never come is read by balances, and what is in it is paid', async () => {
  const adapter = watched.chain.adapter(first.url)
  const watcher = await watched.watchAtTip({ adapter })
  first.stall('debug_traceBlockByHash')
  const invoices = await payTwoWays(watcher)
  for (const id of invoices) await watched.untilStatus(id, 'paid')
  await untilSaid(/block \d+ was too much to trace \(.*does not answer in time\).*paylink rescan/)
  expect((await watched.state()).status).toBe('ok')
})

test('a block of which one transaction takes too long to trace is read by balances', async () => {
  const adapter = watched.chain.adapter(first.url)
  const watcher = await watched.watchAtTip({ adapter })
  // As geth says it of one that takes more than five seconds.
  first.lie('debug_traceBlockByHash', (traces) =>
    (traces as { txHash: string }[]).map((trace, place) =>
      place === 0 ? { txHash: trace.txHash, error: 'execution timeout' } : trace,
    ),
  )
  const invoices = await payTwoWays(watcher)
  for (const id of invoices) await watched.untilStatus(id, 'paid')
  await untilSaid(/block \d+ was too much to trace \(.*execution timeout\).*paylink rescan/)
  expect((await watched.state()).status).toBe('ok')
})

test('a block that the node will trace in a moment is traced, not read by balances', async () => {
  const watcher = await watched.watchAtTip({ adapter: watched.chain.adapter(first.url) })
  let refusals = 0
  // EIP-1474's words, as anvil says them of a block that it has just reorganised.
  first.lie('debug_traceBlockByHash', (traces) => {
    refusals += 1
    if (refusals <= 2) throw Object.assign(new Error('Resource not found'), { code: -32_001 })
    return traces
  })
  const invoices = await payTwoWays(watcher)
  for (const id of invoices) await watched.untilStatus(id, 'paid')
  expect(refusals).toBeGreaterThan(2)
  await until(async () => (await watched.state()).reason === null, { what: 'nothing is amiss' })
})

test('a payment by a contract that was read by balances counts once when its block is traced again', async () => {
  const slow = watched.chain.adapter(first.url)
  const watcher = await watched.watchAtTip({ adapter: slow })
  const before = await watched.state()
  const available = await watched.availableBalance()
  first.stall('debug_traceBlockByHash')
  const invoices = await payTwoWays(watcher)
  for (const id of invoices) await watched.untilStatus(id, 'paid')
  await watched.stopWatchers()
  first.tellTheTruth()
  await watched.setBackTo(before)
  const again = watched.chain.adapter()
  for await (const { rows } of [
    await watched.database.owner.query('select program as "addressBytes" from deposit_address'),
  ])
    again.watched.add(rows.map(({ addressBytes }: { addressBytes: Buffer }) => addressBytes))
  await watched.watchAtTip({ adapter: again })
  await watched.chain.mine(6)
  await watched.untilRead()
  expect(await watched.availableBalance()).toBe(available + 2n * watched.driver.amount)
})

test('a block that is read again by balances takes back nothing that was paid in it', async () => {
  const { chain, database, driver } = watched
  const watcher = await watched.watchAtTip({ adapter: chain.adapter(first.url) })
  const available = await watched.availableBalance()
  const invoices = await payTwoWays(watcher)
  for (const id of invoices) await watched.untilStatus(id, 'paid')
  await watched.untilRead()
  await watched.stopWatchers()
  // The newest block is another one, and the node knows ours no more: as many blocks as a fork may have are read again.
  await chain.reorganise(1)
  first.stall('debug_traceBlockByHash')
  const keyspace = keyspaceOfNetwork(driver.network)
  const again = new EvmAdapter({
    ...(chain.recipe.options as EvmAdapterOptions),
    url: first.url,
    clock: systemClock,
    nativeMode: 'traces',
    openAddresses: (now, fromHeight) =>
      listOpenAddresses(database.pools.watcher, { network: driver.network, keyspace, now, fromHeight }),
  })
  const { rows } = await database.owner.query<{ addressBytes: Buffer }>(
    'select program as "addressBytes" from deposit_address',
  )
  again.watched.add(rows.map(({ addressBytes }) => addressBytes))
  await watched.watchAtTip({ adapter: again })
  await chain.mine(6)
  await watched.untilRead()
  expect(await watched.availableBalance()).toBe(available + 2n * driver.amount)
  for (const id of invoices) expect(await watched.statusOf(id)).toBe('paid')
})

test('a payment by a contract that was read by balances is not missing when a rescan traces its block', async () => {
  const watcher = await watched.watchAtTip({ adapter: watched.chain.adapter(first.url) })
  const before = await watched.state()
  first.stall('debug_traceBlockByHash')
  const invoices = await payTwoWays(watcher)
  for (const id of invoices) await watched.untilStatus(id, 'paid')
  await watched.stopWatchers()
  const report = await rescanEvm(watched, before.height ?? 0)
  await watched.watchAtTip({ adapter: watched.chain.adapter() })
  await watched.chain.mine(2)
  await watched.untilRead()
  expect(report).toMatchObject({ transfers: 2, recorded: 0 })
  for (const id of invoices) expect(await watched.statusOf(id)).toBe('paid')
})

test('the second provider confirms payments by balances where its traces never come', async () => {
  const options = { ...(watched.chain.recipe.options as EvmAdapterOptions), clock: systemClock }
  const followed = new EvmAdapter({ ...options, url: first.url })
  const other = new EvmAdapter({ ...options, url: second.url, watched: followed.watched })
  const others = [{ name: 'second', chain: other }]
  const adapter = new ProviderGroup({ name: 'first', chain: followed }, others, systemClock)
  const watcher = await watched.watchAtTip({ adapter, changes: { agreement: adapter } })
  second.stall('debug_traceBlockByHash')
  for (const id of await payTwoWays(watcher)) await watched.untilStatus(id, 'paid')
})
