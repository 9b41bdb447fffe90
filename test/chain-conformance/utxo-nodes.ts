import { expect, test } from 'vitest'
import type { TestNode } from '../support/litecoind.ts'
import { until } from '../support/until.ts'
import { coinsOf, type DrivenNode, driveNode, settingOf } from '../support/utxo-driver.ts'
import type { WatchedChain } from '../support/watched-chain.ts'

const PAID_EVENTS = ['payment_detected', 'confirming', 'paid']

type Watched = WatchedChain<DrivenNode>

/** What a node can do to its watcher without a lie: restart, forget, fall behind, change sides. */
export function describeUtxoNodes(watchedChain: () => Watched): void {
  test('a payment that the node forgets over a restart is offered to it again, and is paid', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const invoice = await watched.openInvoice([await watched.watchAtTip()])
    const txid = await watched.chain.pay(invoice.address, watched.driver.amount)
    await watched.untilStatus(invoice.id, 'payment_detected')
    await node.stop()
    await node.start(['-persistmempool=0', '-walletbroadcast=0'])
    await until(async () => (await node.rpc<string[]>('getrawmempool')).includes(txid), {
      what: 'the payment waits again',
    })
    await node.mine(1)
    await watched.untilStatus(invoice.id, 'paid')
    expect(await watched.eventsOf(invoice.id)).toEqual(PAID_EVENTS)
    // For the tests after this one the wallet sends again.
    await node.stop()
    await node.start()
  })

  test('a payment that node and watcher forget over a restart counts as on time whenever it is sent again', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const first = await watched.watchAtTip()
    const [sentAgain, lost] = [await watched.openInvoice([first]), await watched.openInvoice([first])]
    const coins = coinsOf(watched.driver.amount)
    const { hex } = await node.payMany([{ [sentAgain.address]: coins }])
    await node.payMany([{ [lost.address]: coins }])
    for (const { id } of [sentAgain, lost]) await watched.untilStatus(id, 'payment_detected')
    await watched.stopWatchers()
    await node.stop()
    await node.start(['-persistmempool=0', '-walletbroadcast=0'])
    await watched.watchAtTip()
    for (const { id } of [sentAgain, lost]) await watched.untilStatus(id, 'awaiting_payment')
    await watched.database.owner.query(
      `update invoice set expires_at = now() - interval '1 hour' where id = any($1)`,
      [[sentAgain.id, lost.id]],
    )
    await watched.database.owner.query(
      `update transfer set first_seen_at = now() - interval '2 hours' where invoice_id = any($1)`,
      [[sentAgain.id, lost.id]],
    )
    for (const { id } of [sentAgain, lost]) await watched.untilStatus(id, 'expired')
    await node.rpc('sendrawtransaction', [hex])
    await watched.untilStatus(sentAgain.id, 'payment_detected')
    await node.mine(1)
    await watched.untilStatus(sentAgain.id, 'paid')
    expect(await watched.statusOf(lost.id)).toBe('expired')
    expect(await watched.paymentsOf(lost.id)).toEqual(['replaced'])
    // For the tests after this one the wallet sends again.
    await node.stop()
    await node.start()
  })

  test('blocks that the node declared invalid are disconnected even while nothing better is known', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const invoice = await watched.openInvoice([await watched.watchAtTip()])
    await watched.chain.pay(invoice.address, watched.driver.amount)
    const [hash] = await node.mine(2)
    await watched.untilStatus(invoice.id, 'paid')
    await node.rpc('invalidateblock', [hash])
    await watched.untilStatus(invoice.id, 'manual_review')
    await node.rpc('reconsiderblock', [hash])
    await watched.untilStatus(invoice.id, 'paid')
  })

  test('a node that lost its newest blocks in a crash is waited for, and nothing is taken back meanwhile', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const invoice = await watched.openInvoice([await watched.watchAtTip()])
    await watched.chain.pay(invoice.address, watched.driver.amount)
    // Makes the node write down all that it has; what comes after it holds in memory.
    await node.rpc('gettxoutsetinfo')
    const lost: string[] = []
    for (const hash of await node.mine(2)) lost.push(await node.rpc<string>('getblock', [hash, 0]))
    await watched.untilStatus(invoice.id, 'paid')
    await watched.untilRead()
    await node.stop('kill')
    await until(async () => (await watched.state()).reason?.includes(settingOf(node.chain)) === true, {
      what: 'the network is unavailable, with the fix',
    })
    await node.start()
    await until(async () => (await watched.state()).status === 'syncing', { what: 'the node is behind' })
    expect(await watched.statusOf(invoice.id)).toBe('paid')
    for (const block of lost) await node.rpc('submitblock', [block])
    await until(async () => (await watched.state()).status === 'ok', { what: 'it is followed again' })
    await watched.untilRead()
    expect(await watched.eventsOf(invoice.id)).toEqual(PAID_EVENTS)
  })

  test('a node that has fallen behind is waited for, and credits go on when it has caught up', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const twin = await node.copy()
    try {
      const invoice = await watched.openInvoice([await watched.watchAtTip()], watched.needs(3))
      await watched.chain.pay(invoice.address, watched.driver.amount)
      const hashes = await node.mine(2)
      await watched.untilStatus(invoice.id, 'confirming')
      await watched.stopWatchers()
      const before = await watched.balances()
      watched.watch({ adapter: driveNode(twin).adapter() })
      await until(async () => (await watched.state()).status === 'syncing', { what: 'the node is behind' })
      expect((await watched.state()).reason).toMatch(/does not know block \d+, which was read before/)
      expect(await watched.statusOf(invoice.id)).toBe('confirming')
      expect(await watched.balances()).toEqual(before)
      for (const hash of [...hashes, ...(await node.mine(1))]) await hand(node, twin, hash)
      await watched.untilStatus(invoice.id, 'paid')
      expect(await watched.eventsOf(invoice.id)).toEqual(PAID_EVENTS)
    } finally {
      await watched.stopWatchers()
      await twin.remove()
    }
  })

  test('a node on another fork is followed once it has overtaken, and what its chain lacks is taken back', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const { amount } = watched.driver
    const twin = await node.copy()
    try {
      const watcher = await watched.watchAtTip()
      const [paid, moved] = [await watched.openInvoice([watcher]), await watched.openInvoice([watcher])]
      const before = await watched.availableBalance()
      const hex = await node.signUnsent([{ [paid.address]: coinsOf(amount) }])
      await node.mineOnly([hex])
      const shared = await node.payMany([{ [moved.address]: coinsOf(amount) }])
      await node.mine(2)
      for (const { id } of [paid, moved]) await watched.untilStatus(id, 'paid')
      await watched.stopWatchers()

      // Below our height the other chain proves nothing.
      await twin.mine(2)
      const adapter = driveNode(twin).adapter()
      adapter.watched.add(await Promise.all([paid, moved].map(({ address }) => node.addressBytesOf(address))))
      watched.watch({ adapter })
      await until(async () => (await watched.state()).status === 'syncing', {
        what: 'the node is not higher',
      })
      expect(await watched.availableBalance()).toBe(before + 2n * amount)

      await twin.mine(3)
      for (const { id } of [paid, moved]) await watched.untilStatus(id, 'manual_review')
      expect(await watched.paymentsOf(paid.id)).toEqual(['reorged'])
      expect(await watched.availableBalance()).toBe(before)

      for (const each of [hex, shared.hex]) await twin.rpc('sendrawtransaction', [each])
      await twin.mine(1)
      for (const { id } of [paid, moved]) await watched.untilStatus(id, 'paid')
      expect(await watched.availableBalance()).toBe(before + 2n * amount)
      // The tests after this one go on with one chain.
      await handAll(twin, node)
    } finally {
      await watched.stopWatchers()
      await twin.remove()
    }
  })

  test('a node whose chain leaves ours below every reorganisation halts the network and takes nothing back', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const twin = await node.copy()
    try {
      const invoice = await watched.openInvoice([await watched.watchAtTip()])
      await watched.chain.pay(invoice.address, watched.driver.amount)
      await node.mine(102)
      await watched.untilStatus(invoice.id, 'paid')
      await watched.untilRead()
      const before = await watched.balances()
      await watched.stopWatchers()
      await twin.mine(104)
      watched.watch({ adapter: driveNode(twin).adapter() })
      await until(async () => (await watched.state()).status === 'halted', { what: 'the network is halted' })
      expect((await watched.state()).reason).toMatch(/left the chain more than 100 blocks below/)
      expect(await watched.statusOf(invoice.id)).toBe('paid')
      expect(await watched.balances()).toEqual(before)
      await watched.stopWatchers()
      // On the chain where it was it goes on.
      watched.watch()
      await node.mine(1)
      await watched.untilRead()
      expect((await watched.state()).status).toBe('ok')
    } finally {
      await watched.stopWatchers()
      await twin.remove()
    }
  })
}

/** Gives one node's block to another, as its peers would. */
async function hand(from: TestNode, to: TestNode, hash: string): Promise<void> {
  const refused = await to.rpc<string | null>('submitblock', [await from.rpc('getblock', [hash, 0])])
  if (refused !== null && refused !== 'inconclusive')
    throw new Error(`the node refuses the block: ${refused}`)
}

async function handAll(from: TestNode, to: TestNode): Promise<void> {
  const height = await from.rpc<number>('getblockcount')
  for (let at = height - 5; at <= height; at++) await hand(from, to, await from.rpc('getblockhash', [at]))
}
