import { afterEach, expect, test } from 'vitest'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { type DrivenSolana, solanaDriver } from '../support/solana-driver.ts'
import { until } from '../support/until.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** What counts where the node is on another fork than the one that was read, and nobody remembers the way. */

/** More blocks than lie between one that was read and the ancestor that is assumed for it. */
const DEEPER_THAN_ASSUMED = 530
const KEPT = 100

const WAYS = ['blocks', 'accounts'] as const

let watched: WatchedChain<DrivenSolana>
let proxy: RpcProxy
afterEach(async () => {
  await watched.close()
  await proxy.close()
})

async function begin(way: (typeof WAYS)[number]): Promise<void> {
  watched = await WatchedChain.open(solanaDriver(way))
  proxy = await startRpcProxy(watched.chain.url)
}
const watchThroughProxy = () => watched.watchAtTip({ adapter: watched.chain.adapter(proxy.url) })

/** And the payment stays as it was. */
async function untilHalted(invoiceId: string): Promise<void> {
  const isHalted = async () => (await watched.state()).status === 'halted'
  const isPaid = async () => (await watched.statusOf(invoiceId)) === 'paid'
  await until(async () => (await isHalted()) || isPaid(), { what: 'the network halts' })
  expect(await watched.statusOf(invoiceId)).toBe('confirming')
}

test.each(WAYS)('a payment on a fork that was left deeper than assumed is never paid, by %s', async (way) => {
  await begin(way)
  const watcher = await watchThroughProxy()
  const invoice = await watched.openInvoice([watcher], watched.needs(DEEPER_THAN_ASSUMED + 20))
  const txid = await watched.chain.pay(invoice.address, watched.driver.amount)
  await watched.chain.mine(DEEPER_THAN_ASSUMED)
  await watched.untilRead()
  await watched.untilStatus(invoice.id, 'confirming')
  await watched.stopWatchers()
  await watched.chain.reorganise(0, txid)
  await watched.chain.payer.mine(100)
  watched.watch()
  await untilHalted(invoice.id)
  expect((await watched.state()).reason).toContain('find out which chain is right')
})

test.each([
  ['is final', true],
  ['is not final', false],
])('a node that keeps too little to show the fork of a payment that %s', async (_which, isFinal) => {
  await begin('blocks')
  const watcher = await watchThroughProxy()
  const needed = isFinal ? 1 : DEEPER_THAN_ASSUMED + 20
  const invoice = await watched.openInvoice([watcher], watched.needs(needed))
  await watched.chain.pay(invoice.address, watched.driver.amount)
  await watched.chain.mine(DEEPER_THAN_ASSUMED)
  await watched.untilRead()
  await watched.untilStatus(invoice.id, isFinal ? 'paid' : 'confirming')
  await watched.stopWatchers()
  await watched.chain.reorganise(2)
  const kept = ((await watched.state()).height ?? 0) - KEPT
  proxy.lie('getBlocks', (slots) => (slots as number[]).filter((slot) => slot >= kept))
  proxy.lie('getFirstAvailableBlock', () => kept)
  watched.watch({ adapter: watched.chain.adapter(proxy.url) })
  if (isFinal) {
    await watched.untilRead()
    expect(await watched.paymentsOf(invoice.id)).toEqual(['confirmed'])
    return
  }
  await untilHalted(invoice.id)
  expect((await watched.state()).reason).toMatch(/has pruned block \d+.*use a node that still has/)
})
