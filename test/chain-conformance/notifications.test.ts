import { afterEach, beforeEach, expect, test } from 'vitest'
import { XPublisher } from 'zeromq'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

const ADDRESS = Buffer.alloc(20, 7)
const SEQUENCE_ADDED = Buffer.concat([Buffer.alloc(32, 1), Buffer.from('A'), Buffer.alloc(8)])
const SEQUENCE_REMOVED = Buffer.concat([Buffer.alloc(32, 1), Buffer.from('R'), Buffer.alloc(8)])

/** Of those topics that the adapter subscribes to. */
const TOPICS = 4

let url: string
let publisher: XPublisher
let adapter: UtxoAdapter
let wakes = 0
let unsubscribe = () => {}

beforeEach(async () => {
  url = `tcp://127.0.0.1:${await freePort()}`
  publisher = new XPublisher({ linger: 0 })
  await publisher.bind(url)
  adapter = new UtxoAdapter({
    chain: 'litecoin',
    livemode: false,
    // Notifications need nothing of the node's RPC.
    rpcUrl: 'http://user:password@127.0.0.1:1',
    rpcSetting: 'TEST_LITECOIN_RPC_URL',
    zmqUrl: url,
    clock: systemClock,
  })
  adapter.watched.add([ADDRESS])
  wakes = 0
  unsubscribe = adapter.subscribe(() => {
    wakes += 1
  })
  await subscribed()
})
afterEach(async () => {
  unsubscribe()
  publisher.close()
  await adapter.close()
})

/** When the subscriber, which connects in its own time, has subscribed to all: from now on it misses nothing. */
async function subscribed(): Promise<void> {
  const topics = new Set<string>()
  while (topics.size < TOPICS) {
    const [message] = await publisher.receive()
    if (message?.[0] === 1) topics.add(message.toString('latin1', 1))
  }
}

/** A transaction with one input and one output to the address. */
function transactionTo(addressBytes: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from('02000000', 'hex'),
    Buffer.from('01', 'hex'),
    Buffer.alloc(36, 3),
    Buffer.from('00ffffffff', 'hex'),
    Buffer.from('01', 'hex'),
    Buffer.from('00e1f50500000000', 'hex'),
    Buffer.from('160014', 'hex'),
    addressBytes,
    Buffer.from('00000000', 'hex'),
  ])
}

async function expectWake(topic: string, body: Buffer): Promise<void> {
  const before = wakes
  await publisher.send([topic, body])
  await until(() => wakes > before, { what: `${topic} wakes` })
}

/** Sends a marker after the message: messages come in their order. */
async function expectNoWake(topic: string, body: Buffer): Promise<void> {
  const before = wakes
  await publisher.send([topic, body])
  await expectWake('hashblock', Buffer.alloc(32))
  await quiet()
  expect(wakes).toBe(before + 1)
}

async function quiet(): Promise<void> {
  let last = -1
  await until(
    async () => {
      const calm = last === wakes
      last = wakes
      await new Promise((resolve) => setImmediate(resolve))
      return calm
    },
    { what: 'no more notifications arrive' },
  )
}

test('a transaction wakes only when it pays a watched address', async () => {
  await expectWake('rawtx', transactionTo(ADDRESS))
  await expectNoWake('rawtx', transactionTo(Buffer.alloc(20, 8)))
  await expectWake('rawtx', Buffer.from('no transaction'))
})

test('without whole transactions every new one wakes; with them only removals do', async () => {
  await expectWake('hashtx', Buffer.alloc(32))
  await expectWake('sequence', SEQUENCE_ADDED)
  await expectWake('rawtx', transactionTo(ADDRESS))
  await expectNoWake('hashtx', Buffer.alloc(32))
  await expectNoWake('sequence', SEQUENCE_ADDED)
  await expectWake('sequence', SEQUENCE_REMOVED)
})

test('a publisher that goes away and comes back is heard again', async () => {
  publisher.close()
  publisher = new XPublisher({ linger: 0 })
  await until(
    async () => {
      try {
        await publisher.bind(url)
        return true
      } catch (error) {
        // The old socket is closed in the background.
        if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false
        throw error
      }
    },
    { what: 'the address is free again' },
  )
  await subscribed()
  await expectWake('hashblock', Buffer.alloc(32))
})

test('after unsubscribing nothing wakes', async () => {
  unsubscribe()
  await publisher.send(['hashblock', Buffer.alloc(32)])
  await quiet()
  expect(wakes).toBe(0)
})
