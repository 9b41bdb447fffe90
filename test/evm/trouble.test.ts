import { createServer } from 'node:http'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { EvmAdapter, type EvmAdapterOptions } from '../../src/chain/evm/evm-adapter.ts'
import { ProviderGroup } from '../../src/chain/provider-group.ts'
import { inspectNetworks } from '../../src/doctor/inspect-networks.ts'
import type { EvmChainNode } from '../../src/nodes/chain-nodes.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { hex, newEvmAddress, startAnvil } from '../support/anvil.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { until } from '../support/until.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** An hour of Base. */
const BLOCKS_OF_AN_HOUR = 1_800
const HOUR_S = 3_600
/** On two cores that have much else to do. */
const CAUGHT_UP_MS_MAX = 90_000

let watched: WatchedChain<DrivenAnvil>
let proxy: RpcProxy
beforeAll(async () => {
  watched = await WatchedChain.open(evmDriver('USDC_BASE'))
  proxy = await startRpcProxy(watched.chain.url)
})
afterEach(async () => {
  await watched.stopWatchers()
  proxy.tellTheTruth()
})
afterAll(async () => {
  await proxy.close()
  await watched.close()
})

const optionsAt = (url: string): EvmAdapterOptions => ({
  ...(watched.chain.recipe.options as EvmAdapterOptions),
  clock: systemClock,
  url,
})

/** What `paylink doctor` says of Base where these are its providers. */
async function doctorSays(rpcUrl: string, furtherUrls: readonly string[] = []): Promise<string[]> {
  const node: EvmChainNode = {
    network: 'base-test',
    chain: 'base',
    livemode: false,
    rpcUrl,
    furtherUrls,
    rpcSetting: 'TEST_BASE_RPC_URL',
    zmqUrl: null,
    tokenContracts: { USDC: watched.chain.token.contract },
    sandbox: null,
  }
  const findings = await inspectNetworks(watched.database.owner, [node], systemClock)
  return findings.map(({ kind, text }) => `${kind}: ${text}`).filter((line) => line.includes('base-test'))
}

const saying = (words: RegExp) => expect.arrayContaining([expect.stringMatching(words)])

test('an outage of an hour, with blocks and payments all along, is caught up exactly', async () => {
  const { anvil, token } = watched.chain
  const watcher = await watched.watchAtTip({ adapter: watched.chain.adapter(proxy.url) })
  const hour = { expiresAtMs: Date.now() + 4 * HOUR_S * 1_000 }
  const invoices = []
  for (let index = 0; index < 24; index++) invoices.push(await watched.openInvoice([watcher], hour))
  const before = await watched.availableBalance()
  proxy.hold()
  for (const [index, { address }] of invoices.entries()) {
    await anvil.send(token.mint(address, watched.driver.amount))
    // A stranger's token in every other stretch, so that blocks with and without ours lie side by side.
    if (index % 2 === 0) await anvil.send(token.mint(newEvmAddress().address, 1n))
    await anvil.rpc('anvil_mine', [hex(BigInt(BLOCKS_OF_AN_HOUR / invoices.length)), '0x2'])
  }
  proxy.resume()
  const tip = await anvil.height()
  await until(async () => (await watched.state()).height === tip, {
    what: 'the hour was read',
    timeoutMs: CAUGHT_UP_MS_MAX,
  })
  for (const { id } of invoices) await watched.untilStatus(id, 'paid')
  await watched.untilRead()
  expect((await watched.state()).height).toBe(await anvil.height())
  expect(await watched.availableBalance()).toBe(before + watched.driver.amount * 24n)
  for (const { id } of invoices) {
    expect(await watched.eventsOf(id)).toEqual(['payment_detected', 'confirming', 'paid'])
  }
}, 180_000)

test('while the first provider answers 429 the second is followed, misses nothing, and the reason is shown', async () => {
  const limited = createServer((_request, response) => response.writeHead(429).end('too many requests'))
  await new Promise<void>((resolve) => limited.listen(0, '127.0.0.1', resolve))
  const address = limited.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  const first = new EvmAdapter(optionsAt(`http://127.0.0.1:${address.port}`))
  const second = new EvmAdapter({ ...optionsAt(watched.chain.url), watched: first.watched })
  const third = new EvmAdapter({ ...optionsAt(proxy.url), watched: first.watched })
  const group = new ProviderGroup(
    { name: 'first', chain: first },
    [
      { name: 'second', chain: second },
      { name: 'third', chain: third },
    ],
    systemClock,
  )
  const watcher = await watched.watchAtTip({ adapter: group, changes: { agreement: group } })
  const invoice = await watched.openInvoice([watcher])
  await watched.chain.pay(invoice.address, watched.driver.amount)
  await watched.chain.mine(4)
  await watched.untilStatus(invoice.id, 'paid')
  const { status, reason } = await watched.state()
  expect(status).toBe('ok')
  expect(reason).toMatch(/second is followed in place of first: .* answers only so many calls \(429\)/)
  const findings = await doctorSays(`http://127.0.0.1:${address.port}`, [watched.chain.url])
  expect(findings).toEqual(saying(/^fault: .* answers only so many calls \(429\): raise its plan/))
  expect(findings).toEqual(saying(/^ok: base-test: the node at .* confirms block \d+$/))
  expect(findings).toEqual(saying(/^fault: .*second is followed in place of first/))
  limited.closeAllConnections()
  await new Promise((resolve) => limited.close(resolve))
})

test('a node on another chain halts the network, and says which chain and which setting', async () => {
  const other = await startAnvil({ chainId: 1 })
  try {
    await watched.watchAtTip()
    await watched.stopWatchers()
    const adapter = new EvmAdapter(optionsAt(other.url))
    watched.watch({ adapter })
    await until(async () => (await watched.state()).status === 'halted', { what: 'the network halts' })
    expect((await watched.state()).reason).toMatch(
      /is on chain 1, and base-test is chain .*84532.*: correct TEST_BASE_RPC_URL/,
    )
    expect(await doctorSays(other.url)).toEqual(
      saying(/^fault: .*is on chain 1, and base-test is chain .*84532.*: correct TEST_BASE_RPC_URL/),
    )
  } finally {
    await other.remove()
  }
})

test('a node that never answers is reported as such, and what was paid meanwhile is found once it does', async () => {
  const watcher = await watched.watchAtTip({ adapter: watched.chain.adapter(proxy.url) })
  const invoice = await watched.openInvoice([watcher])
  proxy.hangUp()
  await until(async () => (await watched.state()).status === 'unavailable', { what: 'it is told' })
  await watched.chain.pay(invoice.address, watched.driver.amount)
  await watched.chain.mine(4)
  proxy.tellTheTruth()
  await watched.untilStatus(invoice.id, 'paid')
  await until(async () => (await watched.state()).status === 'ok', { what: 'it is followed again' })
})

test('the doctor says what a node without traces cannot find, and which node lacks the token', async () => {
  proxy.lie('debug_traceBlockByHash', () => {
    throw new Error('the method debug_traceBlockByHash does not exist/is not available')
  })
  const notice = /^notice: base-test: the node at .* does not trace blocks .* for open checkouts only/
  expect(await doctorSays(proxy.url)).toEqual(saying(notice))
  proxy.lie('eth_call', () => '0x')
  expect(await doctorSays(proxy.url)).toEqual(saying(/^fault: .* has no contract there$/))
})
