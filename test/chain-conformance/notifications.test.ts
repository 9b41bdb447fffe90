import { afterEach, beforeEach, expect, test } from 'vitest'
import { Publisher } from 'zeromq'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { systemClock } from '../../src/clock.ts'
import { until } from '../support/litecoind.ts'
import { freePort } from '../support/postgres-server.ts'

const PROGRAM = Buffer.alloc(20, 7)
const SEQUENCE_ADDED = Buffer.concat([Buffer.alloc(32, 1), Buffer.from('A'), Buffer.alloc(8)])
const SEQUENCE_REMOVED = Buffer.concat([Buffer.alloc(32, 1), Buffer.from('R'), Buffer.alloc(8)])

let url: string
let publisher: Publisher
let adapter: UtxoAdapter
let wakes = 0
let unsubscribe = () => {}

beforeEach(async () => {
  url = `tcp://127.0.0.1:${await freePort()}`
  publisher = new Publisher({ linger: 0 })
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
  adapter.watched.add([PROGRAM])
  wakes = 0
  unsubscribe = adapter.subscribe(() => {
    wakes += 1
  })
  await untilHeard()
})
afterEach(async () => {
  unsubscribe()
  publisher.close()
  await adapter.close()
})

/** Publishes until the subscriber, which connects in its own time, has heard. */
async function untilHeard(): Promise<void> {
  const before = wakes
  await until(
    async () => {
      await publisher.send(['hashblock', Buffer.alloc(32)])
      return wakes > before
    },
    { what: 'the subscriber hears the publisher' },
  )
}

/** A transaction with one input and one output to the program. */
function transactionTo(program: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from('02000000', 'hex'),
    Buffer.from('01', 'hex'),
    Buffer.alloc(36, 3),
    Buffer.from('00ffffffff', 'hex'),
    Buffer.from('01', 'hex'),
    Buffer.from('00e1f50500000000', 'hex'),
    Buffer.from('160014', 'hex'),
    program,
    Buffer.from('00000000', 'hex'),
  ])
}

/** Sends a message and a marker after it, and tells whether the message itself woke anybody. */
async function wakesFor(topic: string, body: Buffer): Promise<boolean> {
  // Let what an earlier round published arrive.
  await quiet()
  const before = wakes
  await publisher.send([topic, body])
  await publisher.send(['hashblock', Buffer.alloc(32)])
  await until(() => wakes > before, { what: 'the marker has arrived' })
  await quiet()
  return wakes - before > 1
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
  expect(await wakesFor('rawtx', transactionTo(PROGRAM))).toBe(true)
  expect(await wakesFor('rawtx', transactionTo(Buffer.alloc(20, 8)))).toBe(false)
  expect(await wakesFor('rawtx', Buffer.from('no transaction'))).toBe(true)
})

test('without whole transactions every new one wakes; with them only removals do', async () => {
  expect(await wakesFor('hashtx', Buffer.alloc(32))).toBe(true)
  expect(await wakesFor('sequence', SEQUENCE_ADDED)).toBe(true)
  await wakesFor('rawtx', transactionTo(PROGRAM))
  expect(await wakesFor('hashtx', Buffer.alloc(32))).toBe(false)
  expect(await wakesFor('sequence', SEQUENCE_ADDED)).toBe(false)
  expect(await wakesFor('sequence', SEQUENCE_REMOVED)).toBe(true)
})

test('a publisher that goes away and comes back is heard again', async () => {
  publisher.close()
  publisher = new Publisher({ linger: 0 })
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
  await untilHeard()
})

test('after unsubscribing nothing wakes', async () => {
  await quiet()
  unsubscribe()
  const before = wakes
  await publisher.send(['hashblock', Buffer.alloc(32)])
  await quiet()
  expect(wakes).toBe(before)
})
