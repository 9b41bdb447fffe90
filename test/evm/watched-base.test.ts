import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { EvmAdapter, type EvmAdapterOptions } from '../../src/chain/evm/evm-adapter.ts'
import { receiptsSchema } from '../../src/chain/evm/evm-answers.ts'
import { receiptsRootOf } from '../../src/chain/evm/receipts-root.ts'
import { ProviderGroup } from '../../src/chain/provider-group.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { callData, deployTestToken } from '../support/evm-contracts.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { until } from '../support/until.ts'
import { WatchedChain } from '../support/watched-chain.ts'

const AMOUNT = 10_000_000n
const PAID_EVENTS = ['payment_detected', 'confirming', 'paid']

type Receipt = { readonly status: string }
type Log = { readonly topics: readonly string[]; readonly data: string }

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

const throughProxy = () => ({ adapter: watched.chain.adapter(proxy.url), changes: {} })

/** Two providers, one of them or both through the proxy. */
function throughTwo(proxied: 'first' | 'second' | 'both' = 'first') {
  const options = { ...(watched.chain.recipe.options as EvmAdapterOptions), clock: systemClock }
  const lying = { ...options, url: proxy.url }
  const first = new EvmAdapter(proxied === 'second' ? options : lying)
  const second = new EvmAdapter({
    ...(proxied === 'first' ? options : lying),
    watched: first.watched,
  })
  const group = new ProviderGroup(
    { name: 'first', chain: first },
    [{ name: 'second', chain: second }],
    systemClock,
  )
  return { adapter: group, changes: { agreement: group } }
}

const paddedTo = (log: Log, address: string): Log => ({
  ...log,
  topics: [log.topics[0] ?? '', log.topics[1] ?? '', `0x${address.slice(2).padStart(64, '0')}`],
})

test('a payment is paid once its block is safe, and a large one once it is finalized', async () => {
  const watcher = await watched.watchAtTip()
  const [small, large] = [
    await watched.openInvoice([watcher], { confirmations: { USDC_BASE: 'safe' } }),
    await watched.openInvoice([watcher], { confirmations: { USDC_BASE: 'finalized' } }),
  ]
  for (const { address } of [small, large]) await watched.chain.pay(address, AMOUNT)
  await watched.chain.mine(1)
  for (const { id } of [small, large]) await watched.untilStatus(id, 'confirming')
  await watched.untilRead()
  expect(await watched.statusOf(small.id)).toBe('confirming')
  // On this chain one block above makes a block safe, and two make it finalized.
  await watched.chain.mine(1)
  await watched.untilStatus(small.id, 'paid')
  await watched.untilRead()
  expect(await watched.statusOf(large.id)).toBe('confirming')
  await watched.chain.mine(1)
  await watched.untilStatus(large.id, 'paid')
})

test.each([
  ['one provider, by receipts', throughProxy],
  ['two providers, by the other one', () => throughTwo()],
])('a log that the head left out is found by the second reading: %s', async (_how, providers) => {
  const watcher = await watched.watchAtTip(providers())
  const [told, hidden] = [await watched.openInvoice([watcher]), await watched.openInvoice([watcher])]
  proxy.lie('eth_getLogs', (logs) =>
    (logs as Log[]).filter(({ topics }) => !topics[2]?.endsWith(hidden.address.slice(2))),
  )
  for (const { address } of [told, hidden]) await watched.chain.pay(address, AMOUNT)
  await watched.chain.mine(1)
  await watched.untilStatus(told.id, 'paid')
  await watched.chain.mine(2)
  await watched.untilStatus(hidden.id, 'paid')
  for (const { id } of [told, hidden]) expect(await watched.eventsOf(id)).toEqual(PAID_EVENTS)
})

test.each([
  ['one provider', throughProxy],
  ['two providers', () => throughTwo()],
])('a log that never was is never paid, and the network halts: %s', async (_how, providers) => {
  const { adapter, changes } = providers()
  // Long enough to be seen.
  const watcher = await watched.watchAtTip({ adapter, changes: { ...changes, haltedRetryMs: 5_000 } })
  const victim = await watched.openInvoice([watcher])
  const before = await watched.availableBalance()
  proxy.lie('eth_getLogs', (logs) => {
    const [log] = logs as Log[]
    return log === undefined ? logs : [...(logs as Log[]), paddedTo(log, victim.address)]
  })
  await watched.chain.pay((await watched.chain.newAddress()).address, AMOUNT)
  await watched.chain.mine(4)
  await until(
    async () => {
      const { status, reason } = await watched.state()
      return status === 'halted' && /the second reading does not find it/.test(reason ?? '')
    },
    { what: 'the network halts' },
  )
  expect(await watched.availableBalance()).toBe(before)
  expect(await watched.eventsOf(victim.id)).not.toContain('paid')
  // Whoever lied is left out; what it invented is taken back by what the blocks themselves prove.
  await watched.stopWatchers()
  proxy.tellTheTruth()
  await watched.watchAtTip()
  await watched.untilStatus(victim.id, 'awaiting_payment')
  await until(async () => (await watched.state()).status === 'ok', { what: 'the network is followed again' })
  expect(await watched.availableBalance()).toBe(before)
})

test('what the other provider alone says is neither paid nor taken back, and stops nothing', async () => {
  const watcher = await watched.watchAtTip(throughTwo('second'))
  const [victim, hidden] = [await watched.openInvoice([watcher]), await watched.openInvoice([watcher])]
  proxy.lie('eth_getLogs', (logs) => {
    const told = (logs as Log[]).filter(({ topics }) => !topics[2]?.endsWith(hidden.address.slice(2)))
    const [log] = logs as Log[]
    return log === undefined ? told : [...told, paddedTo(log, victim.address)]
  })
  await watched.chain.pay(hidden.address, AMOUNT)
  await watched.chain.mine(4)
  await watched.untilStatus(hidden.id, 'paid')
  const later = await watched.openInvoice([watcher])
  await watched.chain.pay(later.address, AMOUNT)
  await watched.chain.mine(4)
  await watched.untilStatus(later.id, 'paid')
  expect(await watched.eventsOf(victim.id)).toEqual([])
  expect((await watched.state()).status).toBe('ok')
})

test('a payment that the first hides is not forgotten while its receipts cannot be read', async () => {
  const watcher = await watched.watchAtTip(throughTwo())
  const hidden = await watched.openInvoice([watcher])
  proxy.lie('eth_getLogs', (logs) =>
    (logs as Log[]).filter(({ topics }) => !topics[2]?.endsWith(hidden.address.slice(2))),
  )
  // Another log in the block: an empty answer would be looked into.
  await watched.chain.pay((await watched.chain.newAddress()).address, AMOUNT)
  await watched.chain.pay(hidden.address, AMOUNT)
  await watched.chain.mine(1)
  await watched.untilRead()
  proxy.forbid(({ method }) => /Receipt/.test(method))
  await watched.chain.mine(4)
  const isWaiting = async () => /two providers must give receipts/.test((await watched.state()).reason ?? '')
  await until(isWaiting, { what: 'the network says why' })
  expect(await watched.eventsOf(hidden.id)).toEqual([])
  proxy.forbid(() => false)
  await watched.untilStatus(hidden.id, 'paid')
  await until(async () => !(await isWaiting()), { what: 'nothing waits any more' })
})

const isRange = ([filter]: readonly unknown[]) => 'fromBlock' in (filter as object)

test('logs that two providers lack for a range take nothing back: their receipts decide', async () => {
  const watcher = await watched.watchAtTip(throughTwo('both'))
  const invoice = await watched.openInvoice([watcher])
  proxy.lie('eth_getLogs', (logs, { params }) => (isRange(params) ? [] : logs))
  await watched.chain.pay(invoice.address, AMOUNT)
  await watched.chain.mine(4)
  await watched.untilStatus(invoice.id, 'paid')
  expect(await watched.eventsOf(invoice.id)).toEqual(PAID_EVENTS)
})

test('where a provider gives no logs for ranges, receipts of both decide', async () => {
  const watcher = await watched.watchAtTip(throughTwo())
  const invoice = await watched.openInvoice([watcher])
  proxy.forbid(({ method, params }) => method === 'eth_getLogs' && isRange(params))
  await watched.chain.pay(invoice.address, AMOUNT)
  await watched.chain.mine(4)
  await watched.untilStatus(invoice.id, 'paid')
})

test('a provider that is followed no longer does not confirm what it reported itself', async () => {
  const { adapter, changes } = throughTwo()
  const watcher = await watched.watchAtTip({ adapter, changes: { ...changes, haltedRetryMs: 500 } })
  const victim = await watched.openInvoice([watcher])
  const invent = () =>
    proxy.lie('eth_getLogs', (logs) => {
      const [log] = logs as Log[]
      return log === undefined ? logs : [...(logs as Log[]), paddedTo(log, victim.address)]
    })
  invent()
  await watched.chain.pay((await watched.chain.newAddress()).address, AMOUNT)
  await watched.chain.mine(1)
  await watched.untilStatus(victim.id, 'confirming')
  proxy.hangUp()
  const isLeft = async () => /second is followed in place of first/.test((await watched.state()).reason ?? '')
  await until(isLeft, { what: 'the second provider is followed' })
  proxy.tellTheTruth()
  invent()
  await watched.chain.mine(4)
  await watched.untilStatus(victim.id, 'awaiting_payment')
  expect(await watched.eventsOf(victim.id)).not.toContain('paid')
})

async function askNode<Result>(method: string, ...params: unknown[]): Promise<Result> {
  const response = await fetch(watched.chain.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return ((await response.json()) as { result: Result }).result
}

test.each(['first', 'second'] as const)(
  'receipts that the %s provider forged with their root are never paid, and the network halts',
  async (liar) => {
    const { adapter, changes } = throughTwo(liar)
    const watcher = await watched.watchAtTip({ adapter, changes: { ...changes, haltedRetryMs: 500 } })
    const victim = await watched.openInvoice([watcher])
    proxy.lie('eth_getLogs', (logs) => {
      const [log] = logs as Log[]
      return log === undefined ? logs : [...(logs as Log[]), paddedTo(log, victim.address)]
    })
    await watched.chain.pay((await watched.chain.newAddress()).address, AMOUNT)
    await watched.chain.mine(1)
    await watched.untilRead()
    const hash = await watched.chain.tipHash()
    const [receipt, ...others] = await askNode<{ logs: Log[] }[]>('eth_getBlockReceipts', hash)
    const [log] = receipt?.logs ?? []
    if (receipt === undefined || log === undefined) throw new Error('the block has no log')
    const forged = [{ ...receipt, logs: [...receipt.logs, paddedTo(log, victim.address)] }, ...others]
    const isForged = (block: unknown) => (block as { hash?: string } | null)?.hash === hash
    const receiptsRoot = receiptsRootOf(receiptsSchema.parse(forged))
    proxy.lie('eth_getBlockReceipts', (told, { params }) => (params[0] === hash ? forged : told))
    for (const method of ['eth_getBlockByHash', 'eth_getBlockByNumber'])
      proxy.lie(method, (block) =>
        isForged(block) ? { ...(block as object), receiptsRoot, logsBloom: `0x${'ff'.repeat(256)}` } : block,
      )
    await watched.chain.mine(4)
    await until(async () => /different receipts in blocks/.test((await watched.state()).reason ?? ''), {
      what: 'the network halts',
    })
    expect(await watched.eventsOf(victim.id)).not.toContain('paid')
    await watched.stopWatchers()
    proxy.tellTheTruth()
    await watched.watchAtTip()
    await watched.untilStatus(victim.id, 'awaiting_payment')
    expect(await watched.eventsOf(victim.id)).not.toContain('paid')
  },
)

const TRUE_AMOUNT = 4_000_000n

/** From now on every log reports the full amount. */
function inflate(): void {
  proxy.lie('eth_getLogs', (logs) =>
    (logs as Log[]).map((log) => ({ ...log, data: `0x${AMOUNT.toString(16).padStart(64, '0')}` })),
  )
}

test.each([
  ['one provider', throughProxy],
  ['two providers', () => throughTwo()],
])(
  'a log with another amount is never paid: what the receipts prove takes its place: %s',
  async (_how, providers) => {
    const watcher = await watched.watchAtTip(providers())
    const victim = await watched.openInvoice([watcher])
    const before = await watched.availableBalance()
    inflate()
    await watched.chain.pay(victim.address, TRUE_AMOUNT)
    await watched.chain.mine(4)
    await watched.untilStatus(victim.id, 'partially_paid')
    await until(async () => (await watched.state()).status === 'ok', {
      what: 'the network is followed again',
    })
    expect(await watched.availableBalance()).toBe(before + TRUE_AMOUNT)
    expect(await watched.eventsOf(victim.id)).not.toContain('paid')
  },
)

test('Ether that comes for a USDC invoice is shown with its transaction, and the invoice stays payable', async () => {
  const watcher = await watched.watchAtTip()
  const invoice = await watched.openInvoice([watcher])
  const txid = await watched.chain.anvil.send({ to: invoice.address, value: 10n ** 16n })
  await watched.chain.mine(4)
  await until(async () => (await watched.eventsOf(invoice.id)).includes('manual_review'), {
    what: 'it is told',
  })
  const { rows } = await watched.database.owner.query(
    'select txid, asset, review_reason from transfer where invoice_id = $1',
    [invoice.id],
  )
  expect(rows).toEqual([{ txid, asset: 'ETH_BASE', review_reason: 'wrong_asset' }])
  expect(await watched.statusOf(invoice.id)).toBe('awaiting_payment')
  await watched.chain.pay(invoice.address, AMOUNT)
  await watched.chain.mine(2)
  await watched.untilStatus(invoice.id, 'paid')
})

test('tokens of the same name, reverted transfers and transfers of nothing credit nothing; real ones do', async () => {
  const { anvil, token } = watched.chain
  const watcher = await watched.watchAtTip()
  const invoice = await watched.openInvoice([watcher])
  const before = await watched.balances()
  const [sameName, withFee] = [await deployTestToken(anvil), await deployTestToken(anvil, 1_000n)]
  const transfer = callData('transfer(address,uint256)', invoice.address, AMOUNT)
  const revertAfter = callData('revertAfter(address,uint256)', invoice.address, AMOUNT)
  const senders = await anvil.rpc<string[]>('eth_accounts')
  const holdings = callData(
    'mintMany(address[],uint256[])',
    senders,
    senders.map(() => AMOUNT),
  )
  await anvil.send({ to: withFee.contract, data: holdings, gas: 20_000_000 })
  await anvil.mine(1)
  const worthless = [
    sameName.mint(invoice.address, AMOUNT),
    { to: withFee.contract, data: transfer },
    { to: token.contract, data: revertAfter, gas: 200_000 },
    token.mint(invoice.address, 0n),
  ]
  const txids: string[] = []
  for (const call of worthless) txids.push(await anvil.send(call))
  await anvil.mine(4)
  // They are on the chain, and did what their names say.
  const statuses = await Promise.all(
    txids.map(async (txid) => (await anvil.rpc<Receipt>('eth_getTransactionReceipt', [txid])).status),
  )
  expect(statuses).toEqual(['0x1', '0x1', '0x0', '0x1'])
  await watched.untilRead()
  expect(await watched.paymentsOf(invoice.id)).toEqual([])
  expect(await watched.eventsOf(invoice.id)).toEqual([])
  expect(await watched.balances()).toEqual(before)
  await watched.chain.pay(invoice.address, AMOUNT)
  await watched.chain.mine(3)
  await watched.untilStatus(invoice.id, 'paid')
})
