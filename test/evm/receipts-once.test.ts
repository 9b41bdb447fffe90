import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { until } from '../support/until.ts'
import { WatchedChain } from '../support/watched-chain.ts'

const AMOUNT = 10_000_000n
const TRUE_AMOUNT = 4_000_000n

type Receipt = { readonly logs: readonly { readonly data: string }[] }

let watched: WatchedChain<DrivenAnvil>
let proxy: RpcProxy
beforeAll(async () => {
  watched = await WatchedChain.open(evmDriver('USDC_BASE', { nativeMode: 'balances' }))
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

test('without traces a block is read and proved from one answer, its receipts', async () => {
  const { chain } = watched
  const adapter = chain.adapter(proxy.url)
  try {
    const { address, addressBytes } = await chain.newAddress()
    adapter.watched.add([addressBytes])
    await adapter.connect()
    const checkpoint = await adapter.tip()
    await chain.pay(address, AMOUNT)
    await chain.mine(1)
    const before = proxy.calls.length
    const update = await adapter.nextUpdate(checkpoint, 10)
    const proven = await adapter.tokens?.prove(checkpoint, checkpoint.height + 1)
    expect(update?.blocks[0]?.transfers).toMatchObject([{ asset: 'USDC_BASE', amount: AMOUNT }])
    expect(proven?.blocks[0]?.transfers).toEqual(update?.blocks[0]?.transfers)
    const asked = proxy.calls.slice(before)
    expect(asked.filter((method) => method === 'eth_getBlockReceipts')).toHaveLength(1)
    expect(asked).not.toContain('eth_getLogs')
  } finally {
    await adapter.close()
  }
})

test('receipts with another amount are never paid, and what their block proves takes its place', async () => {
  const watcher = await watched.watchAtTip({ adapter: watched.chain.adapter(proxy.url) })
  const victim = await watched.openInvoice([watcher])
  const before = await watched.availableBalance()
  const data = `0x${AMOUNT.toString(16).padStart(64, '0')}`
  proxy.lie('eth_getBlockReceipts', (receipts) =>
    (receipts as Receipt[]).map((each) => ({ ...each, logs: each.logs.map((log) => ({ ...log, data })) })),
  )
  await watched.chain.pay(victim.address, TRUE_AMOUNT)
  await watched.chain.mine(4)
  await until(async () => /do not have the root/.test((await watched.state()).reason ?? ''), {
    what: 'the receipts are refused',
  })
  proxy.tellTheTruth()
  await watched.untilStatus(victim.id, 'partially_paid')
  await until(async () => (await watched.state()).status === 'ok', { what: 'the network is followed again' })
  expect(await watched.availableBalance()).toBe(before + TRUE_AMOUNT)
  expect(await watched.eventsOf(victim.id)).not.toContain('paid')
})

test('of one block whose receipts were wrong all payments are taken back at once', async () => {
  const halts: string[] = []
  const onHealth = (_network: string, status: string, reason: string | null) => {
    if (status === 'halted') halts.push(reason ?? '')
  }
  const adapter = watched.chain.adapter(proxy.url)
  const watcher = await watched.watchAtTip({ adapter, changes: { observer: { onHealth } } })
  const before = await watched.availableBalance()
  const invoices = []
  for (let count = 0; count < 8; count++) invoices.push(await watched.openInvoice([watcher]))
  proxy.lie('eth_getBlockReceipts', (receipts) =>
    (receipts as Receipt[]).map((each) => ({ ...each, logs: each.logs.flatMap((log) => [log, log]) })),
  )
  for (const { address } of invoices) await watched.chain.pay(address, AMOUNT)
  // By itself: several blocks are read by their logs.
  await watched.chain.mine(1)
  const paidIn = await watched.chain.tipHash()
  await until(async () => (await watched.state()).hash === paidIn, { what: 'the payments are recorded' })
  await watched.chain.mine(3)
  await until(async () => /do not have the root/.test((await watched.state()).reason ?? ''), {
    what: 'the receipts are refused',
  })
  proxy.tellTheTruth()
  for (const { id } of invoices) await watched.untilStatus(id, 'paid')
  expect(await watched.availableBalance()).toBe(before + 8n * AMOUNT)
  expect(halts.filter((reason) => /was read with a payment/.test(reason))).toHaveLength(1)
})
