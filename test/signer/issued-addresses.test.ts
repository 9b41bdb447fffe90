import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ownerOf } from '../../src/chain/solana/watched-owners.ts'
import { loadConfig } from '../../src/config.ts'
import { addressBatchMessage } from '../../src/core/address-batch.ts'
import { inspectAddresses } from '../../src/doctor/inspect-addresses.ts'
import { createLogger } from '../../src/log.ts'
import { createIssuedAddresses, type IssuedAddresses } from '../../src/secrets/issued-addresses.ts'
import { ISSUED_TARGET } from '../../src/signer/solana-addresses.ts'
import { takeAddressBatches } from '../../src/watcher/take-address-batches.ts'
import { addAddresses, createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { clock, type SignerSetup, signerSetup } from './signer-setup.ts'

const LITECOIN_ADDRESSES = 5

let api: TestApi
let setup: SignerSetup
let issued: IssuedAddresses
let merchant: TestMerchant
let alarms: string[]
beforeEach(async () => {
  setup = await signerSetup()
  alarms = []
  const log = { error: (facts: { reason: string }) => alarms.push(facts.reason) } as never
  issued = createIssuedAddresses({ keysPath: keysPath(), log })
  api = await createTestApi({ issuedAddresses: { isIssued: (...asked) => issued.isIssued(...asked) } })
  merchant = await api.addMerchant()
  // The signer publishes keys of its own.
  await api.database.owner.query('delete from address')
  await api.database.owner.query('delete from account_key')
  await api.database.owner.query(
    `insert into network_state (network, parameters, height, hash, tip_height, status, updated_at, minimum)
     values ('solana-test', 'localnet', 100, 'hash', 100, 'ok', now(), 890880)`,
  )
  await api.database.owner.query(
    `insert into network_watch (network, keyspace, through, updated_at)
     values ('solana-test', 'solana-test', 1000000000, now())`,
  )
})
afterEach(async () => {
  await setup.cleanUp()
  await api.drop()
})

const keysPath = () => join(setup.dataDir, 'address-keys.json')

/** The signer at work until it has filled the pool, and stopped again. */
async function fillPool(): Promise<void> {
  const signer = await setup.start(api.database.pools.signer)
  await expect.poll(readyCount).toBe(ISSUED_TARGET)
  await signer.stop()
  await addAddresses(api.database, 'litecoin-test', 'regtest', LITECOIN_ADDRESSES)
}

const takeBatches = () =>
  takeAddressBatches({
    pool: api.database.pools.watcher,
    keyspace: 'solana-test',
    form: 'solana',
    clock,
    log: createLogger('silent'),
  })

async function readyCount(): Promise<number> {
  await takeBatches()
  const { rows } = await api.database.owner.query<{ count: number }>(
    `select count(*)::int as count from address where keyspace = 'solana-test' and assigned_at is null`,
  )
  return rows[0]?.count ?? 0
}

/** The next address of the pool as the database has it. */
async function nextAddress(): Promise<string> {
  const { rows } = await api.database.owner.query<{ address: string }>(
    `select address from address where keyspace = 'solana-test' and assigned_at is null order by idx limit 1`,
  )
  return rows[0]?.address ?? ''
}

const invoiceIn = (asset: string) =>
  api.call('POST', '/invoices', { key: merchant.testKey, body: { usd_amount: '20', asset } })

async function expectRefused(reason: RegExp): Promise<void> {
  const refused = await invoiceIn('SOL')
  expect([refused.status, refused.body.error.code]).toEqual([503, 'asset_unavailable'])
  expect((await invoiceIn('LTC')).status).toBe(201)
  expect(alarms.at(-1)).toMatch(reason)
  expect(issued.refusals.count).toBe(alarms.length)
}

const doctorLines = async () => {
  const config = loadConfig({ DATABASE_URL: api.database.ownerUrl, DATA_DIR: setup.dataDir })
  return (await inspectAddresses(config, api.database.owner)).map(({ kind, text }) => `${kind}: ${text}`)
}

/** A batch by another key than the signer's, and that key in the signer's place. */
async function forgeBatch(first: number): Promise<string> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const program = randomBytes(32)
  const signature = signedBy(privateKey, first, program)
  const { x = '' } = publicKey.export({ format: 'jwk' })
  await api.database.owner.query(`update account_key set batch_key = $1 where keyspace = 'solana-test'`, [
    Buffer.from(x, 'base64url'),
  ])
  await api.database.owner.query(
    `insert into address_batch (keyspace, first, programs, signature, created_at)
     values ('solana-test', $1, $2, $3, now())`,
    [first, program, signature],
  )
  return ownerOf(program)
}

const signedBy = (key: KeyObject, first: number, programs: Uint8Array): Buffer =>
  sign(null, addressBatchMessage({ keyspace: 'solana-test', first, programs }), key)

test('an address that the signer signed is given out, and its batch is read once', async () => {
  await fillPool()
  const wanted = await nextAddress()
  const made = await invoiceIn('SOL')
  expect([made.status, made.body.address]).toEqual([201, wanted])
  await api.database.owner.query('delete from address_batch')
  expect((await invoiceIn('SOL')).status).toBe(201)
  expect(alarms).toEqual([])
})

test('an address that somebody wrote into the pool is shown to nobody, and SOL alone waits until it is gone', async () => {
  await fillPool()
  const genuine = await nextAddress()
  const program = randomBytes(32)
  await api.database.owner.query(
    `update address set program = $1, address = $2 where keyspace = 'solana-test' and idx = 0`,
    [program, ownerOf(program)],
  )
  await expectRefused(/in no batch/)
  expect(await doctorLines()).toContainEqual(expect.stringMatching(/^fault: .*number 0 is not given out/))
  await api.database.owner.query(`delete from address where keyspace = 'solana-test' and idx = 0`)
  const made = await invoiceIn('SOL')
  expect(made.status).toBe(201)
  expect([ownerOf(program), genuine]).not.toContain(made.body.address)
  const standing = (await doctorLines()).filter((line) => line.includes('solana-test'))
  expect(standing).toEqual([
    `ok: Addresses of solana-test: ${ISSUED_TARGET - 2} are ready, each signed by the signer`,
  ])
})

test('another text beside the right bytes is refused, also of a batch that was checked before', async () => {
  await fillPool()
  expect((await invoiceIn('SOL')).status).toBe(201)
  await api.database.owner.query(
    `update address set address = $1 where keyspace = 'solana-test' and assigned_at is null`,
    [ownerOf(randomBytes(32))],
  )
  await expectRefused(/in no batch/)
})

test('a batch by another key passes the watcher where that key was put into the database, and is never given out', async () => {
  await fillPool()
  await api.database.owner.query(`delete from address where keyspace = 'solana-test'`)
  const forged = await forgeBatch(5_000)
  expect(await takeBatches()).toEqual({ added: 1, refused: 0 })
  expect(await nextAddress()).toBe(forged)
  await expectRefused(/not signed by the signer/)
})

test('without the signer’s file no address of its is given out, and with it they are', async () => {
  await fillPool()
  await rm(keysPath())
  await expectRefused(/address-keys\.json names no key/)
  expect(await doctorLines()).toContainEqual(expect.stringMatching(/^fault: .*names no key of the signer/))
  const signer = await setup.start(api.database.pools.signer)
  expect((await invoiceIn('SOL')).status).toBe(201)
  await signer.stop()
})

test('an empty pool refuses SOL alone, the doctor says so, and it recovers as soon as the signer runs', async () => {
  await fillPool()
  await api.database.owner.query(
    `update address set assigned_at = now() where keyspace = 'solana-test' and assigned_at is null`,
  )
  const refused = await invoiceIn('SOL')
  expect([refused.status, refused.body.error.code]).toEqual([503, 'asset_unavailable'])
  expect((await invoiceIn('LTC')).status).toBe(201)
  expect(await doctorLines()).toContainEqual(
    expect.stringMatching(/^fault: solana-test: no deposit address is ready/),
  )
  const signer = await setup.start(api.database.pools.signer)
  await expect.poll(readyCount).toBe(ISSUED_TARGET)
  expect((await invoiceIn('SOL')).status).toBe(201)
  await signer.stop()
})

test('the doctor counts batches that were refused', async () => {
  await fillPool()
  await api.database.owner.query(
    `insert into address_batch (keyspace, first, programs, signature, created_at)
     values ('solana-test', 9000, $1, $2, now())`,
    [randomBytes(32), randomBytes(64)],
  )
  expect(await takeBatches()).toEqual({ added: 0, refused: 1 })
  expect(await doctorLines()).toContainEqual(expect.stringMatching(/^fault: Addresses: 1 batches .*refused/))
})
