import { afterEach, beforeEach, expect, test } from 'vitest'
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
let watched: string[]
beforeEach(async () => {
  database = await createTestDatabase()
  setup = await signerSetup()
  watched = []
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
    parameters: 'regtest',
    target: 30,
    addToWatched: (programs) => watched.push(...programs.map(hex)),
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

const claim = () =>
  withSystemTransaction(database.pools.api, (tx) => claimAddress(tx, keyspace, 'regtest', clock()))

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
  expect(watched).toEqual(pool.map((row) => hex(row.program)))
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
  expect(new Set(watched).size).toBe(watched.length)
  expect((await loadAccountKey(database.owner, keyspace))?.nextIndex).toBe(added)
})

test('an address is watched before it can be handed out', async () => {
  await setup.start(database.pools.signer)
  const stop = () => {
    throw new Error('the process ends here')
  }
  await expect(fill({ addToWatched: stop })).rejects.toThrow('the process ends here')
  expect(await rows()).toEqual([])
  expect(await claim()).toBeNull()
})

test('a filler that is killed between its steps loses indexes, and none is used twice', async () => {
  await setup.start(database.pools.signer)
  const lost: string[] = []
  const stop = (programs: readonly Uint8Array[]) => {
    lost.push(...programs.map(hex))
    throw new Error('the process ends here')
  }
  await expect(fill({ addToWatched: stop })).rejects.toThrow()
  await fill()
  const pool = await rows()
  expect(pool.map((row) => row.idx)).toEqual(Array.from({ length: 30 }, (_, index) => 30 + index))
  expect(pool.filter((row) => lost.includes(hex(row.program)))).toEqual([])
})

test('what was derived for another chain leaves the pool, and its indexes are not used again', async () => {
  await setup.start(database.pools.signer)
  await fill()
  const [taken] = await claimMany(1)
  expect(await fill({ parameters: 'test' })).toEqual({ kind: 'filled', added: 30, discarded: 29 })
  const pool = await rows()
  expect(pool[0]).toMatchObject({ idx: 0, address: taken, parameters: 'regtest' })
  expect(pool.slice(1).map((row) => row.idx)).toEqual(Array.from({ length: 30 }, (_, index) => 30 + index))
  expect(pool.slice(1).every((row) => row.address.startsWith('tltc1q'))).toBe(true)
})

test('addresses of one mode are never made for a chain of the other', async () => {
  await setup.start(database.pools.signer)
  await expect(fill({ parameters: 'main' })).rejects.toThrow('cannot be made')
  await expect(fill({ keyspace: 'litecoin-live' })).rejects.toThrow('cannot be made')
  await expect(fill({ parameters: 'nonsense' })).rejects.toThrow('cannot be made')
})

/** The tables of keys and addresses, as a backup would keep them. */
async function backUp(): Promise<() => Promise<void>> {
  await database.owner.query('create table kept_address as select * from address')
  await database.owner.query('create table kept_account_key as select * from account_key')
  return async () => {
    await database.owner.query('delete from address')
    await database.owner.query('delete from account_key')
    await database.owner.query('insert into account_key select * from kept_account_key')
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
