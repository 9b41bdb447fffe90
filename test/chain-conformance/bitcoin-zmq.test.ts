// @module-tag bitcoind
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { until } from '../support/until.ts'
import { coinsOf, type DrivenNode, utxoAdapterOptions, utxoDriver } from '../support/utxo-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** Longer than any test: whatever is seen sooner was reported by a notification. */
const NEVER_POLL_MS = 600_000

let watched: WatchedChain<DrivenNode>
const adapters: UtxoAdapter[] = []
beforeAll(async () => {
  watched = await WatchedChain.open(utxoDriver('bitcoin', { zmq: true }))
})
afterEach(async () => {
  await watched.stopWatchers()
  await Promise.all(adapters.splice(0).map((adapter) => adapter.close()))
})
afterAll(() => watched.close())

function listeningAdapter(): UtxoAdapter {
  const { rpcUrl, zmqUrl } = watched.chain.node
  const adapter = new UtxoAdapter({
    ...utxoAdapterOptions('bitcoin', rpcUrl),
    zmqUrl,
    clock: systemClock,
    probeIntervalMs: NEVER_POLL_MS,
  })
  adapters.push(adapter)
  return adapter
}

test('a watcher that never polls takes a payment to paid, and back and forth through a reorganisation', async () => {
  const { chain, driver } = watched
  const watcher = await watched.watchAtTip({
    adapter: listeningAdapter(),
    changes: { pollIntervalMs: NEVER_POLL_MS },
  })
  const invoice = await watched.openInvoice([watcher])
  const txid = await chain.pay(invoice.address, driver.amount)
  await watched.untilStatus(invoice.id, 'payment_detected')
  await chain.mine(2)
  await watched.untilStatus(invoice.id, 'paid')
  await chain.reorganise(2, txid)
  await watched.untilStatus(invoice.id, 'manual_review')
  await chain.mine(1)
  await watched.untilStatus(invoice.id, 'paid')
})

test('a real node wakes for a watched payment, what leaves its mempool and blocks, and for nothing else', async () => {
  const { node } = watched.chain
  const adapter = listeningAdapter()
  const address = await node.newAddress()
  adapter.watched.add([await node.addressBytesOf(address)])
  let wakes = 0
  const stop = adapter.subscribe(() => {
    wakes += 1
  })
  const wokenBy = async (what: string, work: () => Promise<unknown>) => {
    const before = wakes
    await work()
    await until(() => wakes > before, { what: `${what} wakes` })
  }
  try {
    await until(
      async () => {
        await node.mine(1)
        return wakes > 0
      },
      { what: 'the subscription stands' },
    )
    await wokenBy('a block', () => node.mine(1))
    let paying = ''
    await wokenBy('a payment to us', async () => {
      paying = await node.pay(address, coinsOf(1_000_000n), { replaceable: true })
    })
    await wokenBy('a replacement that pays none of ours', () => node.spendAgain(paying))
    await wokenBy('a block that leaves the chain', async () =>
      node.rpc('invalidateblock', [await node.rpc('getbestblockhash')]),
    )
    await wokenBy('a block', () => node.mine(2))

    // The stranger's message comes before the block's on the same socket.
    await quiet(() => wakes)
    const before = wakes
    await node.pay(await node.newAddress(), '0.01')
    await quiet(() => wakes)
    expect(wakes).toBe(before)
  } finally {
    stop()
  }
})

test('a node that is gone and back is heard again', async () => {
  const { node } = watched.chain
  const adapter = listeningAdapter()
  let wakes = 0
  const stop = adapter.subscribe(() => {
    wakes += 1
  })
  try {
    await node.stop()
    await node.start()
    await until(
      async () => {
        await node.mine(1)
        return wakes > 0
      },
      { what: 'a block of the restarted node wakes' },
    )
  } finally {
    stop()
  }
})

/** Until a round trip to the node brings no more notifications: it answers once it has published all it had to. */
async function quiet(count: () => number): Promise<void> {
  let last = -1
  await until(
    async () => {
      const isCalm = last === count()
      last = count()
      await watched.chain.node.rpc('syncwithvalidationinterfacequeue')
      return isCalm
    },
    { what: 'no more notifications arrive' },
  )
}
