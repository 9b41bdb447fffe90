import { randomBytes } from 'node:crypto'
import { chmod, copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listAccountKeys } from '../../src/db/addresses/account-keys.ts'
import { PayoutJournal } from '../../src/payouts/sign/payout-journal.ts'
import type { Pause } from '../../src/runtime/activity.ts'
import { pauseUnless } from '../../src/runtime/repeat.ts'
import { openAccountsOf, wordsOf } from '../../src/signer/derive.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { seedMerchant } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { type SignerSetup, signerSetup } from './signer-setup.ts'

/** Not a multiple of what one look takes. */
const DESTINATIONS = 7

let database: TestDatabase
let setup: SignerSetup
beforeEach(async () => {
  database = await createTestDatabase()
  setup = await signerSetup()
})
afterEach(async () => {
  await setup.cleanUp()
  await database.drop()
})

const published = async () =>
  (await listAccountKeys(database.owner)).map(({ keyspace, path, xpub }) => ({ keyspace, path, xpub }))

test('the first start makes a seed and publishes the public keys of its accounts, and of no other', async () => {
  const signer = await setup.start(database.pools.signer)
  expect(signer.status()).toBe('active')
  const { accounts } = await openAccountsOf(wordsOf(await setup.entropy()))
  const expected = accounts.map(({ keyspace, path, xpub }) => ({ keyspace, path, xpub }))
  expect(await published()).toEqual(expected.sort((a, b) => (a.keyspace < b.keyspace ? -1 : 1)))
  expect(await setup.entropy()).toHaveLength(32)
})

test('a later start finds its seed again and publishes the same', async () => {
  await (await setup.start(database.pools.signer)).stop()
  const before = await published()
  const seed = await readFile(join(setup.folder, 'seed.json'))
  await setup.start(database.pools.signer)
  expect(await published()).toEqual(before)
  expect(await readFile(join(setup.folder, 'seed.json'))).toEqual(seed)
})

test('live destinations that are more than one look takes are all seen before the signer rests', async () => {
  const { merchantId } = await seedMerchant(database)
  await database.owner.query(
    `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
     select $1, 'dst_' || number, true, 'LTC', 'address' || number, 'x', 'x', now(), now()
     from generate_series(1, $2::int) as number`,
    [merchantId, DESTINATIONS],
  )
  const seen = async () => (await database.owner.query('select from destination_sighting')).rowCount
  const seenAtRests: (number | null)[] = []
  // As in an installation in which nothing happens, though never woken.
  const pause: Pause = async (stop) => {
    seenAtRests.push(await seen())
    await pauseUnless(stop, 600_000)
  }
  let looks = 0
  const clock = () => new Date(Date.UTC(2026, 2, 1) + 10_000 * looks++)
  await setup.start(database.pools.signer, { clock, pause })
  await until(() => seenAtRests.length > 0, { what: 'the signer rests' })
  expect(seenAtRests).toEqual([DESTINATIONS])
})

test('the seed lies encrypted, and its files are for their owner alone', async () => {
  const signer = await setup.start(database.pools.signer)
  await signer.stop()
  expect((await stat(setup.folder)).mode & 0o777).toBe(0o700)
  const names = await readdir(setup.folder)
  expect(names.sort()).toEqual(['approver-seal-key', 'first-seen.jsonl', 'journal.json', 'key', 'seed.json'])
  for (const name of names) expect((await stat(join(setup.folder, name))).mode & 0o777).toBe(0o600)
  const entropy = await setup.entropy()
  const content = await readFile(join(setup.folder, 'seed.json'), 'latin1')
  const words = wordsOf(entropy)
  for (const secret of [
    entropy.toString('hex'),
    entropy.toString('base64'),
    entropy.toString('latin1'),
    words,
  ]) {
    expect(content).not.toContain(secret)
  }
  // One word alone proves nothing: `version` is both a BIP39 word and a field of the file.
  expect(Object.keys(JSON.parse(content)).sort()).toEqual(['created_at', 'sealed', 'version'])
  const list = words.split(' ')
  for (let at = 1; at < list.length; at++) {
    expect(content).not.toMatch(new RegExp(`${list[at - 1]}\\W{0,4}${list[at]}`))
  }
})

test('the signer logs nothing secret', async () => {
  await (await setup.start(database.pools.signer)).stop()
  await setup.start(database.pools.signer)
  const logged = setup.lines.join('')
  expect(logged).toContain('the signer is active')
  const entropy = await setup.entropy()
  const key = (await readFile(join(setup.folder, 'key'), 'latin1')).trim()
  for (const secret of [entropy.toString('hex'), entropy.toString('base64'), key, wordsOf(entropy), 'prv']) {
    expect(logged).not.toContain(secret)
  }
})

test('a key file of the operator opens the seed, raw, in hexadecimal or in base64', async () => {
  const key = randomBytes(32)
  const keyFile = join(setup.dataDir, 'operators-key')
  for (const content of [key.toString('hex'), `${key.toString('hex')}\n`, key.toString('base64'), key]) {
    await writeFile(keyFile, content)
    await (await setup.start(database.pools.signer, { keyFile })).stop()
  }
  expect((await readdir(setup.folder)).sort()).toEqual([
    'approver-seal-key',
    'first-seen.jsonl',
    'journal.json',
    'seed.json',
  ])
})

test('a key file that is missing or no key is refused in one line that names it', async () => {
  const keyFile = join(setup.dataDir, 'operators-key')
  await expect(setup.start(database.pools.signer, { keyFile })).rejects.toThrow(
    /^SIGNER_KEY_FILE names .*operators-key/,
  )
  await writeFile(keyFile, 'secret')
  await expect(setup.start(database.pools.signer, { keyFile })).rejects.toThrow(
    /operators-key must hold 32 bytes/,
  )
  expect(await published()).toEqual([])
})

test('a seed with another key, without its key, or damaged is refused, and nothing is made in its place', async () => {
  await (await setup.start(database.pools.signer)).stop()
  const keyPath = join(setup.folder, 'key')
  const seedPath = join(setup.folder, 'seed.json')
  const key = await readFile(keyPath)
  const seed = await readFile(seedPath)
  await writeFile(keyPath, randomBytes(32))
  await expect(setup.start(database.pools.signer)).rejects.toThrow(/does not open with the key/)
  await rm(keyPath)
  await expect(setup.start(database.pools.signer)).rejects.toThrow(/restore the key/)
  await writeFile(keyPath, key)
  await writeFile(seedPath, seed.subarray(0, 40))
  await expect(setup.start(database.pools.signer)).rejects.toThrow(/is damaged/)
  expect(await readFile(seedPath)).toEqual(seed.subarray(0, 40))
})

test('a payouts journal that a newer release added to is read; one that cannot be says not to downgrade', async () => {
  await (await setup.start(database.pools.signer)).stop()
  const path = join(setup.folder, 'payouts.jsonl')
  const later = { of_a_later_release: 1 }
  const signed = {
    payout_id: 'po_01m7yzmhg0f0zs5n4rvenr87we',
    number: 1,
    network: 'base-test',
    digest: 'ab',
    raw: '02',
    network_fee: '1',
    from_height: 1,
    signed_at: 1,
  }
  const intent = {
    kind: 'payout',
    merchant_id: 'm',
    asset: 'ETH_BASE',
    amount: '1',
    network_fee_max: '1',
    destination: 'x',
    source: 'available',
  }
  const evm = {
    ...signed,
    txid: `0x${'ab'.repeat(32)}`,
    sender: 'ab'.repeat(20),
    nonce: 7,
    gas: '1',
    max_fee: '1',
    tip: '1',
  }
  const input = { txid: 'cd', output_index: 0, ...later }
  const utxo = {
    ...signed,
    payout_id: 'po_b',
    network: 'litecoin-test',
    txid: 'cd',
    inputs: [input],
    change: null,
  }
  const solana = {
    ...signed,
    payout_id: 'po_c',
    network: 'solana-test',
    txid: '1'.repeat(64),
    durable_nonce: { account: '2'.repeat(32), value: '3'.repeat(32), ...later },
  }
  const lines = [{ ...evm, intent: { ...intent, ...later }, ...later }, utxo, { ...solana, ...later }]
  const content = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  await writeFile(path, content, { mode: 0o600 })
  const journal = await PayoutJournal.open(setup.folder)
  expect(journal.entriesOf(signed.payout_id)).toEqual([{ ...evm, intent }])
  expect(journal.spendersOf('cd:0')).toEqual(['po_b'])
  expect(journal.entriesOf('po_c')).toHaveLength(1)
  await writeFile(path, `${content}${JSON.stringify({ ...signed, kept_otherwise: true })}\n`)
  await expect(setup.start(database.pools.signer)).rejects.toThrow(
    /payouts\.jsonl was written to by a newer release, or is damaged: .*never put an older journal in its place/,
  )
})

test('a folder without a seed beside a database with account keys is refused: no new seed is made', async () => {
  await (await setup.start(database.pools.signer)).stop()
  await rm(join(setup.folder, 'seed.json'))
  await expect(setup.start(database.pools.signer)).rejects.toThrow(/restore seed\.json and its key/)
  expect((await readdir(setup.folder)).sort()).toEqual([
    'approver-seal-key',
    'first-seen.jsonl',
    'journal.json',
    'key',
  ])
})

test('a seed of another database is refused in one line, and changes nothing', async () => {
  const other = await signerSetup()
  const otherDatabase = await createTestDatabase()
  try {
    await (await other.start(otherDatabase.pools.signer)).stop()
    await (await setup.start(database.pools.signer)).stop()
    const before = await published()
    await expect(setup.start(database.pools.signer, { dataDir: other.dataDir })).rejects.toThrow(
      /^the database's account key of .* is not from the seed in .*$/,
    )
    expect(await published()).toEqual(before)
  } finally {
    await other.cleanUp()
    await otherDatabase.drop()
  }
})

test('a refused start leaves the lock to the next', async () => {
  const keyFile = join(setup.dataDir, 'operators-key')
  await expect(setup.start(database.pools.signer, { keyFile })).rejects.toThrow()
  expect((await setup.start(database.pools.signer)).status()).toBe('active')
})

test('of two signers one is active, and the other takes over when it stops', async () => {
  const first = await setup.start(database.pools.signer)
  const second = await setup.start(database.pools.signer)
  expect([first.status(), second.status()]).toEqual(['active', 'standby'])
  await first.stop()
  await expect.poll(() => second.status(), { interval: 5 }).toBe('active')
})

test('a signer whose connection is cut stands by, and becomes active again', async () => {
  const signer = await setup.start(database.pools.signer)
  const statuses: string[] = []
  await database.owner.query(
    `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'
       and database = (select oid from pg_database where datname = current_database())`,
  )
  await expect
    .poll(
      () => statuses.push(signer.status()) > 0 && setup.lines.some((line) => line.includes('stands by')),
      { interval: 1 },
    )
    .toBe(true)
  await expect.poll(() => signer.status(), { interval: 5 }).toBe('active')
})

test('a standby with another seed ends with a refusal when its turn comes', async () => {
  const other = await signerSetup()
  const otherDatabase = await createTestDatabase()
  try {
    await (await other.start(otherDatabase.pools.signer)).stop()
    const first = await setup.start(database.pools.signer)
    const second = await setup.start(database.pools.signer, { dataDir: other.dataDir })
    expect(second.status()).toBe('standby')
    await first.stop()
    await expect(second.ended).rejects.toThrow(/is not from the seed/)
  } finally {
    await other.cleanUp()
    await otherDatabase.drop()
  }
})

test('a start that was killed between its steps goes on where it stood', async () => {
  // A key and no seed; then a seed and nothing published.
  await mkdir(setup.folder, { mode: 0o700 })
  await writeFile(join(setup.folder, 'key'), randomBytes(32).toString('hex'))
  await chmod(join(setup.folder, 'key'), 0o600)
  await (await setup.start(database.pools.signer)).stop()
  const before = await published()
  await copyFile(join(setup.folder, 'seed.json'), join(setup.dataDir, 'kept.json'))
  await database.owner.query('delete from address_batch')
  await database.owner.query('delete from account_key')
  await (await setup.start(database.pools.signer)).stop()
  expect(await published()).toEqual(before)
})
