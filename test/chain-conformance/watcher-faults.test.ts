import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { until } from '../support/litecoind.ts'
import { LTC, NETWORK, WatchedChain } from '../support/watched-chain.ts'
import { networkState } from '../support/watched-network.ts'

let chain: WatchedChain
beforeAll(async () => {
  chain = await WatchedChain.open()
})
afterEach(() => chain.stopWatchers())
afterAll(() => chain.close())

test('what happened while the watcher was away is told when it comes back, from its checkpoint', async () => {
  const first = await chain.watchAtTip()
  const invoice = await chain.openInvoice([first], { confirmations: { LTC: 6 } })
  await first.stop()
  await chain.node.pay(invoice.address, '1')
  await chain.node.mine(120)
  await chain.watchAtTip()
  await chain.untilStatus(invoice.id, 'paid')
  expect(await chain.eventsOf(invoice.id)).toEqual(['payment_detected', 'confirming', 'paid'])
})

test('a node that stops makes its network unavailable, expires nothing, and is taken up again', async () => {
  const watcher = await chain.watchAtTip()
  const invoice = await chain.openInvoice([watcher])
  const dueSoon = await chain.openInvoice([watcher], { expiresAtMs: Date.now() + 200 })
  await chain.node.stop()
  await until(async () => (await networkState(chain.database, NETWORK)).status === 'unavailable', {
    what: 'the network is unavailable',
  })
  const { reason } = await networkState(chain.database, NETWORK)
  expect(reason).toMatch(/refuses the connection: start it, or correct TEST_LITECOIN_RPC_URL/)
  await until(() => Date.now() > dueSoon.expiresAtMs, { what: 'the deadline has passed' })
  expect(await chain.statusOf(dueSoon.id)).toBe('awaiting_payment')
  await chain.node.start()
  await chain.untilStatus(dueSoon.id, 'expired')
  await chain.node.pay(invoice.address, '1')
  await chain.node.mine(1)
  await chain.untilStatus(invoice.id, 'paid')
  expect((await networkState(chain.database, NETWORK)).status).toBe('ok')
})

test('an invoice past its deadline expires once chain and mempool were read, unless they pay it', async () => {
  const watcher = await chain.watchAtTip()
  const paid = await chain.openInvoice([watcher], { expiresAtMs: Date.now() + 1_500 })
  const unpaid = await chain.openInvoice([watcher], { expiresAtMs: Date.now() + 1_500 })
  await chain.node.pay(paid.address, '1')
  await chain.untilStatus(unpaid.id, 'expired')
  expect(await chain.statusOf(paid.id)).toBe('payment_detected')
  await chain.node.mine(1)
  await chain.untilStatus(paid.id, 'paid')
})

test('a crash between credit and checkpoint repeats the work and tells nothing twice', async () => {
  const first = await chain.watchAtTip()
  const invoice = await chain.openInvoice([first])
  const before = await chain.availableBalance()
  const mend = await chain.breakCheckpoints()
  await chain.node.pay(invoice.address, '1')
  await chain.node.mine(1)
  await chain.untilStatus(invoice.id, 'paid')
  await first.stop()
  await mend()
  await chain.watchAtTip()
  await chain.untilRead()
  expect(await chain.eventsOf(invoice.id)).toEqual(['payment_detected', 'confirming', 'paid'])
  expect(await chain.availableBalance()).toBe(before + LTC)
})

test('a credit whose block left the chain before the checkpoint came there is taken back', async () => {
  const first = await chain.watchAtTip()
  const invoice = await chain.openInvoice([first])
  const before = await chain.availableBalance()
  const mend = await chain.breakCheckpoints()
  await chain.node.pay(invoice.address, '1')
  const [hash] = await chain.node.mine(1)
  await chain.untilStatus(invoice.id, 'paid')
  await first.stop()
  await mend()
  await chain.node.rpc('invalidateblock', [hash])
  await chain.watchAtTip()
  await chain.untilStatus(invoice.id, 'manual_review')
  expect(await chain.paymentsOf(invoice.id)).toEqual(['detected'])
  expect(await chain.availableBalance()).toBe(before)
  await chain.node.mine(2)
  await chain.untilStatus(invoice.id, 'paid')
  expect(await chain.availableBalance()).toBe(before + LTC)
})

test('of two watchers one follows, and the other takes over when it stops', async () => {
  const first = await chain.watchAtTip()
  const blocks: number[] = []
  const second = chain.watch({
    changes: { observer: { onBlock: (_network, height) => blocks.push(height) } },
  })
  await chain.node.mine(1)
  await chain.untilRead()
  expect(blocks).toEqual([])
  const invoice = await chain.openInvoice([first, second])
  await first.stop()
  await chain.node.pay(invoice.address, '1')
  await chain.node.mine(1)
  await chain.untilStatus(invoice.id, 'paid')
  await until(() => blocks.length > 0, { what: 'the second has told of its block' })
})

test('a watcher whose lead connection is cut takes the lead again and goes on', async () => {
  const watcher = await chain.watchAtTip()
  const invoice = await chain.openInvoice([watcher])
  await chain.database.owner.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1`,
    [`paylink-watcher-${NETWORK}`],
  )
  await chain.node.pay(invoice.address, '1')
  await chain.node.mine(1)
  await chain.untilStatus(invoice.id, 'paid')
})

test.each([
  [
    'a wrong password',
    (url: URL) => {
      url.password = 'wrong'
    },
    'unavailable',
    /refuses the user name or password/,
  ],
  [
    'a port where nothing listens',
    (url: URL) => {
      url.port = '1'
    },
    'unavailable',
    /refuses the connection/,
  ],
  [
    'a host name that does not exist',
    (url: URL) => {
      url.hostname = 'nowhere.invalid'
    },
    'unavailable',
    /does not resolve/,
  ],
])('%s leaves the network with a reason that names the mend', async (_what, spoil, status, reason) => {
  const url = new URL(chain.node.rpcUrl)
  spoil(url)
  chain.watch({ rpcUrl: url.toString() })
  await until(async () => reason.test((await chain.stateOrNull())?.reason ?? ''), {
    what: 'the reason is told',
  })
  const state = await networkState(chain.database, NETWORK)
  expect(state.status).toBe(status)
  expect(state.reason).toContain('TEST_LITECOIN_RPC_URL')
  expect(state.reason).not.toContain('secret')
})
