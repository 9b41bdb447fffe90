import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { EvmAdapter, type EvmAdapterOptions } from '../../src/chain/evm/evm-adapter.ts'
import { ProviderGroup } from '../../src/chain/provider-group.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { bytecodeOf, callData } from '../support/evm-contracts.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { until } from '../support/until.ts'
import { WatchedChain } from '../support/watched-chain.ts'
import { rescanEvm } from './rescan-evm.ts'

const ETHER = 10n ** 18n
/** More than any other question may take another provider. */
const SLOW_TRACE_MS = 4_000

type Trace = { readonly result: { readonly pre: object; readonly post: object } }

let watched: WatchedChain<DrivenAnvil>
let first: RpcProxy
let second: RpcProxy
let payer: string
beforeAll(async () => {
  watched = await WatchedChain.open(evmDriver('ETH'))
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

/** A group whose second provider traces or does not. */
function throughTwo(secondTraces: boolean) {
  const options = { ...(watched.chain.recipe.options as EvmAdapterOptions), clock: systemClock }
  const followed = new EvmAdapter({ ...options, url: first.url })
  const other = new EvmAdapter({
    ...options,
    url: second.url,
    watched: followed.watched,
    nativeMode: secondTraces ? 'traces' : 'balances',
  })
  const others = [{ name: 'second', chain: other }]
  const adapter = new ProviderGroup({ name: 'first', chain: followed }, others, systemClock)
  return { adapter, changes: { agreement: adapter, haltedRetryMs: 500 } }
}

/** A group of three providers, the last of which is the node itself. */
function throughThree() {
  const options = { ...(watched.chain.recipe.options as EvmAdapterOptions), clock: systemClock }
  const followed = new EvmAdapter({ ...options, url: first.url })
  const others = [second.url, watched.chain.url].map((url, place) => ({
    name: `other ${place}`,
    chain: new EvmAdapter({ ...options, url, watched: followed.watched }),
  }))
  const adapter = new ProviderGroup({ name: 'first', chain: followed }, others, systemClock)
  return { adapter, changes: { agreement: adapter, haltedRetryMs: 500 } }
}

/** From now on the first provider reports an inner payment in each block's last transaction. */
function inventInnerPayments(proxy: RpcProxy, address: string): void {
  proxy.lie('debug_traceBlockByHash', (told) => {
    const traces = told as Trace[]
    return traces.map((trace, index) => {
      const { pre, post } = trace.result
      if (index < traces.length - 1) return trace
      const gained = { ...post, [address]: { balance: `0x${ETHER.toString(16)}` } }
      return { ...trace, result: { pre: { ...pre, [address]: { balance: '0x0' } }, post: gained } }
    })
  })
}

/** From now on a node can tell neither traces nor receipts of these blocks. */
function putAway(proxy: RpcProxy, isAway: (block: unknown) => boolean): void {
  for (const method of ['debug_traceBlockByHash', 'eth_getBlockReceipts']) {
    proxy.lie(method, (told, { params }) => {
      if (isAway(params[0])) throw new Error('historical state is not available')
      return told
    })
  }
}

async function untilHalted(words: RegExp): Promise<void> {
  await until(
    async () => {
      const { status, reason } = await watched.state()
      return status === 'halted' && words.test(reason ?? '')
    },
    { what: 'the network halts' },
  )
}

test.each([
  ['traces', true],
  ['balances', false],
])(
  'an inner payment that the provider invents is never paid, and taken back without it, by %s',
  async (_how, secondTraces) => {
    const { adapter, changes } = throughTwo(secondTraces)
    const watcher = await watched.watchAtTip({ adapter, changes })
    const victim = await watched.openInvoice([watcher])
    const before = await watched.availableBalance()
    inventInnerPayments(first, victim.address)
    await watched.chain.anvil.send({ to: `0x${'12'.repeat(20)}`, value: 1n })
    await watched.chain.mine(6)
    await untilHalted(/another provider does not find it there.*leave the one that is wrong out/)
    await watched.chain.mine(6)
    expect(await watched.availableBalance()).toBe(before)
    expect(await watched.eventsOf(victim.id)).not.toContain('paid')
    // Whoever lied is left out: the other one alone takes back what was invented.
    await watched.stopWatchers()
    await watched.watchAtTip()
    await watched.untilStatus(victim.id, 'awaiting_payment')
    await until(async () => (await watched.state()).status === 'ok', { what: 'it is followed again' })
    expect(await watched.availableBalance()).toBe(before)
    expect(await watched.eventsOf(victim.id)).not.toContain('paid')
  },
)

test('a larger amount than was paid is never paid', async () => {
  const { adapter, changes } = throughTwo(false)
  const watcher = await watched.watchAtTip({ adapter, changes })
  const victim = await watched.openInvoice([watcher])
  inventInnerPayments(first, victim.address)
  await watched.chain.anvil.send({ to: victim.address, value: 1n })
  await watched.chain.mine(6)
  await untilHalted(/another provider does not find it there/)
  expect(await watched.eventsOf(victim.id)).not.toContain('paid')
})

test.each([
  ['traces', true],
  ['balances', false],
])(
  'a payment by a contract and one by a wallet are paid when the second finds them too, by %s',
  async (_how, secondTraces) => {
    const { adapter, changes } = throughTwo(secondTraces)
    const watcher = await watched.watchAtTip({ adapter, changes })
    const { amount } = watched.driver
    const [inner, plain] = [await watched.openInvoice([watcher]), await watched.openInvoice([watcher])]
    await watched.chain.pay(plain.address, amount)
    const data = callData('pay(address[],uint256[])', [inner.address], [amount])
    await watched.chain.anvil.send({ to: payer, value: amount, data })
    await watched.chain.mine(4)
    for (const { id } of [inner, plain]) await watched.untilStatus(id, 'paid')
  },
)

test('while the second cannot confirm them, payments wait and the network says so; then they are paid', async () => {
  const { adapter, changes } = throughTwo(true)
  const watcher = await watched.watchAtTip({ adapter, changes })
  const invoice = await watched.openInvoice([watcher])
  putAway(second, () => true)
  await watched.chain.pay(invoice.address, watched.driver.amount)
  await watched.chain.mine(6)
  await until(
    async () =>
      /wait for another provider to find them there as well/.test((await watched.state()).reason ?? ''),
    { what: 'the network says why' },
  )
  expect((await watched.state()).status).toBe('ok')
  expect(await watched.statusOf(invoice.id)).toBe('confirming')
  second.tellTheTruth()
  await watched.untilStatus(invoice.id, 'paid')
  await until(async () => (await watched.state()).reason === null, { what: 'nothing waits any more' })
})

test.each([
  ['no traces', 'traces', null],
  ['an error in the place of a trace', 'traces', [{ error: 'no state' }]],
  ['no traces ever', 'balances', null],
] as const)(
  'of a block of which a node has %s, it says what is proved, and else that it cannot',
  async (...given) => {
    const [, nativeMode, traces] = given
    const { options } = watched.chain.recipe as { options: EvmAdapterOptions }
    const adapter = new EvmAdapter({ ...options, url: first.url, nativeMode, clock: systemClock })
    await adapter.connect()
    const { address, addressBytes } = await watched.chain.newAddress()
    const txid = await watched.chain.pay(address, ETHER)
    await watched.chain.mine(1)
    const block = { height: await watched.chain.anvil.height(), hash: await watched.chain.tipHash() }
    const claim = { txid, addressBytes: addressBytes.toString('hex'), asset: 'ETH', outputIndex: 0 } as const
    expect(await adapter.credits?.unverified(block, [{ ...claim, amount: ETHER }])).toEqual([])
    first.lie('debug_traceBlockByHash', () => traces)
    // What a transaction pays itself is proved by its block and receipts alone.
    expect(await adapter.credits?.unverified(block, [{ ...claim, amount: ETHER }])).toEqual([])
    first.lie('eth_getBlockReceipts', () => null)
    expect(await adapter.credits?.unverified(block, [{ ...claim, amount: ETHER }])).toBeNull()
    await adapter.close()
  },
)

test('where the followed provider no longer has a block, two others decide, and not one', async () => {
  const watcher = await watched.watchAtTip(throughThree())
  const invoice = await watched.openInvoice([watcher])
  const read = new Set<unknown>()
  first.lie('debug_traceBlockByHash', (told, { params }) => {
    if (read.has(params[0])) return null
    read.add(params[0])
    return told
  })
  first.lie('eth_getBlockReceipts', () => null)
  putAway(second, () => true)
  await watched.chain.pay(invoice.address, watched.driver.amount)
  await watched.chain.mine(6)
  const waiting = /wait: the node no longer has its balances or traces/
  await until(async () => waiting.test((await watched.state()).reason ?? ''), { what: 'it waits' })
  expect(await watched.statusOf(invoice.id)).toBe('confirming')
  second.tellTheTruth()
  await watched.untilStatus(invoice.id, 'paid')
})

test('a second provider that takes some seconds for each trace gives its word all the same', async () => {
  const { adapter, changes } = throughTwo(true)
  const watcher = await watched.watchAtTip({ adapter, changes })
  const slowly = async (): Promise<void> => {
    second.before('debug_traceBlockByHash', slowly)
    await pause(SLOW_TRACE_MS)
  }
  second.before('debug_traceBlockByHash', slowly)
  const invoice = await watched.openInvoice([watcher])
  await watched.chain.pay(invoice.address, watched.driver.amount)
  await watched.chain.mine(6)
  await watched.untilStatus(invoice.id, 'paid')
  second.before('debug_traceBlockByHash', async () => {})
})

test('a second provider that reads no tokens confirms coin all the same', async () => {
  const { adapter, changes } = throughTwo(true)
  const watcher = await watched.watchAtTip({ adapter, changes })
  for (const method of ['eth_getLogs', 'eth_getBlockReceipts'])
    second.lie(method, () => {
      throw new Error('logs are not part of this plan today')
    })
  const invoice = await watched.openInvoice([watcher])
  await watched.chain.pay(invoice.address, watched.driver.amount)
  await watched.chain.anvil.send(watched.chain.token.mint(invoice.address, 1n))
  await watched.chain.mine(6)
  await watched.untilStatus(invoice.id, 'paid')
})

test('an old block that nobody can trace any more leaves new ones traced', async () => {
  const { adapter, changes } = throughTwo(true)
  const watcher = await watched.watchAtTip({ adapter, changes })
  const { amount } = watched.driver
  const pays = (address: string) =>
    watched.chain.anvil.send({
      to: payer,
      value: amount,
      data: callData('pay(address[],uint256[])', [address], [amount]),
    })
  const [old, closed] = [await watched.openInvoice([watcher]), await watched.openInvoice([watcher])]
  await watched.database.owner.query(`update invoice set cancelled_at = now() where id = $1`, [closed.id])
  const read = new Set<unknown>()
  let isOld = true
  first.lie('debug_traceBlockByHash', (told, { params }) => {
    if (read.has(params[0])) throw new Error('historical state is not available')
    if (isOld) read.add(params[0])
    return told
  })
  putAway(second, () => true)
  await pays(old.address)
  await watched.chain.mine(6)
  const waiting = /wait: the node no longer has its balances or traces|wait for another provider/
  await until(async () => waiting.test((await watched.state()).reason ?? ''), { what: 'it waits' })
  await watched.untilReadSince(new Date())
  isOld = false
  // Its checkout is closed: only traces find what a contract pays to it.
  await pays(closed.address)
  await watched.chain.mine(2)
  await watched.untilStatus(closed.id, 'confirming')
})

test('a block that the node refuses to tell again holds up no other payment', async () => {
  const { adapter, changes } = throughTwo(true)
  const watcher = await watched.watchAtTip({ adapter, changes })
  const [refused, later] = [await watched.openInvoice([watcher]), await watched.openInvoice([watcher])]
  await watched.chain.pay(refused.address, watched.driver.amount)
  await watched.chain.mine(1)
  await watched.untilStatus(refused.id, 'confirming')
  const hash = await watched.chain.tipHash()
  first.forbid(({ method, params }) => /trace|ByHash|Receipts/.test(method) && params[0] === hash)
  await watched.chain.pay(later.address, watched.driver.amount)
  await watched.chain.mine(6)
  await watched.untilStatus(later.id, 'paid')
  expect((await watched.state()).reason).toMatch(/wait: .*refuses the key/)
  expect(await watched.statusOf(refused.id)).toBe('confirming')
  first.tellTheTruth()
  await watched.untilStatus(refused.id, 'paid')
})

test('a block that the node refuses to tell again is paid for by the word of two others', async () => {
  const watcher = await watched.watchAtTip(throughThree())
  const invoice = await watched.openInvoice([watcher])
  await watched.chain.pay(invoice.address, watched.driver.amount)
  await watched.chain.mine(1)
  await watched.untilStatus(invoice.id, 'confirming')
  const hash = await watched.chain.tipHash()
  first.forbid(({ method, params }) => /trace|ByHash|Receipts/.test(method) && params[0] === hash)
  await watched.chain.mine(6)
  await watched.untilStatus(invoice.id, 'paid')
})

test('a provider that hangs on the blocks’ contents keeps two others from nothing for long', async () => {
  const watcher = await watched.watchAtTip(throughThree())
  for (const method of ['debug_traceBlockByHash', 'eth_getBlockByHash', 'eth_getBlockReceipts'])
    second.stall(method)
  const contentsAsked = () => second.calls.filter((method) => /trace|ByHash|Receipts/.test(method))
  const before = contentsAsked().length
  const invoices = await Promise.all([1, 2, 3, 4].map(() => watched.openInvoice([watcher])))
  for (const { address } of invoices) {
    await watched.chain.pay(address, watched.driver.amount)
    await watched.chain.mine(1)
  }
  await watched.chain.mine(6)
  for (const { id } of invoices) await watched.untilStatus(id, 'paid')
  // One answer was waited for, and no other block was asked about.
  expect(contentsAsked().slice(before)).toHaveLength(1)
})

test('what a rescan records beside a round is looked at before it is paid', async () => {
  const { adapter, changes } = throughTwo(true)
  const watcher = await watched.watchAtTip({ adapter, changes })
  const [victim, honest] = [await watched.openInvoice([watcher]), await watched.openInvoice([watcher])]
  await watched.chain.anvil.send({ to: `0x${'12'.repeat(20)}`, value: 1n })
  await watched.chain.mine(6)
  const height = (await watched.chain.anvil.height()) - 5
  await watched.untilRead()
  let release = () => {}
  const isHeld = new Promise<void>((held) => {
    second.before('debug_traceBlockByHash', () => {
      held()
      return new Promise((resolve) => {
        release = resolve
      })
    })
  })
  await watched.chain.pay(honest.address, watched.driver.amount)
  await watched.chain.mine(6)
  await isHeld
  const liar = await startRpcProxy(watched.chain.url)
  inventInnerPayments(liar, victim.address)
  await rescanEvm(watched, height, liar.url)
  expect(await watched.statusOf(victim.id)).toBe('confirming')
  release()
  await watched.untilStatus(victim.id, 'awaiting_payment')
  expect(await watched.eventsOf(victim.id)).not.toContain('paid')
  await liar.close()
})

test('payments are paid however many earlier blocks the second provider no longer has', async () => {
  const { adapter, changes } = throughTwo(true)
  const watcher = await watched.watchAtTip({ adapter, changes })
  const lost = await watched.openInvoice([watcher])
  const forgotten = new Set<unknown>()
  let isForgetting = true
  putAway(second, (block) => {
    if (isForgetting) forgotten.add(block)
    return forgotten.has(block)
  })
  for (let count = 0; count < 21; count++) {
    await watched.chain.pay(lost.address, watched.driver.amount / 100n)
    await watched.chain.mine(1)
  }
  const waiting = /wait for another provider to find them there as well; payments in 21 blocks wait/
  await until(async () => waiting.test((await watched.state()).reason ?? ''), { what: 'it says how many' })
  isForgetting = false
  const invoice = await watched.openInvoice([watcher])
  await watched.chain.pay(invoice.address, watched.driver.amount)
  await watched.chain.mine(6)
  await watched.untilStatus(invoice.id, 'paid')
  await until(async () => waiting.test((await watched.state()).reason ?? ''), {
    what: 'it still says how many',
  })
  expect(await watched.eventsOf(lost.id)).not.toContain('partially_paid')
})
