import { copyFile, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Journal, JournalDamaged, type PlacedRecord } from '../../src/sandbox/journal.ts'
import {
  describeState,
  NOON_MS,
  openState,
  signPayment,
  temporaryFolder,
  transactionOf,
} from '../support/sandbox-state.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(() => folder.remove())

const file = (name: string) => `${folder.path}/${name}`

function openJournal(path: string): { journal: Journal; records: PlacedRecord[] } {
  const records: PlacedRecord[] = []
  const journal = Journal.open(path, {
    replay: (record) => records.push(record),
    onSyncError: (error) => {
      throw error
    },
  })
  return { journal, records }
}

test('whatever was appended is read again in order, and where it says it stands', () => {
  const { journal } = openJournal(file('log'))
  const written = [
    ...journal.append([{ kind: 'wallet', payload: Buffer.from('first') }]),
    ...journal.append([
      { kind: 'transaction', payload: Buffer.alloc(0) },
      { kind: 'block', payload: Buffer.alloc(70_000, 5) },
    ]),
  ]
  journal.close()
  const { journal: again, records } = openJournal(file('log'))
  expect(records).toEqual(written)
  const last = written.at(-1)
  expect(again.read(last?.offset ?? 0, last?.payload.length ?? 0)).toEqual(last?.payload)
  again.close()
})

test('a record that was cut at any byte is gone, and all before it is there', async () => {
  const { journal } = openJournal(file('log'))
  journal.append([{ kind: 'wallet', payload: Buffer.from('first') }])
  const whole = (await stat(file('log'))).size
  journal.append([{ kind: 'disconnect', payload: Buffer.from('the second record') }])
  journal.close()
  const size = (await stat(file('log'))).size
  for (let length = whole; length < size; length++) {
    await copyFile(file('log'), file('torn'))
    await truncate(file('torn'), length)
    const { journal: torn, records } = openJournal(file('torn'))
    expect(records.map((record) => record.kind)).toEqual(['wallet'])
    // And it goes on from there.
    torn.append([{ kind: 'block', payload: Buffer.from('third') }])
    torn.close()
    const { journal: next, records: then } = openJournal(file('torn'))
    expect(then.map((record) => record.kind)).toEqual(['wallet', 'block'])
    next.close()
  }
})

test('a flipped bit anywhere in the last record cuts that record and no other', async () => {
  const { journal } = openJournal(file('log'))
  journal.append([{ kind: 'wallet', payload: Buffer.from('first') }])
  const whole = (await stat(file('log'))).size
  journal.append([{ kind: 'block', payload: Buffer.from('second') }])
  journal.close()
  const bytes = await readFile(file('log'))
  for (let at = whole; at < bytes.length; at++) {
    const damaged = Buffer.from(bytes)
    damaged.writeUInt8(damaged.readUInt8(at) ^ 0x10, at)
    await writeFile(file('damaged'), damaged)
    const { journal: opened, records } = openJournal(file('damaged'))
    opened.close()
    expect(records.map((record) => record.kind)).toEqual(['wallet'])
  }
})

test('damage that no crash leaves is reported with its fix, and nothing is cut', async () => {
  const { journal } = openJournal(file('log'))
  for (let count = 0; count < 6; count++) {
    journal.append([{ kind: 'block', payload: Buffer.alloc(4 * 1024 * 1024 - 1, count) }])
  }
  journal.close()
  const bytes = await readFile(file('log'))
  bytes.writeUInt8(0xff, 100)
  await writeFile(file('log'), bytes)
  expect(() => openJournal(file('log'))).toThrow(JournalDamaged)
  expect((await stat(file('log'))).size).toBe(bytes.length)
})

test('a restart finds chain, coins, wallet, stale branches and waiting transactions as they were', () => {
  const state = openState(file('chain.log'))
  state.submit(transactionOf(signPayment(state, 5_000n)), NOON_MS + 1)
  state.mine(NOON_MS)
  state.mine(NOON_MS)
  state.reorganise(2, NOON_MS + 7)
  const payment = signPayment(state, 6_000n)
  state.submit(transactionOf(payment), NOON_MS + 8)
  state.submit(transactionOf(payment.replacement), NOON_MS + 9)
  state.submit(transactionOf(signPayment(state, 7_000n)), NOON_MS + 10)
  const before = describeState(state)
  const key = Buffer.from(state.walletKey).toString('hex')
  state.close()
  const again = openState(file('chain.log'))
  expect(describeState(again)).toBe(before)
  expect(Buffer.from(again.walletKey).toString('hex')).toBe(key)
  again.mine(NOON_MS + 20)
  expect(again.mempool.size).toBe(0)
  again.close()
})

test('a chain whose last record was cut opens at the state before it and goes on', async () => {
  const state = openState(file('chain.log'))
  state.submit(transactionOf(signPayment(state, 5_000n)), NOON_MS)
  const before = describeState(state)
  const whole = (await stat(file('chain.log'))).size
  state.mine(NOON_MS)
  state.close()
  const size = (await stat(file('chain.log'))).size
  expect(size - whole).toBeGreaterThan(300)
  for (let length = whole; length < size; length += 7) {
    await copyFile(file('chain.log'), file('torn.log'))
    await truncate(file('torn.log'), length)
    const torn = openState(file('torn.log'))
    expect(describeState(torn)).toBe(before)
    torn.mine(NOON_MS)
    expect(torn.mempool.size).toBe(0)
    torn.close()
  }
})

test('a first start that was cut short anywhere goes on where it stood', async () => {
  const state = openState(file('chain.log'))
  state.close()
  const size = (await stat(file('chain.log'))).size
  for (let length = 0; length < size; length += 997) {
    await copyFile(file('chain.log'), file('torn.log'))
    await truncate(file('torn.log'), length)
    const torn = openState(file('torn.log'))
    expect(torn.tip.height).toBe(101)
    expect([...torn.coins.walletOutpoints()]).toHaveLength(400)
    torn.close()
  }
})

test('a journal of another chain is refused', () => {
  openState(file('chain.log'), { chain: 'bitcoin' }).close()
  expect(() => openState(file('chain.log'), { chain: 'litecoin' })).toThrow('of the chain bitcoin')
})

test('a chain of many small blocks loads in seconds', () => {
  // Proof of work is skipped here: it is the making that takes time, not the loading.
  const parameters = { proofOfWork: () => Buffer.alloc(32) }
  const blocks = 25_000
  const state = openState(file('chain.log'), { parameters })
  for (let count = 0; count < blocks; count++) state.mine(NOON_MS + count * 60_000)
  const before = describeState(state)
  state.close()
  const used = process.cpuUsage()
  const again = openState(file('chain.log'), { parameters })
  // Processor time, so that a busy machine counts for less; what was quadratic took minutes.
  const { user, system } = process.cpuUsage(used)
  expect((user + system) / 1_000).toBeLessThan(6_000)
  expect(describeState(again)).toBe(before)
  again.close()
})
