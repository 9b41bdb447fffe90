import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { receiveEvmAddresses } from '../../src/chain/evm/receive-addresses.ts'
import { encodeAddress } from '../../src/chain/utxo/address.ts'
import { receiveAddresses } from '../../src/chain/utxo/receive-addresses.ts'
import type { Keyspace } from '../../src/core/assets.ts'
import { loadAccountKey } from '../../src/db/addresses/account-keys.ts'
import { countUnassigned, findBatchOf } from '../../src/db/addresses/address-batches.ts'
import { leaseAddresses, takeLeasedAddress } from '../../src/db/addresses/address-leases.ts'
import { deleteForeignPoolAddresses } from '../../src/db/addresses/address-pool.ts'
import { claimAddress } from '../../src/db/invoices/invoices.ts'
import { withSystemTransaction } from '../../src/postgres/transaction.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { createIssuedAddresses } from '../../src/secrets/issued-addresses.ts'
import { ISSUED_TARGET } from '../../src/signer/issue-addresses.ts'
import { SAFETY_GAP } from '../../src/signer/move-on-after-restore.ts'
import { takeAddressBatches } from '../../src/watcher/supply-addresses.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { clock, type SignerSetup, signerSetup } from './signer-setup.ts'

let database: TestDatabase
let setup: SignerSetup
beforeEach(async () => {
  database = await createTestDatabase()
  setup = await signerSetup()
  await watchAll()
})
afterEach(async () => {
  await setup.cleanUp()
  await database.drop()
})

const WAIT_MS = 60_000
const keyspace = 'litecoin-test'
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const take = (changes: { keyspace?: Keyspace; form?: string } = {}) =>
  takeAddressBatches({
    pool: database.pools.watcher,
    keyspace,
    form: 'regtest',
    clock,
    log: createLogger('silent'),
    ...changes,
  })

/** What the signer has issued put into the pool, until this many wait there. */
async function fill(wanted = ISSUED_TARGET): Promise<void> {
  const count = async () => {
    await take()
    return (await rows()).filter((row) => row.assigned_at === null).length
  }
  await expect.poll(count).toBeGreaterThanOrEqual(wanted)
}

/** The signer at work until every pool is full, and stopped again. */
async function issueOnce(): Promise<void> {
  const signer = await setup.start(database.pools.signer)
  await expect.poll(() => countUnassigned(database.owner, keyspace)).toBe(ISSUED_TARGET)
  await signer.stop()
}

type PoolRow = {
  idx: number
  addressBytes: Buffer
  address: string
  parameters: string
  assigned_at: Date | null
}
async function rows(): Promise<PoolRow[]> {
  return (
    await database.owner.query<PoolRow>(
      'select *, program as "addressBytes" from address where keyspace = $1 order by idx',
      [keyspace],
    )
  ).rows
}

/** A watcher that matches whatever there is. */
async function watchAll(): Promise<void> {
  await database.owner.query(
    `insert into network_watch (network, keyspace, through, updated_at) values ($1, $1, 1000000, now())`,
    [keyspace],
  )
}

const DEPOSIT = { network: keyspace, keyspace, form: 'regtest' } as const

const claim = () => withSystemTransaction(database.pools.api, (tx) => claimAddress(tx, DEPOSIT, clock()))

async function claimMany(count: number): Promise<string[]> {
  const claimed: string[] = []
  for (let index = 0; index < count; index++) {
    const address = await claim()
    if (address === null) throw new Error('the pool is empty')
    claimed.push(address.address)
  }
  return claimed
}

test('before the signer issued an address there is nothing to take', async () => {
  expect(await take()).toEqual({ added: 0, refused: 0 })
})

test('the pool holds the addresses of the account, in order, in the form of the chain', async () => {
  await issueOnce()
  expect(await take()).toEqual({ added: ISSUED_TARGET, refused: 0 })
  const account = await loadAccountKey(database.owner, keyspace)
  const addressAt = receiveAddresses(account?.xpub ?? '')
  expect(account?.nextIndex).toBe(ISSUED_TARGET)
  expect((await rows()).map((row) => [row.idx, hex(row.addressBytes), row.address])).toEqual(
    Array.from({ length: ISSUED_TARGET }, (_, idx) => [
      idx,
      hex(addressAt(idx)),
      encodeAddress('rltc', addressAt(idx)),
    ]),
  )
})

test('a pool that falls to half within a minute is filled with twice as many', async () => {
  await setup.start(database.pools.signer)
  const waiting = () => countUnassigned(database.owner, keyspace)
  await expect.poll(waiting, { timeout: WAIT_MS }).toBe(ISSUED_TARGET)
  await fill()
  await claimMany(ISSUED_TARGET / 2)
  await expect.poll(waiting, { timeout: WAIT_MS }).toBe(2 * ISSUED_TARGET)
})

test('addresses that one process has leased are not what is left to the others', async () => {
  await issueOnce()
  await fill()
  const terms = { count: ISSUED_TARGET / 2, toLeave: 0, seconds: 600 }
  expect(await leaseAddresses(database.pools.api, DEPOSIT, terms)).toHaveLength(ISSUED_TARGET / 2)
  await setup.start(database.pools.signer)
  await expect
    .poll(() => countUnassigned(database.owner, keyspace), { timeout: WAIT_MS })
    .toBeGreaterThan(ISSUED_TARGET)
})

test('watchers that take at once put each address into the pool once, in the order of the indexes', async () => {
  await issueOnce()
  let taking = true
  const seenLate: number[] = []
  const seen = new Set<number>()
  const look = async () => {
    while (taking) {
      const highest = Math.max(-1, ...seen)
      for (const { idx } of await rows()) {
        if (idx < highest && !seen.has(idx)) seenLate.push(idx)
        seen.add(idx)
      }
    }
  }
  const looking = look()
  const taken = await Promise.all(Array.from({ length: 5 }, () => take()))
  taking = false
  await looking
  expect(seenLate).toEqual([])
  expect(taken.reduce((sum, { added }) => sum + added, 0)).toBe(ISSUED_TARGET)
  expect((await rows()).map((row) => row.idx)).toEqual(Array.from({ length: ISSUED_TARGET }, (_, idx) => idx))
})

test('a signer that is stopped before its batch stands has taken no index', async () => {
  await database.owner.query(`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'the process ends here'; end $$`)
  await database.owner.query(
    'create trigger stop before insert on address_batch for each row execute function refuse()',
  )
  const signer = await setup.start(database.pools.signer)
  await expect.poll(() => setup.lines.some((line) => line.includes('the process ends here'))).toBe(true)
  await signer.stop()
  expect((await loadAccountKey(database.owner, keyspace))?.nextIndex).toBe(0)
  await database.owner.query('drop trigger stop on address_batch')
  await issueOnce()
  await fill()
  expect((await rows())[0]?.idx).toBe(0)
})

test('one EVM address has one form on every chain', async () => {
  await issueOnce()
  await take({ keyspace: 'evm-test', form: 'evm' })
  const account = await loadAccountKey(database.owner, 'evm-test')
  const addressAt = receiveEvmAddresses(account?.xpub ?? '')
  const { rows: pool } = await database.owner.query<PoolRow>(
    "select * from address where keyspace = 'evm-test' order by idx limit 3",
  )
  expect(pool.map((row) => [row.address, row.parameters])).toEqual(
    [0, 1, 2].map((index) => [encodeEvmAddress(addressAt(index)), 'evm']),
  )
})

test('what was derived for another chain leaves the pool, and its indexes are not used again', async () => {
  await setup.start(database.pools.signer)
  await fill()
  const [taken] = await claimMany(1)
  expect(await deleteForeignPoolAddresses(database.pools.watcher, keyspace, 'test')).toBe(ISSUED_TARGET - 1)
  await expect.poll(async () => (await take({ form: 'test' })).added).toBeGreaterThan(0)
  const pool = await rows()
  expect(pool[0]).toMatchObject({ idx: 0, address: taken, parameters: 'regtest' })
  expect(pool[1]?.idx).toBe(ISSUED_TARGET)
  expect(pool.slice(1).every((row) => row.address.startsWith('tltc1q'))).toBe(true)
})

test('addresses of one mode are never made for a chain of the other', async () => {
  await expect(take({ form: 'main' })).rejects.toThrow('cannot be made')
  await expect(take({ keyspace: 'litecoin-live' })).rejects.toThrow('cannot be made')
  await expect(take({ form: 'nonsense' })).rejects.toThrow('cannot be made')
})

test('addresses from before they were signed are signed at the next start, in the pool and given out', async () => {
  await issueOnce()
  await take()
  await claimMany(3)
  await database.owner.query('delete from address_batch')
  await database.owner.query('update account_key set batch_key = null')
  // One that somebody else wrote into the pool does not become the signer's by that.
  await database.owner.query(`update address set program = $1 where keyspace = $2 and idx = 7`, [
    Buffer.alloc(20, 7),
    keyspace,
  ])
  await (await setup.start(database.pools.signer)).stop()
  const issued = createIssuedAddresses({
    keysPath: join(setup.dataDir, 'address-keys.json'),
    log: createLogger('silent'),
  })
  const pool = await rows()
  expect(pool).toHaveLength(ISSUED_TARGET)
  for (const row of pool) {
    const load = () => findBatchOf(database.pools.api, keyspace, row.idx)
    expect(await issued.isIssued(keyspace, row, load)).toBe(row.idx !== 7)
  }
})

/** The tables of keys and addresses, as a backup would keep them. */
async function backUp(): Promise<() => Promise<void>> {
  await database.owner.query('create table kept_address as select * from address')
  await database.owner.query('create table kept_account_key as select * from account_key')
  await database.owner.query('create table kept_address_batch as select * from address_batch')
  return async () => {
    await database.owner.query('delete from address')
    await database.owner.query('delete from address_batch')
    await database.owner.query('delete from account_key')
    await database.owner.query('insert into account_key select * from kept_account_key')
    await database.owner.query('insert into address_batch select * from kept_address_batch')
    await database.owner.query('insert into address select * from kept_address')
  }
}

for (const [what, issued] of [
  ['after many refills', 700],
  ['without one refill', 10],
] as const) {
  test(`a restored backup hands out no address that was handed out since, ${what}`, async () => {
    let signer = await setup.start(database.pools.signer)
    await fill()
    await claimMany(5)
    const restore = await backUp()
    const before = new Set<string>()
    for (let left = issued; left > 0; left -= 10) {
      await fill(10)
      for (const address of await claimMany(10)) before.add(address)
    }
    await signer.stop()
    const reached = (await loadAccountKey(database.owner, keyspace))?.nextIndex ?? 0
    await restore()
    signer = await setup.start(database.pools.signer)
    const after: string[] = []
    for (let left = issued; left > 0; left -= 10) {
      await fill(10)
      after.push(...(await claimMany(10)))
    }
    expect(after.filter((address) => before.has(address))).toEqual([])
    const between = (await rows()).filter((row) => row.idx >= ISSUED_TARGET && row.idx < reached + SAFETY_GAP)
    expect(between).toEqual([])
    expect(setup.lines.some((line) => line.includes('older than the signer remembers'))).toBe(true)
  })
}

test('a restored backup hands out no address that was leased beside others and given out since', async () => {
  let signer = await setup.start(database.pools.signer)
  await fill()
  const lease = () =>
    leaseAddresses(database.pools.api, DEPOSIT, { count: 40, toLeave: 0, seconds: 30 }).then((leased) =>
      leased.map(({ idx }) => idx),
    )
  const [ofOne, ofAnother] = [await lease(), await lease()]
  const give = (index: number) =>
    withSystemTransaction(database.pools.api, (tx) => takeLeasedAddress(tx, DEPOSIT, index, clock()))
  // The process that leased the later ones gives one out first.
  await give(ofAnother.at(-1) ?? 0)
  const restore = await backUp()
  for (const index of ofOne) await give(index)
  const before = (await rows()).filter(({ idx }) => ofOne.includes(idx)).map(({ address }) => address)
  await signer.stop()
  await restore()
  await database.owner.query('update address set leased_until = null')
  signer = await setup.start(database.pools.signer)
  await fill(60)
  expect((await claimMany(60)).filter((address) => before.includes(address))).toEqual([])
})

test('a database made anew beside the old seed hands out no address of the old one', async () => {
  const signer = await setup.start(database.pools.signer)
  await fill()
  const before = await claimMany(20)
  await signer.stop()
  await database.owner.query('delete from address')
  await database.owner.query('delete from address_batch')
  await database.owner.query('delete from account_key')
  await setup.start(database.pools.signer)
  await fill()
  expect((await rows())[0]?.idx).toBe(ISSUED_TARGET + SAFETY_GAP)
  expect((await claimMany(20)).filter((address) => before.includes(address))).toEqual([])
})

test('an ordinary restart empties no pool and leaves out no index', async () => {
  const signer = await setup.start(database.pools.signer)
  await fill()
  await claimMany(5)
  await signer.stop()
  await setup.start(database.pools.signer)
  await claimMany(20)
  await fill(ISSUED_TARGET - 25)
  expect((await rows()).map((row) => row.idx)).toEqual(Array.from({ length: ISSUED_TARGET }, (_, idx) => idx))
})
