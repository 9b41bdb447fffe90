import { mkdir } from 'node:fs/promises'
import { mnemonicToSeedSync } from '@scure/bip39'
import { HDKey } from 'micro-key-producer/slip10.js'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ownerOf } from '../../src/chain/solana/watched-owners.ts'
import { countUnassigned, nextBatch } from '../../src/db/addresses/address-batches.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { openAccountsOf } from '../../src/signer/derive.ts'
import { readJournal, writeJournal } from '../../src/signer/index-journal.ts'
import { ISSUED_TARGET } from '../../src/signer/issue-addresses.ts'
import { SolanaKeys } from '../../src/signer/solana-addresses.ts'
import { takeAddressBatches } from '../../src/watcher/supply-addresses.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { clock, type SignerSetup, signerSetup } from './signer-setup.ts'

const WORDS = 'abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about'

let database: TestDatabase
let setup: SignerSetup
let now: Date
beforeEach(async () => {
  database = await createTestDatabase()
  setup = await signerSetup()
  now = clock()
})
afterEach(async () => {
  await setup.cleanUp()
  await database.drop()
})

/** SLIP-0010, test vectors 1 and 2 for ed25519. */
test.each([
  [
    '000102030405060708090a0b0c0d0e0f',
    'm',
    '00a4b2856bfec510abab89753fac1ac0e1112364e7d250545963f135f2a33188ed',
  ],
  [
    '000102030405060708090a0b0c0d0e0f',
    "m/0'/1'/2'/2'/1000000000'",
    '003c24da049451555d51a7014a37337aa4e12d41e485abccfa46b47dfb2af54b7a',
  ],
  [
    'fffcf9f6f3f0edeae7e4e1dedbd8d5d2cfccc9c6c3c0bdbab7b4b1aeaba8a5a29f9c999693908d8a8784817e7b7875726f6c696663605d5a5754514e4b484542',
    "m/0'",
    '0086fab68dcb57aa196c77c5f264f215a112c22a912c10d123b0d03c3c28ef1037',
  ],
])('the published SLIP-10 vector %s at %s comes out', (seed, path, publicKey) => {
  const key = HDKey.fromMasterSeed(Buffer.from(seed, 'hex')).derive(path)
  expect(Buffer.from(key.publicKey).toString('hex').padStart(66, '0')).toBe(publicKey)
})

test('a live address is what wallets derive at m/44’/501’/i’/0’, and no test address is ever one', () => {
  const keys = new SolanaKeys(mnemonicToSeedSync(WORDS))
  // The first account that Phantom and Solflare show for these words.
  expect(ownerOf(keys.ownerAt('solana-live', 0))).toBe('HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk')
  expect(keys.ownerAt('solana-test', 0)).not.toEqual(keys.ownerAt('solana-live', 0))
})

async function issueAndTake() {
  const { accounts, issuer, solana } = await openAccountsOf(WORDS)
  for (const { keyspace } of accounts) {
    await database.owner.query(
      `insert into account_key (keyspace, path, next_index, created_at, batch_key) values ($1, 'm', 0, now(), $2)
       on conflict do nothing`,
      [keyspace, Buffer.from(issuer.batchKey(keyspace))],
    )
  }
  for (let round = 0; round < 4; round++) await issuer.issue(database.pools.signer, () => now)
  return { issuer, solana }
}

const take = () =>
  takeAddressBatches({
    pool: database.pools.watcher,
    keyspace: 'solana-test',
    form: 'solana',
    clock,
    log: createLogger('silent'),
  })

test('signed batches fill the pool in order, and are issued again when half is left', async () => {
  const { issuer, solana } = await issueAndTake()
  expect(await take()).toEqual({ added: ISSUED_TARGET, refused: 0 })
  expect(await take()).toEqual({ added: 0, refused: 0 })
  const { rows } = await database.owner.query<{ idx: number; addressBytes: Buffer }>(
    `select idx, program as "addressBytes" from address where keyspace = 'solana-test' order by idx`,
  )
  expect(rows.map(({ idx }) => idx)).toEqual(Array.from({ length: ISSUED_TARGET }, (_, idx) => idx))
  expect(rows[7]?.addressBytes).toEqual(Buffer.from(solana.ownerAt('solana-test', 7)))
  const useUp = (left: number) =>
    database.owner.query(
      `update address set assigned_at = now() where keyspace = 'solana-test' and idx < $1`,
      [ISSUED_TARGET - left],
    )
  await useUp(ISSUED_TARGET / 2 + 1)
  now = new Date(now.getTime() + 3_600_000)
  /** In all rounds until the pool is full. */
  const issue = async () => {
    const before = await countUnassigned(database.owner, 'solana-test')
    for (let round = 0; round < 4; round++) await issuer.issue(database.pools.signer, () => now)
    return (await countUnassigned(database.owner, 'solana-test')) - before
  }
  expect(await issue()).toBe(0)
  await useUp(ISSUED_TARGET / 2)
  expect(await issue()).toBe(ISSUED_TARGET / 2)
  expect(await countUnassigned(database.pools.signer, 'solana-test')).toBe(ISSUED_TARGET)
  // Emptied again within the minute: demand has grown, and so does the pool.
  await take()
  await database.owner.query(`update address set assigned_at = now() where keyspace = 'solana-test'`)
  expect(await issue()).toBe(2 * ISSUED_TARGET)
})

test('a batch that was changed, or signed by somebody else, is refused, and those after it are taken', async () => {
  await issueAndTake()
  await database.owner.query(
    `update address_batch set programs = set_byte(programs, 5, (get_byte(programs, 5) + 1) % 256)
     where keyspace = 'solana-test' and first = 0`,
  )
  await database.owner.query(
    `update address_batch set signature = (select signature from address_batch where keyspace = 'solana-live' and first = 50)
     where keyspace = 'solana-test' and first = 50`,
  )
  expect(await take()).toEqual({ added: ISSUED_TARGET - 100, refused: 2 })
  expect(await nextBatch(database.pools.watcher, 'solana-test')).toBeNull()
  const { rows } = await database.owner.query(
    `select min(idx) as first from address where keyspace = 'solana-test'`,
  )
  expect(rows).toEqual([{ first: 100 }])
})

test('the running signer issues addresses by itself, and its high-water mark covers them', async () => {
  const signer = await setup.start(database.pools.signer)
  await expect.poll(() => countUnassigned(database.owner, 'solana-test')).toBe(ISSUED_TARGET)
  await signer.stop()
  expect((await readJournal(setup.folder)).get('solana-test')?.nextIndex).toBe(ISSUED_TARGET)
})

test('marks that could not be read again leave those that are there', async () => {
  const marksOf = (nextIndex: number) => new Map([['solana-test', { nextIndex, given: 0 }]])
  await mkdir(setup.folder, { recursive: true })
  await writeJournal(setup.folder, marksOf(7))
  await expect(writeJournal(setup.folder, marksOf(2 ** 62))).rejects.toThrow()
  expect(await readJournal(setup.folder)).toEqual(marksOf(7))
})
