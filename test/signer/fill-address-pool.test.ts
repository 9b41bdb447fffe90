import { afterEach, beforeEach, expect, test } from 'vitest'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { receiveEvmPrograms } from '../../src/chain/evm/receive-programs.ts'
import { encodeAddress } from '../../src/chain/utxo/address.ts'
import { receivePrograms } from '../../src/chain/utxo/receive-programs.ts'
import { loadAccountKey } from '../../src/db/queries/account-keys.ts'
import { claimAddress } from '../../src/db/queries/invoices.ts'
import { withSystemTransaction } from '../../src/db/transaction.ts'
import { SAFETY_GAP } from '../../src/signer/move-on-after-restore.ts'
import { fillAddressPool } from '../../src/watcher/fill-address-pool.ts'
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

const keyspace = 'litecoin-test'
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

function fill(changes: Partial<Parameters<typeof fillAddressPool>[0]> = {}) {
  return fillAddressPool({
    pool: database.pools.watcher,
    keyspace,
    form: 'regtest',
    target: 30,
    clock,
    ...changes,
  })
}

type PoolRow = { idx: number; program: Buffer; address: string; parameters: string; assigned_at: Date | null }
async function rows(): Promise<PoolRow[]> {
  return (
    await database.owner.query<PoolRow>('select * from address where keyspace = $1 order by idx', [keyspace])
  ).rows
}

/** A watcher that matches whatever there is. */
async function watchAll(): Promise<void> {
  await database.owner.query(
    `insert into network_watch (network, keyspace, through, updated_at) values ($1, $1, 1000000, now())`,
    [keyspace],
  )
}

const claim = () =>
  withSystemTransaction(database.pools.api, (tx) =>
    claimAddress(tx, { network: keyspace, keyspace, form: 'regtest' }, clock()),
  )

async function claimMany(count: number): Promise<string[]> {
  const claimed: string[] = []
  for (let index = 0; index < count; index++) {
    const address = await claim()
    if (address === null) throw new Error('the pool is empty')
    claimed.push(address.address)
  }
  return claimed
}

test('before the signer published a key there is nothing to fill', async () => {
  expect(await fill()).toEqual({ kind: 'no_account_key' })
})

test('the pool is filled with the addresses of the account, in order, in the form of the chain', async () => {
  await setup.start(database.pools.signer)
  expect(await fill()).toEqual({ kind: 'filled', added: 30, discarded: 0 })
  const account = await loadAccountKey(database.owner, keyspace)
  const programAt = receivePrograms(account?.xpub ?? '')
  expect(account?.nextIndex).toBe(30)
  const pool = await rows()
  expect(pool.map((row) => [row.idx, hex(row.program), row.address])).toEqual(
    Array.from({ length: 30 }, (_, idx) => [idx, hex(programAt(idx)), encodeAddress('rltc', programAt(idx))]),
  )
})

test('a pool is filled again when half of it is taken, and not before', async () => {
  await setup.start(database.pools.signer)
  await fill()
  await claimMany(14)
  expect(await fill()).toMatchObject({ added: 0 })
  await claimMany(1)
  expect(await fill()).toMatchObject({ added: 15 })
  expect((await rows()).map((row) => row.idx)).toEqual(Array.from({ length: 45 }, (_, idx) => idx))
})

test('a large pool is filled in several batches', async () => {
  await setup.start(database.pools.signer)
  expect(await fill({ target: 120 })).toMatchObject({ added: 120 })
  expect((await rows()).map((row) => row.idx)).toEqual(Array.from({ length: 120 }, (_, idx) => idx))
})

test('fillers that run at once never make the same index', async () => {
  await setup.start(database.pools.signer)
  const results = await Promise.all(Array.from({ length: 6 }, () => fill({ target: 60 })))
  const added = results.reduce((sum, result) => sum + (result.kind === 'filled' ? result.added : 0), 0)
  const pool = await rows()
  expect(pool).toHaveLength(added)
  expect((await loadAccountKey(database.owner, keyspace))?.nextIndex).toBe(added)
})

test('addresses become visible in the order of their indexes, however many fillers run', async () => {
  await setup.start(database.pools.signer)
  let filling = true
  const seenLate: number[] = []
  const seen = new Set<number>()
  const look = async () => {
    while (filling) {
      const highest = Math.max(-1, ...seen)
      for (const { idx } of await rows()) {
        if (idx < highest && !seen.has(idx)) seenLate.push(idx)
        seen.add(idx)
      }
    }
  }
  const looking = look()
  await Promise.all(Array.from({ length: 5 }, () => fill({ target: 150 })))
  filling = false
  await looking
  expect(seenLate).toEqual([])
  const pool = await rows()
  expect(pool.map((row) => row.idx)).toEqual(Array.from(pool.keys()))
})

test('a filler that is stopped before its addresses stand has taken no index', async () => {
  await setup.start(database.pools.signer)
  await database.owner.query(`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'the process ends here'; end $$`)
  await database.owner.query(
    'create trigger stop before insert on address for each row execute function refuse()',
  )
  await expect(fill()).rejects.toThrow('the process ends here')
  expect((await loadAccountKey(database.owner, keyspace))?.nextIndex).toBe(0)
  expect(await claim()).toBeNull()
  await database.owner.query('drop trigger stop on address')
  expect(await fill()).toMatchObject({ added: 30 })
  expect((await rows()).map((row) => row.idx)).toEqual(Array.from({ length: 30 }, (_, idx) => idx))
})

test('one EVM address has one form on every chain', async () => {
  await setup.start(database.pools.signer)
  expect(await fill({ keyspace: 'evm-test', form: 'evm', target: 3 })).toMatchObject({ added: 3 })
  const account = await loadAccountKey(database.owner, 'evm-test')
  const programAt = receiveEvmPrograms(account?.xpub ?? '')
  const { rows: pool } = await database.owner.query<PoolRow>(
    "select * from address where keyspace = 'evm-test' order by idx",
  )
  expect(pool.map((row) => [row.address, row.parameters])).toEqual(
    [0, 1, 2].map((index) => [encodeEvmAddress(programAt(index)), 'evm']),
  )
})

test('what was derived for another chain leaves the pool, and its indexes are not used again', async () => {
  await setup.start(database.pools.signer)
  await fill()
  const [taken] = await claimMany(1)
  expect(await fill({ form: 'test' })).toEqual({ kind: 'filled', added: 30, discarded: 29 })
  const pool = await rows()
  expect(pool[0]).toMatchObject({ idx: 0, address: taken, parameters: 'regtest' })
  expect(pool.slice(1).map((row) => row.idx)).toEqual(Array.from({ length: 30 }, (_, index) => 30 + index))
  expect(pool.slice(1).every((row) => row.address.startsWith('tltc1q'))).toBe(true)
})

test('addresses of one mode are never made for a chain of the other', async () => {
  await setup.start(database.pools.signer)
  await expect(fill({ form: 'main' })).rejects.toThrow('cannot be made')
  await expect(fill({ keyspace: 'litecoin-live' })).rejects.toThrow('cannot be made')
  await expect(fill({ form: 'nonsense' })).rejects.toThrow('cannot be made')
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
  ['after many refills', 500],
  ['without one refill', 10],
] as const) {
  test(`a restored backup hands out no address that was handed out since, ${what}`, async () => {
    let signer = await setup.start(database.pools.signer)
    await fill()
    await claimMany(5)
    const restore = await backUp()
    const before = new Set<string>()
    for (let left = issued; left > 0; left -= 10) {
      for (const address of await claimMany(10)) before.add(address)
      await fill()
    }
    await signer.stop()
    const reached = (await loadAccountKey(database.owner, keyspace))?.nextIndex ?? 0
    await restore()
    signer = await setup.start(database.pools.signer)
    expect(await claim()).toBeNull()
    await fill({ target: issued })
    const after = await claimMany(issued)
    expect(after.filter((address) => before.has(address))).toEqual([])
    expect((await rows()).filter((row) => row.idx >= 30 && row.idx < reached + SAFETY_GAP)).toEqual([])
    expect(setup.lines.some((line) => line.includes('older than the signer remembers'))).toBe(true)
  })
}

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
  expect((await rows())[0]?.idx).toBe(30 + SAFETY_GAP)
  expect((await claimMany(20)).filter((address) => before.includes(address))).toEqual([])
})

test('an ordinary restart empties no pool and leaves out no index', async () => {
  const signer = await setup.start(database.pools.signer)
  await fill()
  await claimMany(5)
  await signer.stop()
  await setup.start(database.pools.signer)
  await claimMany(20)
  await fill()
  expect((await loadAccountKey(database.owner, keyspace))?.nextIndex).toBe(55)
})
