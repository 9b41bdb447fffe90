import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { type DrivenNode, utxoAdapterOptions, utxoDriver } from '../support/utxo-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** Longer than any test: what is seen sooner was reported by the node, or found by asking it in short intervals. */
const NEVER_MS = 600_000
/** Time enough for a block and a payment between two looks. */
const BETWEEN_LOOKS_MS = 3_000

const watched: WatchedChain<DrivenNode>[] = []
const adapters: UtxoAdapter[] = []
afterEach(async () => {
  await Promise.all(watched.map((each) => each.stopWatchers()))
  await Promise.all(adapters.splice(0).map((adapter) => adapter.close()))
})
afterAll(() => Promise.all(watched.map((each) => each.close())))

async function open(chain: 'litecoin' | 'bitcoin'): Promise<WatchedChain<DrivenNode>> {
  const opened = await WatchedChain.open(utxoDriver(chain, { zmq: true }))
  watched.push(opened)
  return opened
}

async function watchAtTip(
  on: WatchedChain<DrivenNode>,
  zmqUrl = on.chain.node.zmqUrl,
  timing: { readonly probeIntervalMs?: number } = {},
) {
  const options = { ...utxoAdapterOptions(on.chain.node.chain, on.chain.node.rpcUrl), ...timing }
  const adapter = new UtxoAdapter({ ...options, zmqUrl, clock: systemClock })
  adapters.push(adapter)
  return on.watchAtTip({ adapter, changes: { pollIntervalMs: NEVER_MS, upkeepIntervalMs: 0 } })
}

async function payAndSee(on: WatchedChain<DrivenNode>, watcher: Awaited<ReturnType<typeof watchAtTip>>) {
  const invoice = await on.openInvoice([watcher])
  await on.chain.pay(invoice.address, on.driver.amount)
  await on.untilStatus(invoice.id, 'payment_detected')
  await on.chain.mine(1)
  await on.untilStatus(invoice.id, 'paid')
}

const silenceOf = async (on: WatchedChain<DrivenNode>) => (await on.state()).notificationsSilent

describe('a node that was built without ZeroMQ, and an address of it', { tags: ['litecoind'] }, () => {
  let litecoin: WatchedChain<DrivenNode>
  beforeAll(async () => {
    litecoin = await open('litecoin')
  })

  test('payments and blocks are found by asking, as without the address, and the state says so', async () => {
    const watcher = await watchAtTip(litecoin)
    await payAndSee(litecoin, watcher)
    expect(await silenceOf(litecoin)).toMatch(/^the node was built without ZeroMQ.* TEST_LITECOIN_ZMQ_URL/)
  })
})

describe('a node that publishes by ZeroMQ', { tags: ['bitcoind'] }, () => {
  let bitcoin: WatchedChain<DrivenNode>
  beforeAll(async () => {
    bitcoin = await open('bitcoin')
  })
  const isHeardAgain = async () => {
    await bitcoin.chain.mine(1)
    return (await silenceOf(bitcoin)) === null
  }

  test('a connection cut in silence delays no payment, is reported, and is opened again', async () => {
    const proxy = await startTcpProxy(Number(new URL(bitcoin.chain.node.zmqUrl ?? '').port))
    try {
      const watcher = await watchAtTip(bitcoin, `tcp://127.0.0.1:${proxy.port}`)
      await payAndSee(bitcoin, watcher)
      expect(await silenceOf(bitcoin)).toBeNull()
      proxy.cut()
      await payAndSee(bitcoin, watcher)
      await until(async () => /nothing comes from tcp:/.test((await silenceOf(bitcoin)) ?? ''), {
        what: 'the state says that nothing is heard',
      })
      proxy.aim(Number(new URL(bitcoin.chain.node.zmqUrl ?? '').port))
      await until(isHeardAgain, { what: 'the node is heard again', timeoutMs: 60_000 })
    } finally {
      await proxy.close()
    }
  })

  test('an unreported payment is seen, though a block was reported since the last look', async () => {
    const proxy = await startTcpProxy(Number(new URL(bitcoin.chain.node.zmqUrl ?? '').port))
    try {
      const timing = { probeIntervalMs: BETWEEN_LOOKS_MS }
      const watcher = await watchAtTip(bitcoin, `tcp://127.0.0.1:${proxy.port}`, timing)
      // After the first look, which compares with nothing.
      await pause(BETWEEN_LOOKS_MS * 1.2)
      const invoice = await bitcoin.openInvoice([watcher])
      await bitcoin.chain.mine(1)
      await bitcoin.untilRead()
      proxy.cut()
      await bitcoin.chain.pay(invoice.address, bitcoin.driver.amount)
      await bitcoin.untilStatus(invoice.id, 'payment_detected')
    } finally {
      await proxy.close()
    }
  })

  test('restarted without it, it is asked instead, says so, and is heard again once it publishes', async () => {
    const { node } = bitcoin.chain
    const watcher = await watchAtTip(bitcoin)
    await payAndSee(bitcoin, watcher)
    await node.stop()
    await node.start(['hashblock', 'rawtx', 'sequence'].map((topic) => `-nozmqpub${topic}`))
    await payAndSee(bitcoin, watcher)
    await until(async () => /publishes nothing by ZeroMQ/.test((await silenceOf(bitcoin)) ?? ''), {
      what: 'the state says that the node publishes nothing',
    })
    await node.stop()
    await node.start()
    await until(isHeardAgain, { what: 'the node is heard again' })
  })
})
