import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { addressWriter } from '../../src/chain/address-text.ts'
import { ownerOf } from '../../src/chain/solana/watched-owners.ts'
import { loadConfig } from '../../src/config/config.ts'
import { addressBatchMessage } from '../../src/core/address-batch.ts'
import { AddressShares } from '../../src/core/address-shares.ts'
import { inspectAddresses } from '../../src/doctor/inspect-signer.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { createIssuedAddresses, type IssuedAddresses } from '../../src/secrets/issued-addresses.ts'
import { ISSUED_TARGET } from '../../src/signer/issue-addresses.ts'
import { takeAddressBatches } from '../../src/watcher/supply-addresses.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { clock, type SignerSetup, signerSetup } from './signer-setup.ts'

/** A coin of every family, and how its addresses are written on the test's chains. */
const COINS = [
  { asset: 'SOL', keyspace: 'solana-test', form: 'solana', bytes: 32 },
  { asset: 'ETH', keyspace: 'evm-test', form: 'evm', bytes: 20 },
  { asset: 'BTC', keyspace: 'bitcoin-test', form: 'regtest', bytes: 20 },
  { asset: 'LTC', keyspace: 'litecoin-test', form: 'regtest', bytes: 20 },
] as const
type Coin = (typeof COINS)[number]
const [SOL, , , LTC] = COINS

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
  api = await createTestApi({
    issuedAddresses: { isIssued: (...asked) => issued.isIssued(...asked), shares: new AddressShares() },
  })
  merchant = await api.addMerchant()
  // The signer publishes keys of its own.
  await api.database.owner.query('delete from address')
  await api.database.owner.query('delete from account_key')
  await api.database.owner.query(
    `insert into network_state (network, parameters, height, hash, tip_height, status, updated_at, minimum)
     values ('solana-test', 'localnet', 100, 'hash', 100, 'ok', now(), 890880),
       ('ethereum-test', '31337', 100, 'hash', 100, 'ok', now(), null)`,
  )
  await api.database.owner.query(
    `insert into network_watch (network, keyspace, through, updated_at)
     values ('solana-test', 'solana-test', 1000000000, now()), ('ethereum-test', 'evm-test', 1000000000, now())`,
  )
})
afterEach(async () => {
  await setup.cleanUp()
  await api.drop()
})

const keysPath = () => join(setup.dataDir, 'address-keys.json')

/** The signer at work until it has filled the pools, and stopped again. */
async function fillPools(): Promise<void> {
  const signer = await setup.start(api.database.pools.signer)
  for (const coin of COINS) await expect.poll(() => readyCount(coin)).toBe(ISSUED_TARGET)
  await signer.stop()
}

const takeBatches = ({ keyspace, form }: Coin = SOL) =>
  takeAddressBatches({ pool: api.database.pools.watcher, keyspace, form, clock, log: createLogger('silent') })

async function readyCount(coin: Coin = SOL): Promise<number> {
  await takeBatches(coin)
  const { rows } = await api.database.owner.query<{ count: number }>(
    'select count(*)::int as count from address where keyspace = $1 and assigned_at is null',
    [coin.keyspace],
  )
  return rows[0]?.count ?? 0
}

/** The next address of the pool as the database has it. */
async function nextAddress({ keyspace }: Coin = SOL): Promise<string> {
  const { rows } = await api.database.owner.query<{ address: string }>(
    `select address from address where keyspace = $1 and assigned_at is null order by idx limit 1`,
    [keyspace],
  )
  return rows[0]?.address ?? ''
}

const invoiceIn = ({ asset }: Coin) =>
  api.call('POST', '/invoices', { key: merchant.testKey, body: { usd_amount: '20', asset } })

async function expectRefused(reason: RegExp, coin: Coin = SOL): Promise<void> {
  const refused = await invoiceIn(coin)
  expect([refused.status, refused.body.error.code]).toEqual([503, 'asset_unavailable'])
  expect((await invoiceIn(coin === LTC ? SOL : LTC)).status).toBe(201)
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
  const addressBytes = randomBytes(32)
  const signature = signedBy(privateKey, first, addressBytes)
  const { x = '' } = publicKey.export({ format: 'jwk' })
  await api.database.owner.query(`update account_key set batch_key = $1 where keyspace = 'solana-test'`, [
    Buffer.from(x, 'base64url'),
  ])
  await api.database.owner.query(
    `insert into address_batch (keyspace, first, programs, signature, created_at)
     values ('solana-test', $1, $2, $3, now())`,
    [first, addressBytes, signature],
  )
  return ownerOf(addressBytes)
}

const signedBy = (key: KeyObject, first: number, addresses: Uint8Array): Buffer =>
  sign(null, addressBatchMessage({ keyspace: 'solana-test', first, addresses }), key)

test.each(COINS)('an address in $asset that the signer signed is given out', async (coin) => {
  await fillPools()
  const wanted = await nextAddress(coin)
  const made = await invoiceIn(coin)
  expect([made.status, made.body.address]).toEqual([201, wanted])
  await api.database.owner.query('delete from address_batch')
  // Its batch was read once, and is remembered.
  expect((await invoiceIn(coin)).status).toBe(201)
  expect(alarms).toEqual([])
})

test.each(COINS)(
  'an address in $asset that somebody wrote into the pool is shown to nobody',
  async (coin) => {
    const { keyspace, form, bytes } = coin
    await fillPools()
    const genuine = await nextAddress(coin)
    const addressBytes = randomBytes(bytes)
    const theirs = addressWriter(keyspace, form)(addressBytes)
    // The watcher's own login may do this much.
    const { watcher } = api.database.pools
    const { rows } = await watcher.query<{ idx: number; parameters: string }>(
      `delete from address where keyspace = $1 and address = $2 returning idx, parameters`,
      [keyspace, genuine],
    )
    const idx = rows[0]?.idx ?? -1
    await watcher.query(
      `insert into address (keyspace, idx, program, address, parameters, created_at) values ($1, $2, $3, $4, $5, now())`,
      [keyspace, idx, addressBytes, theirs, form],
    )
    await expectRefused(/in no batch/, coin)
    expect(await doctorLines()).toContainEqual(
      expect.stringMatching(new RegExp(`^fault: Addresses of ${keyspace}: number ${idx} is not given out`)),
    )
    await api.database.owner.query('delete from address where keyspace = $1 and idx = $2', [keyspace, idx])
    const made = await invoiceIn(coin)
    expect(made.status).toBe(201)
    expect([theirs, genuine]).not.toContain(made.body.address)
    const ok = (await doctorLines()).filter((line) => line.startsWith(`ok: Addresses of ${keyspace}`))
    expect(ok).toEqual([
      `ok: Addresses of ${keyspace}: ${ISSUED_TARGET - 2} are ready, each signed by the signer`,
    ])
  },
)

test('another text beside the right bytes is refused, also of a batch that was checked before', async () => {
  await fillPools()
  expect((await invoiceIn(SOL)).status).toBe(201)
  await api.database.owner.query(
    `update address set address = $1 where keyspace = 'solana-test' and assigned_at is null`,
    [ownerOf(randomBytes(32))],
  )
  await expectRefused(/in no batch/)
})

test('a batch by a key planted in the database passes the watcher, and is never given out', async () => {
  await fillPools()
  await api.database.owner.query(`delete from address where keyspace = 'solana-test'`)
  const forged = await forgeBatch(5_000)
  expect(await takeBatches()).toEqual({ added: 1, refused: 0 })
  expect(await nextAddress()).toBe(forged)
  await expectRefused(/not signed by the signer/)
})

test('without the signer’s file no address is given out in any coin, and with it they are', async () => {
  await fillPools()
  await rm(keysPath())
  for (const coin of COINS) {
    const refused = await invoiceIn(coin)
    expect([refused.status, refused.body.error.code]).toEqual([503, 'asset_unavailable'])
    expect(alarms.at(-1)).toMatch(/address-keys\.json names no key/)
  }
  expect(await doctorLines()).toContainEqual(expect.stringMatching(/^fault: .*names no key of the signer/))
  const signer = await setup.start(api.database.pools.signer)
  for (const coin of COINS) expect((await invoiceIn(coin)).status).toBe(201)
  await signer.stop()
})

test('the audit names each address that was replaced after an invoice had it', async () => {
  await fillPools()
  for (const coin of COINS) expect((await invoiceIn(coin)).status).toBe(201)
  const { owner } = api.database
  const audited = async () => {
    const results = await runAudit(owner, [], { addressKeysFile: keysPath() })
    return results.find(({ name }) => name === 'address_is_the_signers')?.findings
  }
  expect(await audited()).toEqual([])
  const forged: { subject: string; detail: string; merchantId: null }[] = []
  for (const { keyspace, form, bytes } of COINS) {
    const addressBytes = randomBytes(bytes)
    const theirs = addressWriter(keyspace, form)(addressBytes)
    const { rows } = await owner.query<{ idx: number; address: string }>(
      'select idx, address from address where keyspace = $1 and assigned_at is not null',
      [keyspace],
    )
    const { idx, address } = rows[0] ?? { idx: -1, address: '' }
    await owner.query('update address set program = $1, address = $2 where keyspace = $3 and idx = $4', [
      addressBytes,
      theirs,
      keyspace,
      idx,
    ])
    // Every row that names it, so that no two of them disagree.
    await owner.query('update deposit_address set program = $1, address = $2 where address = $3', [
      addressBytes,
      theirs,
      address,
    ])
    await owner.query('update invoice set address = $1 where address = $2', [theirs, address])
    const detail = `is ${theirs}, which the signer did not sign`
    forged.push({ merchantId: null, subject: `${keyspace}/${idx}`, detail })
  }
  const found = await audited()
  expect(found).toHaveLength(COINS.length)
  expect(found).toEqual(expect.arrayContaining(forged))
})

test('an empty pool refuses SOL alone, the doctor says so, and it recovers as soon as the signer runs', async () => {
  await fillPools()
  await api.database.owner.query(
    `update address set assigned_at = now() where keyspace = 'solana-test' and assigned_at is null`,
  )
  const refused = await invoiceIn(SOL)
  expect([refused.status, refused.body.error.code]).toEqual([503, 'asset_unavailable'])
  expect((await invoiceIn(LTC)).status).toBe(201)
  expect(await doctorLines()).toContainEqual(
    expect.stringMatching(/^fault: solana-test: no deposit address is ready/),
  )
  const signer = await setup.start(api.database.pools.signer)
  await expect.poll(() => readyCount()).toBe(ISSUED_TARGET)
  expect((await invoiceIn(SOL)).status).toBe(201)
  await signer.stop()
})

test('a batch that clashes with an address somebody wrote is put aside, and those after it are taken', async () => {
  await fillPools()
  const { owner } = api.database
  await owner.query(`delete from address where keyspace = 'solana-test'`)
  const { rows } = await owner.query<{ first: number; count: number }>(
    `update address_batch set taken_at = null where keyspace = 'solana-test'
     returning first, octet_length(programs) / 32 as count`,
  )
  const [oldest] = rows.toSorted((a, b) => a.first - b.first)
  if (oldest === undefined) throw new Error('no batch was issued')
  const addressBytes = randomBytes(32)
  await owner.query(
    `insert into address (keyspace, idx, program, address, parameters, created_at, assigned_at)
     values ('solana-test', $1, $2, $3, 'solana', now(), now())`,
    [oldest.first, addressBytes, ownerOf(addressBytes)],
  )
  expect(await takeBatches()).toEqual({ added: ISSUED_TARGET - oldest.count, refused: 1 })
  expect((await invoiceIn(SOL)).status).toBe(201)
  expect(await doctorLines()).toContainEqual(expect.stringMatching(/^fault: Addresses: 1 batches .*refused/))
})

test('the doctor counts batches that were refused', async () => {
  await fillPools()
  await api.database.owner.query(
    `insert into address_batch (keyspace, first, programs, signature, created_at)
     values ('solana-test', 9000, $1, $2, now())`,
    [randomBytes(32), randomBytes(64)],
  )
  expect(await takeBatches()).toEqual({ added: 0, refused: 1 })
  expect(await doctorLines()).toContainEqual(expect.stringMatching(/^fault: Addresses: 1 batches .*refused/))
})
