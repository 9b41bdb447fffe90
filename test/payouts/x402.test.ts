import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { ExactEvmScheme } from '@x402/evm'
import { decodePaymentResponseHeader, wrapFetchWithPaymentFromConfig } from '@x402/fetch'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { EvmRpcError } from '../../src/chain/evm/evm-rpc.ts'
import { payerTransferCall } from '../../src/chain/evm/payer-authorization.ts'
import type { Invoice } from '../../src/core/invoice/types.ts'
import { cancelInvoice } from '../../src/flows/invoices.ts'
import { ATTEMPTS_MAX } from '../../src/flows/x402-payments.ts'
import { createX402Part } from '../../src/http/api/x402.ts'
import { type HttpServer, startHttpServer } from '../../src/http/server.ts'
import { signX402 } from '../../src/payouts/sign/sign-x402.ts'
import type { SigningContext, SigningPoint } from '../../src/payouts/sign/signing-context.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { invoiceToken } from '../../src/secrets/checkout-token.ts'
import { anyAddress } from '../support/any-address.ts'
import { boundChain, EvmPayoutWorld } from '../support/evm-payout-world.ts'
import { freePort } from '../support/free-port.ts'
import { keyring } from '../support/payout-steps.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'
import { seedMerchant } from '../support/seed.ts'
import {
  type Changes,
  decoded,
  encoded,
  newPayer,
  type Payer,
  type Requirements,
  signPayment,
} from '../support/x402-payer.ts'
import { ANSWER_MS_MAX, storedX402, takingTurns } from '../support/x402-turns.ts'

const AMOUNT = 25_000_000n
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

let world: EvmPayoutWorld
let tenant: Tenant
let server: HttpServer
let origin: string
beforeAll(async () => {
  world = await EvmPayoutWorld.open('base')
  tenant = await seedMerchant(world.database)
  const port = await freePort()
  origin = `http://127.0.0.1:${port}`
  const part = createX402Part({
    pool: world.database.pools.api,
    clock: () => new Date(),
    log: world.log,
    keyring,
    notifier: { activity: () => {} },
    issuedAddresses: anyAddress,
    baseUrl: origin,
    maySend: () => true,
    settleWaitMs: ANSWER_MS_MAX,
  })
  server = await startHttpServer({ host: '127.0.0.1', port, parts: [part], log: world.log })
  await world.fuelHotWallet()
})
beforeEach(async () => {
  world.now = new Date()
  await world.tracker().pass()
})
afterAll(async () => {
  await server?.stop(() => {})
  await world?.close()
})

/** What a refusal has left that it must not: a transaction's id, a nonce without a transaction, a row that nobody ends. */
async function leftByRefusals(): Promise<unknown[]> {
  const { rows } = await world.database.owner.query(
    `select a.id, a.reason, a.txid, a.done_at, signed.count as transactions, nonces.count as nonces
     from x402_authorization a
     cross join lateral (select count(*)::int as count from x402_transaction t
       where t.merchant_id = a.merchant_id and t.authorization_id = a.id) signed
     cross join lateral (select count(*)::int as count from account_nonce n
       where n.merchant_id = a.merchant_id and n.intent_id = a.id) nonces
     where a.status = 'refused'
       and (a.txid is not null or nonces.count <> least(signed.count, 1) or (signed.count = 0 and a.done_at is null))`,
  )
  return rows
}

/** What stands in the books of a shop whose chain nobody watches here: nothing, whatever a payer was answered. */
async function bookedFor({ merchantId }: Tenant): Promise<unknown[]> {
  const { rows } = await world.database.owner.query(
    `select 'transfer' as what, id from transfer where merchant_id = $1
     union all select 'ledger_transfer', id from ledger_transfer where merchant_id = $1
     union all select 'event', id from event where merchant_id = $1
     union all select 'invoice', id from invoice
     where merchant_id = $1 and status <> 'awaiting_payment' and cancelled_at is null`,
    [merchantId],
  )
  return rows
}

afterEach(async () => {
  expect(await leftByRefusals()).toEqual([])
  expect(await bookedFor(tenant)).toEqual([])
})

type Opened = { readonly invoice: Invoice & { readonly addressBytes: Uint8Array }; readonly url: string }

async function open(changes: Partial<Invoice> = {}, shop = tenant): Promise<Opened> {
  const now = Date.now()
  const terms = { asset: 'USDC_BASE', amount: AMOUNT, createdAtMs: now, expiresAtMs: now + HOUR_MS } as const
  const invoice = await world.openInvoice(shop, { ...terms, ...changes })
  const token = invoiceToken(keyring, { ...shop, invoiceId: invoice.id })
  return { invoice, url: `${origin}/i/${token}/x402` }
}

/** A payer who holds so much of the token and no ether. */
async function payerWith(amount: bigint): Promise<Payer> {
  const payer = newPayer()
  if (amount > 0n) {
    await world.pay('USDC_BASE', payer.address, amount)
    await world.anvil.mine(1)
  }
  return payer
}

async function requirementsOf(url: string): Promise<Requirements> {
  const response = await fetch(url)
  expect(response.status).toBe(402)
  const [accepted] = decoded<{ accepts: Requirements[] }>(response.headers.get('payment-required')).accepts
  if (accepted === undefined) throw new Error('nothing is accepted')
  return accepted
}

const send = (url: string, header: string): Promise<Response> =>
  fetch(url, { headers: { 'payment-signature': header } })

/** The watcher has recorded all blocks so far. */
const readToTip = (): Promise<void> => world.watch()

/** Everybody takes their turns: watcher, signer, watcher, a block, and it is read. */
async function turn(changes: Partial<SigningContext> = {}): Promise<void> {
  world.now = new Date()
  await world.tracker().pass()
  await signX402(await world.signer(changes))
  await world.tracker().pass()
  await world.anvil.mine(1)
  await readToTip()
}

const { turnsUntil, answered } = takingTurns(turn)

const stored = ({ invoice }: Opened) => storedX402(world.database.owner, invoice.id)

const received = (of: Opened) => world.holds('USDC_BASE', of.invoice.addressBytes)

/** Why a payment was refused; undefined where it was not. What is refused has no transaction. */
function reasonOf(response: Response): string | undefined {
  const told = decoded<{ success: boolean; transaction: string; errorReason?: string }>(
    response.headers.get('payment-response'),
  )
  if (!told.success) expect(told.transaction).toBe('')
  return told.errorReason
}

test('the public client pays an invoice without ether, and the same payment sent again pays nothing more', async () => {
  const opened = await open()
  const payer = await payerWith(AMOUNT * 2n)
  let header = ''
  const recorded: typeof fetch = (input, init) => {
    const request = new Request(input, init)
    header = request.headers.get('payment-signature') ?? header
    return fetch(request)
  }
  const pay = wrapFetchWithPaymentFromConfig(recorded, {
    schemes: [{ network: 'eip155:31337', client: new ExactEvmScheme(payer) }],
    // By itself it pays no more than a dollar, and in Circle's USDC alone.
    spendControls: { allowedAssets: true },
  })
  const response = await answered(pay(opened.url))
  expect(response.status).toBe(200)
  const told = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
  expect(told).toMatchObject({ success: true, network: 'eip155:31337', payer: payer.address })
  const receipt = await world.anvil.rpc<{ status: string }>('eth_getTransactionReceipt', [told.transaction])
  expect(receipt.status).toBe('0x1')
  expect(await received(opened)).toBe(AMOUNT)
  // Nobody watches the chain here: the answer alone credits nothing.
  const { rows } = await world.database.owner.query('select status from invoice where id = $1', [
    opened.invoice.id,
  ])
  expect(rows).toEqual([{ status: 'awaiting_payment' }])
  for (let again = 0; again < 3; again++) {
    // Even where the hot wallet has nothing left for another: who paid still hears of it.
    if (again === 2) await world.database.owner.query('update hot_wallet set balance = 0')
    const replay = await send(opened.url, header)
    expect(replay.status).toBe(200)
    expect(await replay.json()).toMatchObject({ status: 'settled', transaction: told.transaction })
  }
  for (let count = 0; count < 4; count++) await turn()
  expect(await stored(opened)).toEqual([{ status: 'settled', reason: null, transactions: 1 }])
  expect(await received(opened)).toBe(AMOUNT)
  expect(await world.holds('USDC_BASE', payer.address)).toBe(AMOUNT)
})

test('what is asked for is the invoice’s own amount, address, token and chain', async () => {
  const { invoice, url } = await open()
  const response = await fetch(url, { method: 'POST' })
  expect(response.status).toBe(402)
  const body = await response.json()
  expect(body).toEqual(decoded(response.headers.get('payment-required')))
  expect(body).toEqual({
    x402Version: 2,
    error: 'PAYMENT-SIGNATURE header is required',
    resource: { url, description: 'Payment of an invoice', mimeType: 'application/json' },
    accepts: [
      {
        scheme: 'exact',
        network: 'eip155:31337',
        amount: '25000000',
        asset: expect.stringMatching(new RegExp(`^${world.token}$`, 'i')),
        payTo: invoice.address,
        maxTimeoutSeconds: 300,
        extra: { name: 'USDC', version: '2' },
      },
    ],
    extensions: {},
  })
})

test('on a sandbox chain the hot wallet has ether before USDC waits, and payments are then offered at once', async () => {
  const { url } = await open()
  const wei = await world.anvil.rpc<string>('eth_getBalance', [encodeEvmAddress(world.hot), 'latest'])
  await world.anvil.rpc('anvil_setBalance', [encodeEvmAddress(world.hot), '0x0'])
  const asked: string[] = []
  const topUp = async (address: Uint8Array) => void asked.push(encodeEvmAddress(address))
  const tracker = world.tracker(undefined, topUp)
  await tracker.pass()
  expect((await fetch(url)).status).toBe(503)
  // Nobody is busy and no time passes: it is read again because the ether is on its way, and asked for once.
  await tracker.pass()
  expect(asked).toEqual([encodeEvmAddress(world.hot)])
  await world.anvil.rpc('anvil_setBalance', [encodeEvmAddress(world.hot), wei])
  await tracker.pass()
  expect((await fetch(url)).status).toBe(402)
  // From here on once a minute, as ever.
  await world.anvil.rpc('anvil_setBalance', [encodeEvmAddress(world.hot), '0x0'])
  await tracker.pass()
  expect((await fetch(url)).status).toBe(402)
  await world.anvil.rpc('anvil_setBalance', [encodeEvmAddress(world.hot), wei])
})

const now = (): bigint => BigInt(Math.floor(Date.now() / 1_000))
const HOSTILE: readonly [string, string, () => Changes][] = [
  ['another amount', 'invalid_exact_evm_payload_authorization_value', () => ({ value: AMOUNT - 1n })],
  ['a larger amount', 'invalid_exact_evm_payload_authorization_value', () => ({ value: AMOUNT + 1n })],
  ['another recipient', 'invalid_exact_evm_payload_recipient_mismatch', () => ({ to: newPayer().address })],
  [
    'an authorization that has expired',
    'invalid_exact_evm_payload_authorization_valid_before',
    () => ({ validBefore: now() - 1n }),
  ],
  [
    'one that expires too soon',
    'invalid_exact_evm_payload_authorization_valid_before',
    () => ({ validBefore: now() + 20n }),
  ],
  [
    'one that is not valid yet',
    'invalid_exact_evm_payload_authorization_valid_after',
    () => ({ validAfter: now() + 100n }),
  ],
  ['a signature for another chain', 'invalid_exact_evm_payload_signature', () => ({ chainId: 8_453 })],
  [
    'a signature for another token',
    'invalid_exact_evm_payload_signature',
    () => ({ contract: newPayer().address }),
  ],
  ['a signature for another name', 'invalid_exact_evm_payload_signature', () => ({ name: 'USD Coin' })],
  ['a signature of somebody else', 'invalid_exact_evm_payload_signature', () => ({ signer: newPayer() })],
  [
    'terms that were never offered',
    'invalid_payment_requirements',
    () => ({ accepted: { amount: '1' }, value: 1n }),
  ],
  [
    'another network',
    'invalid_payment_requirements',
    () => ({ accepted: { network: 'eip155:8453' }, chainId: 8_453 }),
  ],
  [
    'another token’s address',
    'invalid_payment_requirements',
    () => ({ accepted: { asset: newPayer().address } }),
  ],
]

test.each(HOSTILE)(
  '%s is refused in the protocol’s words, and nothing is kept or signed',
  async (_what, reason, changes) => {
    const opened = await open()
    const payer = newPayer()
    const { header } = await signPayment(payer, await requirementsOf(opened.url), changes())
    const response = await send(opened.url, header)
    expect([response.status, reasonOf(response)]).toEqual([402, reason])
    expect(decoded<{ error: string }>(response.headers.get('payment-required')).error).toBe(reason)
    await turn()
    expect(await stored(opened)).toEqual([])
    expect(await received(opened)).toBe(0n)
  },
)

test('another invoice’s payment pays nothing here', async () => {
  const [mine, other] = [await open(), await open()]
  const payer = await payerWith(AMOUNT)
  const asked = await requirementsOf(other.url)
  const { header } = await signPayment(payer, asked)
  expect(reasonOf(await send(mine.url, header))).toBe('invalid_payment_requirements')
  const { payTo } = await requirementsOf(mine.url)
  const disguised = await signPayment(payer, asked, { accepted: { payTo } })
  expect(reasonOf(await send(mine.url, disguised.header))).toBe(
    'invalid_exact_evm_payload_recipient_mismatch',
  )
  expect([await stored(mine), await stored(other)]).toEqual([[], []])
})

test.each([
  ['no base64', '%%%%'],
  ['no JSON', Buffer.from('{').toString('base64')],
  ['another version', encoded({ x402Version: 1, payload: {} })],
  ['no payload', encoded({ x402Version: 2, accepted: {} })],
  ['more than a payment needs', 'A'.repeat(9_000)],
])('a header with %s is no payment', async (_what, header) => {
  const opened = await open()
  const response = await send(opened.url, header)
  expect([response.status, await response.json()]).toEqual([400, { error: 'invalid_payload' }])
  expect(await stored(opened)).toEqual([])
})

test('the same payment twenty times at once is broadcast once, and all get the same response', async () => {
  const opened = await open()
  const payer = await payerWith(AMOUNT * 5n)
  const { header } = await signPayment(payer, await requirementsOf(opened.url))
  const responses = await answered(Promise.all(Array.from({ length: 20 }, () => send(opened.url, header))))
  const bodies = await Promise.all(responses.map((response) => response.json()))
  expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1)
  expect(bodies[0]).toMatchObject({ status: 'settled', invoice_id: opened.invoice.id })
  expect(await stored(opened)).toEqual([{ status: 'settled', reason: null, transactions: 1 }])
  expect(await received(opened)).toBe(AMOUNT)
})

test('an invoice holds 25 payments at a time: more are refused at once, and another invoice is paid', async () => {
  const [opened, other] = [await open(), await open()]
  const payer = await payerWith(AMOUNT * 5n)
  const { header } = await signPayment(payer, await requirementsOf(opened.url))
  const asked = Array.from({ length: 32 }, () => send(opened.url, header))
  const refused: Response[] = []
  for (const sent of asked) {
    void sent.then((response) => {
      if (response.status === 429) refused.push(response)
    })
  }
  await expect.poll(() => refused.length).toBe(7)
  for (const response of refused) {
    expect(await response.json()).toEqual({ error: 'too_many_under_way' })
    expect(response.headers.get('retry-after')).toBe('2')
  }
  const elsewhere = await signPayment(payer, await requirementsOf(other.url))
  expect((await answered(send(other.url, elsewhere.header))).status).toBe(200)
  const statuses = (await answered(Promise.all(asked))).map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(25)
  expect((await send(opened.url, header)).status).toBe(200)
  expect(await stored(opened)).toEqual([{ status: 'settled', reason: null, transactions: 1 }])
})

test('of ten payers at once one pays, and the others keep their money', async () => {
  const opened = await open()
  const asked = await requirementsOf(opened.url)
  const payers: Payer[] = []
  for (let count = 0; count < 10; count++) payers.push(await payerWith(AMOUNT))
  const headers = await Promise.all(payers.map(async (payer) => (await signPayment(payer, asked)).header))
  const responses = await answered(Promise.all(headers.map((header) => send(opened.url, header))))
  const statuses = responses.map(({ status }) => status).sort()
  expect(statuses).toEqual([200, ...Array.from({ length: 9 }, () => 409)])
  expect(await stored(opened)).toEqual([{ status: 'settled', reason: null, transactions: 1 }])
  expect(await received(opened)).toBe(AMOUNT)
  const kept = await Promise.all(payers.map(({ address }) => world.holds('USDC_BASE', address)))
  expect(kept.reduce((sum, held) => sum + held, 0n)).toBe(AMOUNT * 9n)
})

test('who lacks the money is refused before gas is spent, and another may pay the invoice', async () => {
  const opened = await open()
  const asked = await requirementsOf(opened.url)
  const ether = await world.holds('ETH_BASE', world.hot)
  const poor = await signPayment(await payerWith(AMOUNT - 1n), asked)
  const response = await answered(send(opened.url, poor.header))
  expect([response.status, reasonOf(response)]).toEqual([402, 'insufficient_funds'])
  expect(await stored(opened)).toMatchObject([{ status: 'refused', transactions: 0 }])
  expect(await world.holds('ETH_BASE', world.hot)).toBe(ether)
  const { header } = await signPayment(await payerWith(AMOUNT), asked)
  expect((await answered(send(opened.url, header))).status).toBe(200)
  expect(await received(opened)).toBe(AMOUNT)
})

test.each(['waiting', 'checked'])(
  'a payment that is %s when its invoice is cancelled is not carried, and its payer keeps the money',
  async (status) => {
    const opened = await open()
    const { header } = await signPayment(await payerWith(AMOUNT), await requirementsOf(opened.url))
    const sent = send(opened.url, header)
    const stands = async () => (await stored(opened))[0]?.status
    await vi.waitUntil(async () => (await stands()) === 'waiting', { timeout: ANSWER_MS_MAX })
    if (status === 'checked') await world.tracker().pass()
    expect(await stands()).toBe(status)
    const cancelled = await cancelInvoice(
      { pool: world.database.pools.api, clock: () => new Date(), issuedAddresses: anyAddress },
      {
        tenant,
        invoiceId: opened.invoice.id,
        networkFacts: { tipHeightOf: () => null },
        requestId: 'req_test',
      },
    )
    expect(cancelled.kind).toBe('cancelled')
    const response = await answered(sent)
    expect([response.status, reasonOf(response)]).toEqual([402, 'invalid_payment_requirements'])
    expect(await stored(opened)).toMatchObject([{ status: 'refused', transactions: 0 }])
    expect(await received(opened)).toBe(0n)
  },
)

test.each(['waiting', 'checked'])(
  'a payment that is %s when its invoice is paid otherwise is not carried, and takes no money',
  async (status) => {
    const shop = await seedMerchant(world.database)
    const opened = await open({}, shop)
    const { header } = await signPayment(await payerWith(AMOUNT), await requirementsOf(opened.url))
    const sent = send(opened.url, header)
    const stands = async () => (await stored(opened))[0]?.status
    await vi.waitUntil(async () => (await stands()) === 'waiting', { timeout: ANSWER_MS_MAX })
    if (status === 'checked') await world.tracker().pass()
    expect(await stands()).toBe(status)
    const { id: invoiceId, address } = opened.invoice
    await world.payInvoice(shop, { invoiceId, address, asset: 'USDC_BASE', amount: AMOUNT })
    const response = await answered(sent)
    expect([response.status, reasonOf(response)]).toEqual([402, 'invalid_payment_requirements'])
    expect(await stored(opened)).toMatchObject([{ status: 'refused', transactions: 0 }])
    expect(await received(opened)).toBe(AMOUNT)
  },
)

test.each([
  ['up to ten minutes after the deadline is carried, for it counts', 9, 'settled'],
  ['later than that is not carried, and its payer keeps the money', 11, 'refused'],
] as const)('a payment of which nothing was signed %s', async (_what, minutes, status) => {
  const expiresAtMs = Date.now() + 5 * MINUTE_MS
  const opened = await open({ expiresAtMs })
  const validBefore = BigInt(Math.floor(Date.now() / 1_000) + 86_400)
  const { header } = await signPayment(await payerWith(AMOUNT), await requirementsOf(opened.url), {
    validBefore,
  })
  const sent = send(opened.url, header)
  await vi.waitUntil(async () => (await stored(opened)).length === 1, { timeout: ANSWER_MS_MAX })
  await world.tracker().pass()
  world.now = new Date(expiresAtMs + minutes * MINUTE_MS)
  await world.tracker().pass()
  await signX402(await world.signer())
  const response = await answered(sent)
  expect(response.status).toBe(status === 'settled' ? 200 : 402)
  expect(await stored(opened)).toMatchObject([{ status }])
  expect(await received(opened)).toBe(status === 'settled' ? AMOUNT : 0n)
})

test('an invoice for which twenty payments have failed takes no more of them', async () => {
  const opened = await open()
  const asked = await requirementsOf(opened.url)
  const first = await signPayment(newPayer(), asked)
  expect((await answered(send(opened.url, first.header))).status).toBe(402)
  // As many more as it takes, each under a nonce of its own.
  await world.database.owner.query(
    `insert into x402_authorization (merchant_id, id, livemode, invoice_id, network, payer, recipient, key_index, value,
       valid_after, valid_before, nonce, signature, status, reason, created_at, done_at)
     select merchant_id, id || n, livemode, invoice_id, network, payer, recipient, key_index, value, valid_after,
       valid_before, sha256(nonce || int4send(n)), signature, status, reason, created_at, done_at
     from x402_authorization, generate_series(2, $2) n where invoice_id = $1`,
    [opened.invoice.id, ATTEMPTS_MAX],
  )
  const { header } = await signPayment(newPayer(), asked)
  const response = await send(opened.url, header)
  expect([response.status, await response.json()]).toEqual([409, { error: 'too_many_attempts' }])
  expect(await stored(opened)).toHaveLength(ATTEMPTS_MAX)
})

/** Carries a payment to the chain from an account of the node’s own. */
async function carry(
  payer: Payer,
  asked: Requirements,
  signed: Awaited<ReturnType<typeof signPayment>>,
): Promise<string> {
  const { payload } = decoded<{ payload: { authorization: { validAfter: string; validBefore: string } } }>(
    signed.header,
  )
  const bytes = (hex: string) => Buffer.from(hex.slice(2), 'hex')
  const data = payerTransferCall({
    from: bytes(payer.address),
    to: bytes(asked.payTo),
    value: BigInt(asked.amount),
    validAfter: BigInt(payload.authorization.validAfter),
    validBefore: BigInt(payload.authorization.validBefore),
    nonce: bytes(signed.nonce),
    signature: bytes(signed.signature),
  })
  const txid = await world.anvil.send({
    to: asked.asset,
    data: `0x${Buffer.from(data).toString('hex')}`,
    gas: 200_000,
  })
  await world.anvil.mine(1)
  return txid
}

const SAME_NONCE = `0x${'5a'.repeat(32)}` as const

test.each([
  ['promises the same money to', AMOUNT, {}, 'insufficient_funds'],
  ['signs with one nonce for', AMOUNT * 3n, { nonce: SAME_NONCE }, 'invalid_exact_evm_nonce_already_used'],
])(
  'who %s many invoices at once pays one, and the others cost no gas',
  async (_what, holds, changes, why) => {
    const opened = [await open(), await open(), await open()]
    const payer = await payerWith(holds)
    const headers: string[] = []
    for (const { url } of opened)
      headers.push((await signPayment(payer, await requirementsOf(url), changes)).header)
    const nonce = () =>
      world.anvil.rpc<string>('eth_getTransactionCount', [encodeEvmAddress(world.hot), 'latest'])
    const before = Number(await nonce())
    const responses = await answered(
      Promise.all(opened.map(({ url }, index) => send(url, headers[index] ?? ''))),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 402, 402])
    const reasons = responses.map(reasonOf).filter((reason) => reason !== undefined)
    expect(reasons).toEqual([why, why])
    expect(Number(await nonce())).toBe(before + 1)
    const kept = (await Promise.all(opened.map(stored))).flat()
    expect(kept.map(({ status, transactions }) => `${status} ${transactions}`).sort()).toEqual([
      'refused 0',
      'refused 0',
      'settled 1',
    ])
  },
)

test('however many payments wait for their blocks to be final, the next one is tried and signed', async () => {
  const settled = await open()
  const first = await signPayment(await payerWith(AMOUNT), await requirementsOf(settled.url))
  const response = send(settled.url, first.header)
  await turnsUntil(async () => (await stored(settled))[0]?.status === 'settled')
  expect((await response).status).toBe(200)
  // As many as a look takes, of invoices of their own and older than any other.
  const many = 250
  const { rows } = await world.database.owner.query<{ id: string }>(
    `with copied as (
       insert into invoice select (jsonb_populate_record(i, jsonb_build_object('id', 'inv_0' || n))).*
       from invoice i, generate_series(1, $2) n where i.id = $1 returning id)
     insert into x402_authorization (merchant_id, id, livemode, invoice_id, network, payer, recipient, key_index, value,
       valid_after, valid_before, nonce, signature, status, txid, created_at)
     select merchant_id, 'xpay_0' || copied.id, livemode, copied.id, network, payer, recipient, key_index, value, valid_after,
       valid_before, nonce, signature, 'settled', txid, created_at
     from x402_authorization, copied where invoice_id = $1 returning id`,
    [settled.invoice.id, many],
  )
  expect(rows).toHaveLength(many)
  const next = await open()
  const { header } = await signPayment(await payerWith(AMOUNT), await requirementsOf(next.url))
  const asked = send(next.url, header)
  while ((await stored(next)).length === 0) await pause(20)
  world.now = new Date()
  await world.tracker().pass()
  await signX402(await world.signer())
  expect(await stored(next)).toMatchObject([{ transactions: 1 }])
  await world.database.owner.query('update x402_authorization set done_at = now() where id = any($1)', [
    rows.map(({ id }) => id),
  ])
  expect((await answered(asked)).status).toBe(200)
})

/** As if so many payments like this one had been signed within the hour, each by `payerOf` its number. */
async function signedBefore(of: Opened, count: number, payerOf: (n: number) => Buffer | null): Promise<void> {
  const { owner } = world.database
  const payers = Array.from({ length: count }, (_, n) => payerOf(n))
  await owner.query(
    `with given as (select n, payer from unnest($2::bytea[]) with ordinality as g(payer, n)),
     copied as (
       insert into invoice select (jsonb_populate_record(i, jsonb_build_object('id', 'inv_s' || $3 || n))).*
       from invoice i, given where i.id = $1 returning id),
     tried as (
       insert into x402_authorization (merchant_id, id, livemode, invoice_id, network, payer, recipient, key_index, value,
         valid_after, valid_before, nonce, signature, status, txid, created_at, done_at)
       select a.merchant_id, 'xpay_s' || $3 || n, livemode, 'inv_s' || $3 || n, network, coalesce(given.payer, a.payer),
         recipient, key_index, value, valid_after, valid_before, nonce, signature, 'settled', txid, created_at, now()
       from x402_authorization a, given where a.invoice_id = $1)
     insert into x402_transaction (merchant_id, authorization_id, number, livemode, network, txid, raw, created_at)
     select a.merchant_id, 'xpay_s' || $3 || n, 1, a.livemode, a.network, 'xs' || $3 || n, raw, t.created_at
     from x402_authorization a join x402_transaction t on t.authorization_id = a.id, given where a.invoice_id = $1`,
    [of.invoice.id, payers, `${randomBytes(4).toString('hex')}_`],
  )
}

test('neither a shop nor a payer at it uses up what others may have signed within the hour', async () => {
  const { owner } = world.database
  const shops = [await seedMerchant(world.database), await seedMerchant(world.database)] as const
  const greedy = await payerWith(AMOUNT * 2n)
  /** Whether it is signed in this turn; if not, it waits. */
  const isSigned = async (shop: Tenant, payer: Payer): Promise<[Opened, boolean]> => {
    const opened = await open({}, shop)
    const { header } = await signPayment(payer, await requirementsOf(opened.url))
    const asked = send(opened.url, header)
    while ((await stored(opened)).length === 0) await pause(20)
    await turn()
    const [row] = await stored(opened)
    if (row?.transactions === 1) expect((await answered(asked)).status).toBe(200)
    return [opened, row?.transactions === 1]
  }
  await owner.query("update x402_transaction set created_at = now() - interval '2 hours'")
  const [first, isFirst] = await isSigned(shops[0], greedy)
  expect(isFirst).toBe(true)
  await signedBefore(first, 333, () => null)
  expect((await isSigned(shops[0], greedy))[1]).toBe(false)
  expect((await isSigned(shops[0], await payerWith(AMOUNT)))[1]).toBe(true)
  await signedBefore(first, 165, () => randomBytes(20))
  expect((await isSigned(shops[0], await payerWith(AMOUNT)))[1]).toBe(false)
  expect((await isSigned(shops[1], await payerWith(AMOUNT)))[1]).toBe(true)
  await owner.query("update x402_transaction set created_at = now() - interval '2 hours'")
  await turnsUntil(async () => (await openAuthorizations()) === 0)
})

const openAuthorizations = async () =>
  (
    await world.database.owner.query<{ count: number }>(
      "select count(*)::int as count from x402_authorization where status in ('waiting', 'checked')",
    )
  ).rows[0]?.count

test('a payment about which the node refuses a question holds up no other, and is tried again', async () => {
  const [first, second] = [await open(), await open()]
  const [doubtful, payer] = [await payerWith(AMOUNT), await payerWith(AMOUNT)]
  const asked: Promise<Response>[] = []
  for (const [opened, by] of [
    [first, doubtful],
    [second, payer],
  ] as const) {
    const { header } = await signPayment(by, await requirementsOf(opened.url))
    asked.push(send(opened.url, header))
    while ((await stored(opened)).length === 0) await pause(20)
  }
  const tracker = world.tracker((chain) => ({
    ...boundChain(chain),
    failureOf: (call) =>
      Buffer.from(call.data).toString('hex').includes(doubtful.address.slice(2).toLowerCase())
        ? Promise.reject(
            new EvmRpcError('the node', 'eth_call', { code: -32_000, message: 'execution timeout' }),
          )
        : chain.failureOf(call),
  }))
  world.now = new Date()
  await tracker.pass()
  expect(await stored(first)).toMatchObject([{ status: 'waiting' }])
  expect(await stored(second)).toMatchObject([{ status: 'checked' }])
  const responses = await answered(Promise.all(asked))
  expect(responses.map(({ status }) => status)).toEqual([200, 200])
})

test('an authorization whose nonce was used on the chain costs no gas', async () => {
  const opened = await open()
  const asked = await requirementsOf(opened.url)
  const payer = await payerWith(AMOUNT * 2n)
  const signed = await signPayment(payer, asked)
  await carry(payer, asked, signed)
  const response = await answered(send(opened.url, signed.header))
  expect([response.status, reasonOf(response)]).toEqual([402, 'invalid_exact_evm_nonce_already_used'])
  expect(await stored(opened)).toMatchObject([{ status: 'refused', transactions: 0 }])
  expect(await received(opened)).toBe(AMOUNT)
})

test('if another is faster between signature and block, the client gets a 402 and the hot wallet moves on', async () => {
  const opened = await open()
  const asked = await requirementsOf(opened.url)
  const payer = await payerWith(AMOUNT)
  const signed = await signPayment(payer, asked)
  const response = send(opened.url, signed.header)
  while ((await stored(opened)).length === 0) await pause(20)
  world.now = new Date()
  await world.tracker().pass()
  await signX402(await world.signer())
  await carry(payer, asked, signed)
  const told = await answered(response)
  expect([told.status, reasonOf(told)]).toEqual([402, 'invalid_transaction_state'])
  expect(await received(opened)).toBe(AMOUNT)
  // Its one transaction is kept, which took its nonce and its gas; of its success nothing is.
  expect(await stored(opened)).toEqual([
    { status: 'refused', reason: 'invalid_transaction_state', transactions: 1 },
  ])
  const next = await open()
  const { header } = await signPayment(await payerWith(AMOUNT), await requirementsOf(next.url))
  expect((await answered(send(next.url, header))).status).toBe(200)
})

test.each(['before the signature', 'between signature and block'])(
  'nobody is asked for the same money again where another was faster %s',
  async (when) => {
    const shop = await seedMerchant(world.database)
    const opened = await open({}, shop)
    const asked = await requirementsOf(opened.url)
    const payer = await payerWith(AMOUNT * 2n)
    const signed = await signPayment(payer, asked)
    await readToTip()
    const response = send(opened.url, signed.header)
    await vi.waitUntil(async () => (await stored(opened)).length === 1, { timeout: ANSWER_MS_MAX })
    world.now = new Date()
    if (when !== 'before the signature') {
      await world.tracker().pass()
      await signX402(await world.signer())
    }
    const txid = await carry(payer, asked, signed)
    for (let pass = 0; pass < 3; pass++) {
      await world.tracker().pass()
      await world.anvil.mine(1)
    }
    // The watcher has not read those blocks: to the shop nothing has come.
    const again = await send(opened.url, (await signPayment(payer, asked)).header)
    expect([again.status, await again.json()]).toEqual([409, { error: 'being_paid' }])
    const place = { network: world.network, asset: 'USDC_BASE', txid, output: 1 } as const
    await world.record(shop, { ...place, invoiceId: opened.invoice.id, amount: AMOUNT })
    expect((await answered(response)).status).toBe(402)
    const last = await send(opened.url, (await signPayment(payer, asked)).header)
    expect([last.status, await last.json()]).toMatchObject([409, { error: 'not_payable' }])
    expect(await received(opened)).toBe(AMOUNT)
    expect(await world.holds('USDC_BASE', payer.address)).toBe(AMOUNT)
  },
)

test('a payment whose block leaves the chain is carried there again, by the same bytes', async () => {
  const opened = await open()
  const { header } = await signPayment(await payerWith(AMOUNT), await requirementsOf(opened.url))
  const response = send(opened.url, header)
  // No more turns than it needs: each makes a block, and what is final is looked after no more.
  await turnsUntil(async () => (await stored(opened))[0]?.status === 'settled')
  const told = await (await response).json()
  const tip = await world.anvil.height()
  const { blockNumber } = await world.anvil.rpc<{ blockNumber: string }>('eth_getTransactionReceipt', [
    told.transaction,
  ])
  await world.anvil.reorganise(tip - Number(blockNumber) + 1, (txid) => txid === told.transaction)
  await readToTip()
  expect(await received(opened)).toBe(0n)
  await turnsUntil(async () => (await received(opened)) === AMOUNT)
  await turnsUntil(async () => (await stored(opened))[0]?.status === 'settled')
  expect(await received(opened)).toBe(AMOUNT)
  expect(await stored(opened)).toEqual([{ status: 'settled', reason: null, transactions: 1 }])
  const replay = await (await send(opened.url, header)).json()
  expect(replay).toEqual(told)
})

test('one of two providers that lies about a payment ends nothing: it is broadcast once and succeeds', async () => {
  const proxy = await startRpcProxy(world.anvil.url)
  const [first, second] = [world.clientAt(proxy.url), world.clientAt(world.anvil.url)]
  const tracker = world.trackerOf([
    { name: 'first', chain: first },
    { name: 'second', chain: second },
  ])
  type Block = { readonly number: string; readonly hash: string }
  const blockAt = (at: string) => world.anvil.rpc<Block>('eth_getBlockByNumber', [at, false])
  await world.watch()
  const doneAt = async ({ invoice }: Opened) => {
    const of = 'select done_at from x402_authorization where invoice_id = $1'
    return (await world.database.owner.query<{ done_at: Date | null }>(of, [invoice.id])).rows[0]?.done_at
  }
  const lookAndMine = async () => {
    for (let look = 0; look < 3; look++) await tracker.pass()
    await world.anvil.mine(1)
  }
  const lies = {
    'has it in a block': '0x1',
    'has it reverted in a block': '0x0',
    'never heard of it': null,
  } as const
  for (const [lie, status] of Object.entries(lies)) {
    const opened = await open()
    const { header } = await signPayment(await payerWith(AMOUNT), await requirementsOf(opened.url))
    const response = send(opened.url, header)
    await vi.waitFor(async () => expect(await stored(opened)).toHaveLength(1), ANSWER_MS_MAX)
    world.now = new Date()
    await tracker.pass()
    await signX402(await world.signer())
    expect(await stored(opened), lie).toMatchObject([{ status: 'checked', transactions: 1 }])
    const block = await blockAt('finalized')
    const made = status === null ? null : { blockNumber: block.number, blockHash: block.hash, status }
    proxy.lie('eth_getTransactionReceipt', () => made)
    proxy.lie('eth_getTransactionCount', () => '0xffff')
    proxy.lie('eth_sendRawTransaction', () => {
      throw new Error('nonce too low')
    })
    await lookAndMine()
    // What it never heard of it has passed on.
    const there = status === null ? AMOUNT : 0n
    expect([await received(opened), await doneAt(opened)], lie).toEqual([there, null])
    proxy.tellTheTruth()
    await lookAndMine()
    await lookAndMine()
    expect(await received(opened), lie).toBe(AMOUNT)
    for (let block = 0; block < 3; block++) await lookAndMine()
    expect(await stored(opened), lie).toEqual([{ status: 'settled', reason: null, transactions: 1 }])
    expect(await doneAt(opened), lie).not.toBeNull()
    await response
    const told = await (await send(opened.url, header)).json()
    expect(told, lie).toMatchObject({ status: 'settled' })
  }
  for (const chain of [first, second]) await chain.close()
  await proxy.close()
})

test('a transaction that waits too long is replaced for a higher fee, and only one of the two happens', async () => {
  const opened = await open()
  const { header } = await signPayment(await payerWith(AMOUNT * 3n), await requirementsOf(opened.url))
  const response = send(opened.url, header)
  while ((await stored(opened)).length === 0) await pause(20)
  const sign = async (laterMs: number): Promise<void> => {
    world.now = new Date(Date.now() + laterMs)
    await world.tracker().pass()
    await signX402(await world.signer())
  }
  await sign(0)
  expect(await stored(opened)).toMatchObject([{ transactions: 1 }])
  await sign(2 * MINUTE_MS)
  expect(await stored(opened)).toMatchObject([{ transactions: 1 }])
  await sign(4 * MINUTE_MS)
  expect(await stored(opened)).toMatchObject([{ transactions: 2 }])
  expect((await answered(response)).status).toBe(200)
  for (let count = 0; count < 3; count++) await turn()
  expect(await received(opened)).toBe(AMOUNT)
  const { rows } = await world.database.owner.query<{ nonces: number; txids: number }>(
    `select count(distinct n.nonce)::int as nonces, count(distinct t.txid)::int as txids
     from x402_transaction t join x402_authorization a on a.id = t.authorization_id
     join account_nonce n on n.intent_id = a.id where a.invoice_id = $1`,
    [opened.invoice.id],
  )
  expect(rows).toEqual([{ nonces: 1, txids: 2 }])
})

test('payouts, their sweeps and payments of programs share the hot wallet, and each happens once', async () => {
  const shop = await world.openShop('USDC_BASE', [AMOUNT, AMOUNT])
  const payout = await world.payout(shop, 'USDC_BASE', '40')
  const opened = [await open(), await open(), await open()]
  const headers: string[] = []
  for (const { url } of opened)
    headers.push((await signPayment(await payerWith(AMOUNT), await requirementsOf(url))).header)
  const responses = Promise.all(opened.map(({ url }, index) => send(url, headers[index] ?? '')))
  const ends: Promise<unknown> = responses.catch(() => {})
  let isAnswered = false
  ends.then(() => {
    isAnswered = true
  })
  await turnsUntil(async () => {
    await world.sign()
    return isAnswered && (await world.load(shop, payout.id)).status === 'confirmed'
  })
  expect((await responses).map(({ status }) => status)).toEqual([200, 200, 200])
  expect((await world.load(shop, payout.id)).status).toBe('confirmed')
  expect(await world.holds('USDC_BASE', payout.destination)).toBe(40_000_000n)
  for (const each of opened) expect(await received(each)).toBe(AMOUNT)
  const { rows } = await world.database.owner.query<{ nonce: number }>(
    'select nonce from account_nonce where sender = $1 order by nonce',
    [Buffer.from(world.hot)],
  )
  // Without a gap, so that none waits for ever.
  expect(rows.map(({ nonce }) => nonce)).toEqual(rows.map((_, index) => index))
})

test.each<SigningPoint>(['before_journal', 'after_journal', 'after_commit'])(
  'a signer that dies %s signs nothing twice',
  async (point) => {
    const opened = await open()
    const { header } = await signPayment(await payerWith(AMOUNT * 3n), await requirementsOf(opened.url))
    const response = send(opened.url, header)
    while ((await stored(opened)).length === 0) await pause(20)
    world.now = new Date()
    await world.tracker().pass()
    const dies = async (reached: SigningPoint) => {
      if (reached === point) throw new Error('killed')
    }
    await expect(signX402(await world.signer({ reached: dies }))).rejects.toThrow('killed')
    expect((await answered(response)).status).toBe(200)
    expect(await stored(opened)).toEqual([{ status: 'settled', reason: null, transactions: 1 }])
    expect(await received(opened)).toBe(AMOUNT)
  },
)

/** A payment that the watcher has checked, that nothing was signed for yet, and that expires in 200 seconds. */
async function sendExpiring() {
  const opened = await open()
  const asked = await requirementsOf(opened.url)
  const { header } = await signPayment(await payerWith(AMOUNT), asked, { validBefore: now() + 200n })
  const response = send(opened.url, header)
  while ((await stored(opened)).length === 0) await pause(20)
  world.now = new Date()
  await world.tracker().pass()
  return { opened, response }
}

test.each(['dies', 'stands still'])(
  'a payment that expires while the signer %s behind its journal is refused; the next has its nonce',
  async (what) => {
    const { opened, response } = await sendExpiring()
    const expires = async () => {
      world.now = new Date(Date.now() + 4 * MINUTE_MS)
      await world.tracker().pass()
    }
    const reached = async (point: SigningPoint) => {
      if (point !== 'after_journal') return
      if (what === 'dies') throw new Error('killed')
      await expires()
    }
    const signing = signX402(await world.signer({ reached }))
    await (what === 'dies' ? expect(signing).rejects.toThrow('killed') : signing)
    const nonce = await world.anvil.rpc<string>('eth_getTransactionCount', [
      encodeEvmAddress(world.hot),
      'latest',
    ])
    await expires()
    await signX402(await world.signer())
    expect(reasonOf(await response)).toBe('invalid_exact_evm_payload_authorization_valid_before')
    expect(await stored(opened)).toMatchObject([{ status: 'refused', transactions: 0 }])
    const next = await open()
    const paid = await signPayment(await payerWith(AMOUNT), await requirementsOf(next.url))
    expect((await answered(send(next.url, paid.header))).status).toBe(200)
    const { rows } = await world.database.owner.query(
      `select n.nonce from account_nonce n join x402_authorization a on a.id = n.intent_id where a.invoice_id = $1`,
      [next.invoice.id],
    )
    expect(rows).toEqual([{ nonce: Number(nonce) }])
    expect(await received(opened)).toBe(0n)
  },
)

test("what the signer has signed to carry is carried, whatever the API's login calls it: payouts go on", async () => {
  const shop = await world.openShop('USDC_BASE', [AMOUNT])
  const opened = await open()
  const { header } = await signPayment(await payerWith(AMOUNT), await requirementsOf(opened.url))
  const response = send(opened.url, header)
  response.catch(() => {})
  await vi.waitFor(async () => {
    world.now = new Date()
    await world.tracker().pass()
    await signX402(await world.signer())
    expect(await stored(opened)).toMatchObject([{ transactions: 1 }])
  }, ANSWER_MS_MAX)
  for (const changes of ['done_at = now()', "status = 'refused', reason = 'x', done_at = now()"]) {
    const write = withTransaction(world.database.pools.api, tenant, (tx) =>
      tx.query(`update x402_authorization set ${changes} where invoice_id = $1`, [opened.invoice.id]),
    )
    await expect(write, changes).rejects.toThrow('the API may not')
  }
  const payout = await world.payout(shop, 'USDC_BASE', '20')
  await turnsUntil(async () => {
    await world.sign()
    return (await world.load(shop, payout.id)).status === 'confirmed'
  })
  expect((await world.load(shop, payout.id)).status).toBe('confirmed')
  expect((await response).status).toBe(200)
})

test.each([
  ['a key that no seed has', `key_index = ${2 ** 40}`, 'checked'],
  ['a time that no chain has', 'valid_after = 9e77', 'waiting'],
  [
    'what payers sign on Solana',
    `message = 'x', payer = sha256('x'), recipient = sha256('x'), signature = sha512('x')`,
    'waiting',
  ],
])("%s, which the API's login may write with a payment, holds up no other", async (_, changes, status) => {
  const [forged, other] = [await open(), await open()]
  const pay = async ({ url }: Opened) =>
    send(url, (await signPayment(await payerWith(AMOUNT), await requirementsOf(url))).header)
  const unpaid = pay(forged)
  unpaid.catch(() => {})
  await vi.waitFor(async () => expect(await stored(forged)).toHaveLength(1), ANSWER_MS_MAX)
  await world.database.owner.query(`update x402_authorization set ${changes} where invoice_id = $1`, [
    forged.invoice.id,
  ])
  expect((await answered(pay(other))).status).toBe(200)
  expect(await stored(forged)).toMatchObject([{ status, transactions: 0 }])
})

test('a payment that expires as its transaction is written is carried, so that nothing waits for its nonce', async () => {
  const { opened, response } = await sendExpiring()
  const waitsFor = (what: string) =>
    vi.waitFor(async () => {
      const { rowCount } = await world.database.owner.query(
        `select from pg_locks where not granted and ${what}
           and database = (select oid from pg_database where datname = current_database())`,
      )
      expect(rowCount).toBe(1)
    }, ANSWER_MS_MAX)
  const holder = await world.database.owner.connect()
  await holder.query('begin; lock table account_nonce in share mode')
  const signing = signX402(await world.signer())
  await waitsFor(`relation = 'account_nonce'::regclass`)
  world.now = new Date(Date.now() + 4 * MINUTE_MS)
  const passing = world.tracker().pass()
  await Promise.race([passing, waitsFor(`locktype = 'advisory'`)])
  await holder.query('commit')
  holder.release()
  await Promise.all([signing, passing])
  expect(await stored(opened)).toMatchObject([{ status: 'checked', transactions: 1 }])
  expect((await answered(response)).status).toBe(200)
})

test.each([
  ['recipient', Buffer.alloc(20, 7)],
  ['value', 1n],
  ['payer', Buffer.alloc(20, 9)],
])('whoever writes another %s into the database gets no signature', async (column, value) => {
  const opened = await open()
  const { header } = await signPayment(await payerWith(AMOUNT), await requirementsOf(opened.url))
  const response = send(opened.url, header)
  while ((await stored(opened)).length === 0) await pause(20)
  await world.database.owner.query(
    `update x402_authorization set ${column} = $2, status = 'checked' where invoice_id = $1`,
    [opened.invoice.id, value],
  )
  for (let count = 0; count < 3; count++) await turn()
  expect(await stored(opened)).toMatchObject([{ transactions: 0 }])
  await world.database.owner.query(
    `update x402_authorization set status = 'refused', reason = 'test', done_at = now() where invoice_id = $1`,
    [opened.invoice.id],
  )
  expect((await response).status).toBe(402)
})

test('an invoice in another coin, one that has expired, and one that does not exist are not offered', async () => {
  const ether = await open({ asset: 'ETH_BASE', amount: 10n ** 16n })
  const late = await open({ expiresAtMs: Date.now() - 1_000 })
  for (const { url } of [ether, late]) {
    const response = await fetch(url)
    expect([response.status, response.headers.get('payment-required')]).toEqual([409, null])
  }
  expect((await fetch(`${origin}/i/nothing/x402`)).status).toBe(404)
  // What is signed for other terms is told so too, and not what an invoice asks for that nobody can pay so.
  const asked = await requirementsOf((await open()).url)
  const past = BigInt(Math.floor(Date.now() / 1_000) - 60)
  for (const of of [ether, late]) {
    const { address: to, amount: value } = of.invoice
    const accepted = { payTo: to, amount: String(value) }
    for (const changes of [{ to }, { to, value, accepted, validBefore: past }]) {
      const { header } = await signPayment(newPayer(), asked, changes)
      const response = await send(of.url, header)
      expect([response.status, response.headers.get('payment-required')]).toEqual([409, null])
    }
    expect(await stored(of)).toEqual([])
  }
})

test('a hot wallet without ether, or one that nobody has read for long, offers nothing', async () => {
  const opened = await open()
  const { url } = opened
  const { header } = await signPayment(newPayer(), await requirementsOf(url))
  await world.database.owner.query('update hot_wallet set balance = 0')
  expect((await fetch(url)).status).toBe(503)
  expect((await send(url, header)).status).toBe(503)
  expect(await stored(opened)).toEqual([])
  await world.tracker().pass()
  await world.database.owner.query(
    `update hot_wallet set balance = 1e18, updated_at = now() - interval '6 minutes'`,
  )
  expect((await fetch(url)).status).toBe(503)
  await world.tracker().pass()
  expect((await fetch(url)).status).toBe(402)
})
