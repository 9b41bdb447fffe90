import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { addressWriter } from '../../src/chain/address-text.ts'
import { AddressShares } from '../../src/core/address-shares.ts'
import type { AssetId, Keyspace } from '../../src/core/assets.ts'
import { eventBody } from '../../src/core/event/envelope.ts'
import { insertEvent } from '../../src/db/delivery/events.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { openCompat } from '../../src/roles/compat.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { createIssuedAddresses } from '../../src/secrets/issued-addresses.ts'
import { ISSUED_TARGET } from '../../src/signer/issue-addresses.ts'
import { takeAddressBatches } from '../../src/watcher/supply-addresses.ts'
import { clock, type SignerSetup, signerSetup } from '../signer/signer-setup.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { startBuyersSite } from '../support/buyers-site.ts'
import { inMempool } from '../support/invoice.ts'

/** Somebody with a stolen login wants buyers to pay an address of theirs, in every coin. */

type Coin = {
  readonly asset: AssetId
  readonly keyspace: Keyspace
  readonly form: string
  readonly bytes: number
}
const COINS: readonly Coin[] = [
  { asset: 'BTC', keyspace: 'bitcoin-test', form: 'regtest', bytes: 20 },
  { asset: 'LTC', keyspace: 'litecoin-test', form: 'regtest', bytes: 20 },
  { asset: 'ETH', keyspace: 'evm-test', form: 'evm', bytes: 20 },
  { asset: 'ETH_BASE', keyspace: 'evm-test', form: 'evm', bytes: 20 },
  { asset: 'USDC_BASE', keyspace: 'evm-test', form: 'evm', bytes: 20 },
  { asset: 'SOL', keyspace: 'solana-test', form: 'solana', bytes: 32 },
]

let api: TestApi
let setup: SignerSetup
let site: Awaited<ReturnType<typeof startBuyersSite>>
let merchant: TestMerchant
let alarms: { reason: string; invoiceId?: string }[]
beforeAll(async () => {
  setup = await signerSetup()
  const log = { error: (facts: (typeof alarms)[number]) => alarms.push(facts) } as never
  const issued = createIssuedAddresses({ keysPath: keysPath(), log })
  const issuedAddresses = { isIssued: issued.isIssued, shares: new AddressShares() }
  api = await createTestApi({ issuedAddresses })
  const { owner } = api.database
  await owner.query('delete from address')
  await owner.query('delete from account_key')
  await owner.query(
    `insert into network_state (network, parameters, height, hash, tip_height, status, updated_at, minimum)
     values ('solana-test', 'localnet', 100, 'hash', 100, 'ok', now(), 890880),
       ('ethereum-test', '31337', 100, 'hash', 100, 'ok', now(), null),
       ('base-test', '31338', 100, 'hash', 100, 'ok', now(), null)`,
  )
  await owner.query(
    `insert into network_watch (network, keyspace, through, updated_at)
     values ('solana-test', 'solana-test', 1000000000, now()), ('ethereum-test', 'evm-test', 1000000000, now()),
       ('base-test', 'evm-test', 1000000000, now())`,
  )
  site = await startBuyersSite(api, { x402: true })
  await fillPools()
})
beforeEach(async () => {
  merchant = await api.addMerchant()
  alarms = []
})
afterAll(async () => {
  await site.stop()
  await setup.cleanUp()
  await api.drop()
})

const keysPath = () => join(setup.dataDir, 'address-keys.json')

async function fillPools(): Promise<void> {
  const signer = await setup.start(api.database.pools.signer)
  for (const { keyspace, form } of COINS) {
    const { watcher } = api.database.pools
    const log = createLogger('silent')
    const isFilled = async () => {
      await takeAddressBatches({ pool: watcher, keyspace, form, clock, log })
      const { rowCount } = await api.database.owner.query('select from address where keyspace = $1', [
        keyspace,
      ])
      return (rowCount ?? 0) >= ISSUED_TARGET
    }
    await vi.waitUntil(isFilled, { timeout: 60_000 })
  }
  await signer.stop()
}

const theirsIn = ({ keyspace, form, bytes }: Coin): { addressBytes: Buffer; address: string } => {
  const addressBytes = randomBytes(bytes)
  return { addressBytes, address: addressWriter(keyspace, form)(addressBytes) }
}

async function openInvoice({ asset }: Coin) {
  const made = await api.call('POST', '/invoices', {
    key: merchant.testKey,
    body: { usd_amount: '20', asset },
  })
  expect(made.status, made.text).toBe(201)
  return made.body as { id: string; address: string; checkout_url: string }
}
type Opened = Awaited<ReturnType<typeof openInvoice>>

/** Everything that shows an invoice to its buyer or its shop, as text. */
async function everythingShown({
  id,
  checkout_url,
}: Opened): Promise<{ [place: string]: { status: number; text: string } }> {
  const key = merchant.testKey
  const path = new URL(checkout_url).pathname
  const page = async (url: string) => {
    const answer = await fetch(site.url + url)
    return { status: answer.status, text: await answer.text() }
  }
  const compat = openCompat(api.deps, ['btcpay', 'coinbase_commerce'], {
    name: 'api',
    owns: () => true,
    fetch: (request) => api.app.fetch(request),
  })
  const translated = async (url: string, headers: { [name: string]: string }) => {
    const part = compat.find(({ owns }) => owns(url.split('?')[0] ?? ''))
    if (part === undefined) throw new Error(`nobody serves ${url}`)
    const answer = await part.fetch(new Request(`http://paylink${url}`, { headers }))
    return { status: answer.status, text: await answer.text() }
  }
  const token = { authorization: `token ${key}` }
  return {
    get: await api.call('GET', `/invoices/${id}`, { key }),
    list: await api.call('GET', '/invoices', { key }),
    page: await page(path),
    receipt: await page(`${path}/receipt.json`),
    x402: await page(`${path}/x402`),
    btcpay: await translated(`/compat/btcpay/api/v1/stores/${merchant.id}/invoices/${id}`, token),
    btcpayList: await translated(`/compat/btcpay/api/v1/stores/${merchant.id}/invoices`, token),
    btcpayMethods: await translated(
      `/compat/btcpay/api/v1/stores/${merchant.id}/invoices/${id}/payment-methods`,
      token,
    ),
    commerce: await translated(`/compat/coinbase-commerce/charges/${id}`, { 'x-cc-api-key': key }),
    commerceList: await translated('/compat/coinbase-commerce/charges', { 'x-cc-api-key': key }),
    events: await api.call('GET', '/events', { key }),
    cancel: await api.call('POST', `/invoices/${id}/cancel`, { key }),
  }
}

async function expectShownNowhere(opened: Opened, theirs: string): Promise<void> {
  for (const [place, { status, text }] of Object.entries(await everythingShown(opened))) {
    expect(text.toLowerCase().includes(theirs.toLowerCase()), place).toBe(false)
    // Only what was reported before the attack is still shown, and lists have their other invoices.
    const isList = ['events', 'list', 'btcpayList', 'commerceList'].includes(place)
    expect(isList ? status === 200 : status >= 400, `${place}: ${status} ${text}`).toBe(true)
  }
  const refused = await api.call('GET', `/invoices/${opened.id}`, { key: merchant.testKey })
  expect([refused.status, refused.body.error.code]).toEqual([503, 'address_unverified'])
  expect(alarms.at(-1)).toMatchObject({ invoiceId: opened.id })
}

async function findings(): Promise<string[]> {
  const results = await runAudit(api.database.owner, [], { addressKeysFile: keysPath() })
  return results.flatMap(({ name, findings }) => findings.map(({ subject }) => `${name} ${subject}`))
}

/** What names the address, and not only leads to it. */
const NAMING = ['get', 'list', 'page', 'btcpayMethods', 'commerce', 'commerceList']

test.each(COINS)('in $asset everything shows the address that the signer signed', async (coin) => {
  const opened = await openInvoice(coin)
  const { events, receipt, x402, cancel, ...shown } = await everythingShown(opened)
  expect(cancel?.status).toBe(200)
  for (const [place, { status, text }] of Object.entries(shown)) {
    expect(status, place).toBe(200)
    const names = text.toLowerCase().includes(opened.address.toLowerCase())
    expect(names || !NAMING.includes(place), place).toBe(true)
  }
  expect(events?.text).toContain(opened.address)
  expect([receipt?.status, x402?.status]).toEqual([404, coin.asset === 'USDC_BASE' ? 503 : 409])
  expect(alarms).toEqual([])
})

test.each(COINS)(
  "an address in $asset that the API's login writes into an invoice is shown nowhere",
  async (coin) => {
    const opened = await openInvoice(coin)
    const { address: theirs } = theirsIn(coin)
    const tenant = { merchantId: merchant.id, livemode: false }
    const { api: login } = api.database.pools
    const written = await withTransaction(login, tenant, (tx) =>
      tx.query('update invoice set address = $1 where id = $2', [theirs, opened.id]),
    )
    expect(written.rowCount).toBe(1)
    await expectShownNowhere(opened, theirs)
    expect(await findings()).toContain(`invoice_has_its_address ${opened.id}`)
  },
)

test('a list shows the other invoices, and a replaced one without an address', async () => {
  const [coin] = COINS
  if (coin === undefined) throw new Error('no coin')
  const [replaced, other] = [await openInvoice(coin), await openInvoice(coin)]
  const { address: theirs } = theirsIn(coin)
  await api.database.owner.query('update invoice set address = $1 where id = $2', [theirs, replaced.id])
  const { status, body } = await api.call('GET', '/invoices', { key: merchant.testKey })
  expect(status).toBe(200)
  expect(Object.fromEntries(body.data.map(({ id, address }: Opened) => [id, address]))).toEqual({
    [other.id]: other.address,
    [replaced.id]: '',
  })
  expect(alarms.map(({ invoiceId }) => invoiceId)).toEqual([replaced.id])
})

test.each(COINS)("another invoice's signed address in $asset is shown nowhere in its place", async (coin) => {
  const opened = await openInvoice(coin)
  const other = await openInvoice(coin)
  await api.database.owner.query('update invoice set address = $1 where id = $2', [other.address, opened.id])
  const { body } = await api.call('GET', `/invoices/${opened.id}`, { key: merchant.testKey })
  expect(body.error.code).toBe('address_unverified')
  expect(await findings()).toContain(`invoice_has_its_address ${opened.id}`)
})

test.each(COINS)('an address in $asset that was replaced in every row is shown nowhere', async (coin) => {
  const opened = await openInvoice(coin)
  const { addressBytes, address: theirs } = theirsIn(coin)
  const { owner } = api.database
  const { rows } = await owner.query<{ idx: number }>(
    'update address set program = $1, address = $2 where address = $3 returning idx',
    [addressBytes, theirs, opened.address],
  )
  await owner.query('update deposit_address set program = $1, address = $2 where address = $3', [
    addressBytes,
    theirs,
    opened.address,
  ])
  await owner.query('update invoice set address = $1 where address = $2', [theirs, opened.address])
  await expectShownNowhere(opened, theirs)
  expect(await findings()).toContain(`address_is_the_signers ${coin.keyspace}/${rows[0]?.idx}`)
})

test('no login gives an invoice an address that is not from the pool', async () => {
  const [coin] = COINS
  if (coin === undefined) throw new Error('no coin')
  const opened = await openInvoice(coin)
  const ltc = COINS.find(({ asset }) => asset === 'LTC')
  if (ltc === undefined) throw new Error('no coin')
  const theirs = theirsIn(ltc)
  const tenant = { merchantId: merchant.id, livemode: false }
  for (const role of ['api', 'watcher', 'delivery', 'signer'] as const) {
    for (const [statement, values] of [
      ['update deposit_address set address = $1', [theirs.address]],
      ['delete from deposit_address', []],
      [
        `insert into deposit_address (merchant_id, keyspace, idx, livemode, invoice_id, program, address, created_at)
         select merchant_id, 'litecoin-test', 7, livemode, invoice_id, $1, $2, now() from deposit_address`,
        [theirs.addressBytes, theirs.address],
      ],
    ] as const) {
      const attempt = withTransaction(api.database.pools[role], tenant, (tx) =>
        tx.query(statement, [...values]),
      )
      await expect(attempt, `${role} ${statement}`).rejects.toThrow(
        /permission denied|not taken from the pool/,
      )
    }
  }
  expect((await api.call('GET', `/invoices/${opened.id}`, { key: merchant.testKey })).status).toBe(200)
})

test.each(COINS)('no login writes an event that shows another address in $asset', async (coin) => {
  const opened = await openInvoice(coin)
  const { address: theirs } = theirsIn(coin)
  const { body: shown } = await api.call('GET', `/invoices/${opened.id}`, { key: merchant.testKey })
  const uri = shown.payment_uri as string
  const forgeries = [
    { address: theirs },
    { address: theirs, payment_uri: uri.replace(opened.address, theirs) },
    { payment_uri: uri.replace(opened.address, theirs) },
    { payment_uri: `${uri}&label=${theirs}` },
    { address: '', payment_uri: uri.replace(opened.address, theirs) },
    { also_accepts: [{ asset: 'USDC_BASE', address: theirs, payment_uri: '' }] },
    { also_accepts: [{ asset: 'USDC_BASE', payment_uri: uri.replace(opened.address, theirs) }] },
    { also_accepts: [{ asset: 'USDC_BASE', address: '', payment_uri: uri.replace(opened.address, theirs) }] },
  ]
  for (const role of ['api', 'watcher'] as const) {
    for (const forged of forgeries) {
      const writing = writeEvent(role, opened.id, { ...shown, ...forged })
      await expect(writing, JSON.stringify(forged)).rejects.toThrow(/shows an address/)
    }
  }
  await writeEvent('watcher', opened.id, shown)
  await api.database.owner.query('alter table event disable trigger event_shows_own_address')
  const id = await writeEvent('watcher', opened.id, { ...shown, address: theirs }, 3)
  await api.database.owner.query('alter table event enable trigger event_shows_own_address')
  expect(await findings()).toContain(`event_shows_own_address ${id}`)
})

async function writeEvent(
  role: 'api' | 'watcher',
  resourceId: string,
  data: object,
  sequence = 2,
): Promise<string> {
  const tenant = { merchantId: merchant.id, livemode: false }
  const [id, type, now] = [newId('event', new Date()), 'invoice.paid', new Date()]
  const envelope = { id, type, resourceId, ...tenant, createdAtMs: now.getTime(), sequence, requestId: null }
  const event = { id, type, resourceId, sequence, requestId: null, createdAt: now }
  await withTransaction(api.database.pools[role], tenant, (tx) =>
    insertEvent(tx, tenant, { ...event, body: eventBody({ ...envelope, data }) }),
  )
  return id
}

test('a payment to an invoice with a replaced address is recorded, and its events show none', async () => {
  const coin = COINS.find(({ asset }) => asset === 'LTC')
  if (coin === undefined) throw new Error('no coin')
  const opened = await openInvoice(coin)
  const { address: theirs } = theirsIn(coin)
  await api.database.owner.query('update invoice set address = $1 where id = $2', [theirs, opened.id])
  const tenant = { merchantId: merchant.id, livemode: false }
  const { changed } = await recordTransfers(
    { pool: api.database.pools.watcher, clock: () => api.time.now },
    {
      tenant,
      invoiceId: opened.id,
      facts: [inMempool('ab'.repeat(32), 1_000_000n, { firstSeenMs: api.time.now.getTime() })],
      tipHeight: 100,
    },
  )
  expect(changed).toBe(true)
  const { rows } = await api.database.owner.query<{ body: Buffer }>(
    'select body from event where resource_id = $1 order by sequence',
    [opened.id],
  )
  const told = rows.map(({ body }) => JSON.parse(body.toString()).data.address)
  expect(told[0]).toBe(opened.address)
  expect(told.slice(1)).not.toEqual([])
  expect(new Set(told.slice(1))).toEqual(new Set(['']))
})
