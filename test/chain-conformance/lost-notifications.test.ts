import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { XPublisher } from 'zeromq'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { freePort } from '../support/free-port.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { type DrivenSandbox, sandboxDriver } from '../support/sandbox-driver.ts'
import { until } from '../support/until.ts'
import { utxoAdapterOptions } from '../support/utxo-driver.ts'

const ADDED = Buffer.concat([Buffer.alloc(32, 1), Buffer.from('A'), Buffer.alloc(8)])
const AMOUNT = 100_000n
/** Of those topics that the adapter subscribes to. */
const TOPICS = 4
/** Looks at the node after which whatever a look finds has woken. */
const LOOKS = 5

let chain: DrivenSandbox
let proxy: RpcProxy
let publisher: XPublisher
let adapter: UtxoAdapter
let wakes = 0
let unsubscribe = () => {}

beforeAll(async () => {
  chain = await sandboxDriver.start()
  proxy = await startRpcProxy(chain.url)
  proxy.lie('getzmqnotifications', () => [{ type: 'pubsequence' }, { type: 'pubhashblock' }])
})
afterAll(async () => {
  await proxy.close()
  await chain.remove()
})
beforeEach(async () => {
  const zmqUrl = `tcp://127.0.0.1:${await freePort()}`
  publisher = new XPublisher({ linger: 0 })
  await publisher.bind(zmqUrl)
  adapter = new UtxoAdapter({ ...utxoAdapterOptions('litecoin', proxy.url), zmqUrl, clock: systemClock })
  wakes = 0
  unsubscribe = adapter.subscribe(() => {
    wakes += 1
  })
  for (let subscribed = 0; subscribed < TOPICS; ) {
    const [message] = await publisher.receive()
    if (message?.[0] === 1) subscribed += 1
  }
  await looked()
})
afterEach(async () => {
  unsubscribe()
  publisher.close()
  await adapter.close()
})

/** When the node has been looked at some times more. */
async function looked(): Promise<void> {
  const looks = () => proxy.calls.filter((method) => method === 'getmempoolinfo').length
  const before = looks()
  await until(() => looks() >= before + LOOKS, { what: 'the node is looked at' })
}

/** Publishes what wakes by itself, and waits until it has. */
async function tell(topic: string, body: Buffer): Promise<void> {
  const before = wakes
  await publisher.send([topic, body])
  await until(() => wakes > before, { what: `${topic} wakes` })
}

const pay = async () => chain.pay((await chain.newAddress()).address, AMOUNT)

/** How often is woken by what a look finds, all of which happens between two looks. */
async function wakesBy(happen: () => Promise<void>): Promise<number> {
  proxy.hold()
  await happen()
  const before = wakes
  proxy.resume()
  await looked()
  return wakes - before
}

test('of two transactions one is notified: the other one wakes the watcher', async () => {
  const woken = await wakesBy(async () => {
    await pay()
    await pay()
    await tell('sequence', ADDED)
  })
  expect(woken).toBe(1)
})

test('all transactions are notified: nothing wakes the watcher again', async () => {
  const woken = await wakesBy(async () => {
    for (let count = 0; count < 2; count++) {
      await pay()
      await tell('sequence', ADDED)
    }
  })
  expect(woken).toBe(0)
})

test('a notification that comes after the look that found its transaction hides no other one', async () => {
  expect(await wakesBy(async () => void (await pay()))).toBe(1)
  const woken = await wakesBy(async () => {
    await pay()
    await tell('sequence', ADDED)
  })
  expect(woken).toBe(1)
})

test('of two blocks the first is notified: the second one wakes the watcher', async () => {
  const woken = await wakesBy(async () => {
    await chain.mine(1)
    await tell('hashblock', Buffer.from(await chain.tipHash(), 'hex'))
    await chain.mine(1)
  })
  expect(woken).toBe(1)
})

test('the newest block is notified: nothing wakes the watcher again', async () => {
  const woken = await wakesBy(async () => {
    await chain.mine(2)
    await tell('hashblock', Buffer.from(await chain.tipHash(), 'hex'))
  })
  expect(woken).toBe(0)
})
