import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { CheckoutSession } from '../../src/core/checkout/checkout-session.ts'
import type { PaymentLink } from '../../src/core/checkout/payment-link.ts'
import { deriveStatus } from '../../src/core/invoice/status.ts'
import { insertSession } from '../../src/db/checkout/checkout-sessions.ts'
import { insertPaymentLink, updatePaymentLink } from '../../src/db/checkout/payment-links.ts'
import { loadInvoice } from '../../src/db/invoices/invoices.ts'
import { continueCheckout } from '../../src/flows/continue-checkout.ts'
import { expireInvoices } from '../../src/flows/expire-invoices.ts'
import { cancelInvoice } from '../../src/flows/invoices.ts'
import { readPaymentPage } from '../../src/flows/read-payment-page.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { reopenInvoice } from '../../src/flows/reopen-invoice.ts'
import { switchAsset } from '../../src/flows/switch-asset.ts'
import { createMarketReader } from '../../src/http/api/market.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { sessionToken } from '../../src/secrets/checkout-token.ts'
import { randomBase62 } from '../../src/secrets/random-base62.ts'
import { addAddresses, createTestApi, type TestApi } from '../support/api.ts'
import { inMempool } from '../support/invoice.ts'

const MINUTE_MS = 60_000

let api: TestApi
let deps: Parameters<typeof continueCheckout>[0] &
  Parameters<typeof switchAsset>[0] &
  Parameters<typeof reopenInvoice>[0]
let tenant: Tenant
beforeAll(async () => {
  api = await createTestApi()
  const { pool, clock, keyring, baseUrl, notifier, issuedAddresses, openInvoices, serviceFeeBps } = api.deps
  const marketOf = createMarketReader(api.deps)
  deps = { pool, clock, keyring, baseUrl, notifier, issuedAddresses, openInvoices, serviceFeeBps, marketOf }
})
beforeEach(async () => {
  tenant = { merchantId: (await api.addMerchant()).id, livemode: false }
  // What is cached of the pools and rules is forgotten.
  api.time.advance(1_000)
})
afterAll(() => api.drop())

let slugs = 0
async function makeLink(changes: Partial<PaymentLink> = {}, owner = tenant): Promise<PaymentLink> {
  slugs += 1
  const link: PaymentLink = {
    ...owner,
    id: newId('paymentLink', api.time.now),
    slug: `pl_${String(slugs).padStart(10, '0')}`,
    name: 'Coffee',
    usdCents: 2_500n,
    price: null,
    buyerAmount: null,
    till: null,
    asset: 'LTC',
    allowDynamicAmount: true,
    durationMinutes: 30,
    active: true,
    createdAtMs: api.time.now.getTime(),
    ...changes,
  }
  await withTransaction(deps.pool, owner, (tx) => insertPaymentLink(tx, owner, link))
  return link
}

async function makeSession(link: PaymentLink, changes: Partial<CheckoutSession> = {}, owner = tenant) {
  const now = api.time.now
  const session: CheckoutSession = {
    ...owner,
    id: newId('checkoutSession', now),
    paymentLinkId: link.id,
    orderReference: `order-${newId('event', now)}`,
    usdCents: 4_999n,
    price: null,
    requestedMinutes: null,
    returnUrl: null,
    createdAtMs: now.getTime(),
    expiresAtMs: now.getTime() + 30 * MINUTE_MS,
    cancelledAtMs: null,
    invoiceId: null,
    ...changes,
  }
  await withTransaction(deps.pool, owner, (tx) => insertSession(tx, owner, session))
  return { session, token: sessionToken(deps.keyring, { ...owner, sessionId: session.id }, session) }
}

const invoiceOf = async (invoiceId: string, owner = tenant) => {
  const stored = await withTransaction(deps.pool, owner, (tx) => loadInvoice(tx, owner, invoiceId))
  if (stored === null) throw new Error(`there is no invoice ${invoiceId}`)
  return stored.invoice
}
/** Continue on a page of its own, unless the test says which page. */
const press = (request: Parameters<typeof continueCheckout>[1]) =>
  continueCheckout(deps, { visit: randomBase62(22), ...request })
const continued = async (request: Parameters<typeof continueCheckout>[1]) => {
  const outcome = await press(request)
  if (outcome.kind !== 'invoice') throw new Error(JSON.stringify(outcome, (_, v) => String(v)))
  return invoiceOf(outcome.invoiceId, outcome.tenant)
}
async function countRows(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of ['invoice', 'event', 'deposit_address', 'checkout_session', 'payment_link']) {
    const { rows } = await api.database.owner.query<{ count: number }>(
      `select count(*)::int as count from ${table}`,
    )
    counts[table] = rows[0]?.count ?? -1
  }
  const { rows } = await api.database.owner.query<{ count: number }>(
    'select count(*)::int as count from address where assigned_at is not null',
  )
  return { ...counts, taken: rows[0]?.count ?? -1 }
}
const expire = (readAtMs: number) =>
  expireInvoices(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    { network: 'litecoin-test', readAtMs, tipHeight: 100, tipHash: 'a'.repeat(64), providers: ['node'] },
  )
const payment = (invoiceId: string, amount: bigint, changes = {}) =>
  recordTransfers(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    {
      tenant,
      invoiceId,
      facts: [
        inMempool(newId('event', api.time.now), amount, { firstSeenMs: api.time.now.getTime(), ...changes }),
      ],
      tipHeight: 100,
    },
  )

test('a session opens with its own total and deadline, and shows each coin by itself', async () => {
  const link = await makeLink()
  const { session, token } = await makeSession(link)
  api.unpriced.add('BTC')
  const page = await readPaymentPage(deps, { slug: link.slug, checkoutToken: token })
  api.unpriced.delete('BTC')
  if (page.kind !== 'open') throw new Error(page.kind)
  expect(page).toMatchObject({
    merchantName: 'Shop',
    linkName: 'Coffee',
    order: session.orderReference,
    usdCents: 4_999n,
    expiresAtMs: session.expiresAtMs,
    durationMinutes: 30,
    defaultAsset: 'LTC',
  })
  const offers = new Map(page.coins.map((coin) => [coin.asset, coin]))
  // 49.99 ÷ 84.37, rounded up to the eighth decimal.
  expect(offers.get('LTC')).toEqual({
    asset: 'LTC',
    alsoAccepts: [],
    available: true,
    reason: null,
    amount: 59_250_919n,
  })
  expect(offers.get('BTC')).toEqual({
    asset: 'BTC',
    alsoAccepts: [],
    available: false,
    reason: 'rate_unavailable',
    amount: null,
  })
  expect(offers.get('SOL')).toMatchObject({ available: false, reason: 'asset_unavailable' })
})

test('opening, prefetching and previewing make nothing', async () => {
  const link = await makeLink()
  const { token } = await makeSession(link)
  const before = await countRows()
  for (let time = 0; time < 5; time++) {
    await readPaymentPage(deps, { slug: link.slug })
    await readPaymentPage(deps, { slug: link.slug, usd: '12.50' })
    await readPaymentPage(deps, { slug: link.slug, checkoutToken: token })
  }
  expect(await countRows()).toEqual(before)
})

test('fifty buyers pressing Continue at once on one session make one invoice, with the session on it', async () => {
  const link = await makeLink()
  const { session, token } = await makeSession(link)
  const request = { slug: link.slug, checkoutToken: token }
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      continueCheckout(deps, { ...request, asset: index % 2 === 0 ? 'LTC' : 'BTC' }),
    ),
  )
  const ids = new Set(outcomes.map((one) => (one.kind === 'invoice' ? one.invoiceId : one.kind)))
  expect(ids.size).toBe(1)
  const [id = ''] = ids
  const invoice = await invoiceOf(id)
  expect(invoice).toMatchObject({
    usdCents: 4_999n,
    amountSource: 'merchant',
    orderReference: session.orderReference,
    checkoutSessionId: session.id,
    paymentLinkId: link.id,
    expiresAtMs: session.expiresAtMs,
    allowAssetSelection: true,
  })
  const { rows } = await api.database.owner.query<{ body: Buffer }>(
    'select body from event where merchant_id = $1',
    [tenant.merchantId],
  )
  expect(rows).toHaveLength(1)
  expect(JSON.parse(String(rows[0]?.body)).data).toMatchObject({
    order_reference: session.orderReference,
    expected_usd_amount: '49.99',
    checkout_session_id: session.id,
    payment_link_id: link.id,
  })
  expect(await readPaymentPage(deps, request)).toEqual({ kind: 'invoice', tenant, invoiceId: id })
})

test('a token changed anywhere, or of another link, merchant, mode or terms, opens nothing', async () => {
  const link = await makeLink()
  const { session, token } = await makeSession(link)
  const otherLink = await makeLink()
  const live = await makeLink({}, { ...tenant, livemode: true })
  const refused = async (slug: string, checkoutToken: string, usd?: string) => {
    expect(await readPaymentPage(deps, { slug, checkoutToken, usd })).toEqual({ kind: 'neutral' })
    expect(await press({ slug, checkoutToken, usd, asset: 'LTC' })).toEqual({
      kind: 'neutral',
    })
  }
  const before = await countRows()
  for (let index = 0; index < token.length; index++) {
    const other = token[index] === 'A' ? 'B' : 'A'
    await refused(link.slug, `${token.slice(0, index)}${other}${token.slice(index + 1)}`)
  }
  for (const slug of [otherLink.slug, live.slug, 'pl_zzzzzzzzzz', 'pl_', '']) await refused(slug, token)
  await refused(link.slug, token, '0.50')
  await refused(link.slug, '')
  const reference = { ...tenant, sessionId: session.id }
  const stranger = (await api.addMerchant()).id
  for (const forged of [
    sessionToken(deps.keyring, { ...reference, livemode: true }, session),
    sessionToken(deps.keyring, { ...reference, merchantId: stranger }, session),
    sessionToken(deps.keyring, reference, { ...session, paymentLinkId: otherLink.id }),
    sessionToken(deps.keyring, reference, { ...session, orderReference: 'another' }),
    sessionToken(deps.keyring, reference, { ...session, usdCents: session.usdCents - 1n }),
    sessionToken(deps.keyring, reference, { ...session, expiresAtMs: session.expiresAtMs + 1 }),
  ]) {
    await refused(link.slug, forged)
  }
  expect(await countRows()).toEqual(before)
  expect((await readPaymentPage(deps, { slug: link.slug, checkoutToken: token })).kind).toBe('open')
})

test('a session that was changed in the database opens no more with the token it had', async () => {
  const link = await makeLink()
  for (const change of [
    "order_reference = order_reference || 'x'",
    'usd_cents = 50',
    "expires_at = expires_at + interval '1 hour'",
  ]) {
    const { session, token } = await makeSession(link)
    await api.database.owner.query(`update checkout_session set ${change} where id = $1`, [session.id])
    expect(await readPaymentPage(deps, { slug: link.slug, checkoutToken: token })).toEqual({
      kind: 'neutral',
    })
  }
})

test('an expired session without payments is the neutral page; one with a payment stays with its invoice', async () => {
  const link = await makeLink()
  const [left, continuedOnly, paid] = [
    await makeSession(link),
    await makeSession(link),
    await makeSession(link),
  ]
  await continued({ slug: link.slug, checkoutToken: continuedOnly.token, asset: 'LTC' })
  const invoice = await continued({ slug: link.slug, checkoutToken: paid.token, asset: 'LTC' })
  await payment(invoice.id, 1_000_000n)
  api.time.advance(30 * MINUTE_MS)
  await expire(api.time.now.getTime() + 1)
  const page = (token: string) => readPaymentPage(deps, { slug: link.slug, checkoutToken: token })
  expect(await page(left.token)).toEqual({ kind: 'neutral' })
  expect(await page(continuedOnly.token)).toEqual({ kind: 'neutral' })
  expect(await page(paid.token)).toMatchObject({ kind: 'invoice', invoiceId: invoice.id })
  expect(await continueCheckout(deps, { slug: link.slug, checkoutToken: left.token, asset: 'LTC' })).toEqual({
    kind: 'neutral',
  })
})

test('a plain link makes one invoice for each page that is pressed, with a window of its own', async () => {
  const link = await makeLink()
  const first = await continued({ slug: link.slug, asset: 'LTC' })
  const second = await continued({ slug: link.slug, asset: 'LTC', usd: '7.5' })
  expect(first.id).not.toBe(second.id)
  expect(first).toMatchObject({ usdCents: 2_500n, amountSource: 'merchant', checkoutSessionId: null })
  expect(second).toMatchObject({ usdCents: 750n, amountSource: 'buyer', paymentLinkId: link.id })
  expect(first.expiresAtMs - first.createdAtMs).toBe(30 * MINUTE_MS)
})

test('one rendering of a plain link’s page makes one invoice, however often and quickly it is pressed', async () => {
  const link = await makeLink()
  const other = await makeLink()
  const visit = randomBase62(22)
  const before = await countRows()
  const presses = Array.from({ length: 40 }, (_, index) =>
    press({ slug: link.slug, visit, asset: index % 2 === 0 ? 'LTC' : 'BTC' }),
  )
  const ids = new Set(
    (await Promise.all(presses)).map((one) => (one.kind === 'invoice' ? one.invoiceId : one)),
  )
  expect(ids.size).toBe(1)
  const [id] = ids
  const after = await countRows()
  expect([after.invoice, after.event, after.taken]).toEqual(
    [before.invoice, before.event, before.taken].map((count) => (count ?? 0) + 1),
  )
  // Another page, and the same words on another link, are other visits.
  expect((await continued({ slug: link.slug, asset: 'LTC' })).id).not.toBe(id)
  expect((await continued({ slug: other.slug, visit, asset: 'LTC' })).id).not.toBe(id)
  api.time.advance(2 * 60 * MINUTE_MS)
  const late = await continued({ slug: link.slug, visit, asset: 'LTC' })
  expect([late.id, late.expiresAtMs < api.time.now.getTime()]).toEqual([id, true])
})

test('a press that names no page of ours makes nothing, and one that could make nothing spends nothing', async () => {
  const link = await makeLink()
  const before = await countRows()
  for (const visit of [undefined, '', 'x', ' '.repeat(22), 'a'.repeat(23), `${'a'.repeat(21)}\0`])
    expect(await continueCheckout(deps, { slug: link.slug, visit, asset: 'LTC' })).toEqual({
      kind: 'no_visit',
    })
  const visit = randomBase62(22)
  api.unpriced.add('BTC')
  expect(await press({ slug: link.slug, visit, asset: 'BTC' })).toMatchObject({ kind: 'asset_unavailable' })
  api.unpriced.clear()
  expect(await countRows()).toEqual(before)
  expect((await continued({ slug: link.slug, visit, asset: 'LTC' })).asset).toBe('LTC')
})

test('an amount in the URL counts only where the link takes one, in the grammar and limits of dollars', async () => {
  const open = await makeLink({ usdCents: null })
  const fixed = await makeLink({ allowDynamicAmount: false })
  const reasonOf = async (slug: string, usd?: string) => {
    const page = await readPaymentPage(deps, { slug, usd })
    const pressed = await press({ slug, usd, asset: 'LTC' })
    if (page.kind !== 'bad_amount' && page.kind !== 'ask_amount') return page.kind
    // Where the link takes an amount, the buyer is asked for one.
    expect(page.kind).toBe(slug === open.slug ? 'ask_amount' : 'bad_amount')
    expect(pressed).toMatchObject({ kind: 'bad_amount', reason: page.reason })
    return page.reason
  }
  expect(await reasonOf(open.slug)).toBe('missing')
  expect(await reasonOf(fixed.slug, '25')).toBe('not_allowed')
  expect(await reasonOf(open.slug, '0.49')).toBe('too_small')
  expect(await reasonOf(open.slug, '100000.01')).toBe('too_large')
  for (const text of ['', ' 1', '1e3', '-1', '01', '1.234', '١', '1,5', '0x10', '1'.repeat(500)])
    expect(await reasonOf(open.slug, text)).toBe('invalid')
  expect(await reasonOf(open.slug, '100000')).toBe('open')
})

test('an inactive link is the neutral page; sessions made on it before are still paid', async () => {
  const link = await makeLink()
  const { token } = await makeSession(link)
  await withTransaction(deps.pool, tenant, (tx) => updatePaymentLink(tx, tenant, { ...link, active: false }))
  expect(await readPaymentPage(deps, { slug: link.slug })).toEqual({ kind: 'neutral' })
  expect(await press({ slug: link.slug, asset: 'LTC' })).toEqual({ kind: 'neutral' })
  expect((await continued({ slug: link.slug, checkoutToken: token, asset: 'LTC' })).usdCents).toBe(4_999n)
})

test('a coin without price, node or addresses, or not accepted, makes nothing', async () => {
  const link = await makeLink()
  await api.database.owner.query(
    `insert into payment_rules (merchant_id, livemode, rules, updated_at) values ($1, false, $2, now())`,
    [tenant.merchantId, { accepted_assets: ['LTC', 'SOL'] }],
  )
  const { session, token } = await makeSession(link)
  const reasonOf = async (asset: 'LTC' | 'BTC' | 'SOL') => {
    const outcome = await continueCheckout(deps, { slug: link.slug, checkoutToken: token, asset })
    return outcome.kind === 'asset_unavailable' ? outcome.reason : outcome.kind
  }
  const before = await countRows()
  expect(await reasonOf('BTC')).toBe('asset_not_accepted')
  expect(await reasonOf('SOL')).toBe('asset_unavailable')
  api.unpriced.add('LTC')
  expect(await reasonOf('LTC')).toBe('rate_unavailable')
  api.unpriced.delete('LTC')
  expect(await countRows()).toEqual(before)
  expect(await reasonOf('LTC')).toBe('invoice')
  expect(session.invoiceId).toBeNull()
})

test('where any network will do a token has one card, and its network changes no amount', async () => {
  for (const network of ['base-test', 'ethereum-test']) {
    await api.database.owner.query(
      `insert into network_state (network, parameters, height, hash, tip_height, status, updated_at)
       values ($1, 'sepolia', 100, 'hash', 100, 'ok', now())`,
      [network],
    )
    await api.database.owner.query(
      `insert into network_watch (network, keyspace, through, updated_at) values ($1, 'evm-test', 1000000000, now())`,
      [network],
    )
  }
  await addAddresses(api.database, 'evm-test', 'evm', 5)
  await api.database.owner.query(
    `insert into payment_rules (merchant_id, livemode, rules, updated_at) values ($1, false, $2, now())`,
    [
      tenant.merchantId,
      { accepted_assets: ['LTC', 'USDC_ETHEREUM', 'USDC_BASE'], default_asset: 'LTC', any_network: true },
    ],
  )
  api.time.advance(1_000)
  const link = await makeLink({ asset: null })
  const page = await readPaymentPage(deps, { slug: link.slug })
  expect(page).toMatchObject({
    coins: [
      { asset: 'LTC', alsoAccepts: [] },
      { asset: 'USDC_BASE', alsoAccepts: ['USDC_ETHEREUM'] },
    ],
  })
  const first = await continued({ slug: link.slug, asset: 'USDC_BASE' })
  expect(first).toMatchObject({ asset: 'USDC_BASE', alsoAccepts: ['USDC_ETHEREUM'], amount: 25_000_000n })
  // A part of it came. The price of the moment is another one, and no matter.
  await payment(first.id, 10_000_000n, { network: 'base-test', asset: 'USDC_BASE' })
  api.time.advance(60_000)
  const input = { tenant, invoiceId: first.id }
  expect(await switchAsset(deps, { ...input, asset: 'USDC_ETHEREUM' })).toEqual({ kind: 'switched' })
  expect(await switchAsset(deps, { ...input, asset: 'LTC' })).toEqual({ kind: 'paid_already' })
  const { asset, alsoAccepts, ...rest } = await invoiceOf(first.id)
  expect([asset, alsoAccepts]).toEqual(['USDC_ETHEREUM', ['USDC_BASE']])
  expect(rest).toMatchObject({ amount: first.amount, rate: first.rate, address: first.address })
  expect(rest.confirmations).toEqual(first.confirmations)
  expect(deriveStatus({ asset, alsoAccepts, ...rest })).toBe('payment_detected')
  expect(await switchAsset(deps, { ...input, asset: 'USDC_ETHEREUM' })).toEqual({ kind: 'unchanged' })
  // The shop was told in which coin it was paid: that stays, also where the chain takes the payment back.
  await api.database.owner.query(
    `update invoice set announced = announced || '{"paid": true}', paid_at = now() where id = $1`,
    [first.id],
  )
  expect(await switchAsset(deps, { ...input, asset: 'USDC_BASE' })).toEqual({ kind: 'closed' })
})

test('the buyer switches at the current price within the same window, and back to the same address', async () => {
  const link = await makeLink()
  const first = await continued({ slug: link.slug, asset: 'LTC' })
  api.time.advance(60_000)
  const input = { tenant, invoiceId: first.id }
  expect(await switchAsset(deps, { ...input, asset: 'LTC' })).toEqual({ kind: 'unchanged' })
  expect(await switchAsset(deps, { ...input, asset: 'BTC' })).toEqual({ kind: 'switched' })
  const second = await invoiceOf(first.id)
  expect(second).toMatchObject({
    asset: 'BTC',
    expiresAtMs: first.expiresAtMs,
    createdAtMs: first.createdAtMs,
  })
  // 25 ÷ 97123.45, rounded up.
  expect(second.amount).toBe(25_741n)
  expect(second.rate?.quotedAt).toBe(api.time.now.toISOString())
  expect(second.confirmations).toHaveProperty('LTC')
  expect(await switchAsset(deps, { ...input, asset: 'LTC' })).toEqual({ kind: 'switched' })
  expect((await invoiceOf(first.id)).address).toBe(first.address)
  const { rows } = await api.database.owner.query('select from deposit_address where invoice_id = $1', [
    first.id,
  ])
  expect(rows).toHaveLength(2)
})

test('no coin is switched while a payment that a program signed is on its way', async () => {
  const link = await makeLink()
  const { id: invoiceId } = await continued({ slug: link.slug, asset: 'LTC' })
  const bytes = (count: number) => Buffer.alloc(count, 1)
  await api.database.owner.query(
    `insert into x402_authorization (merchant_id, id, livemode, invoice_id, network, payer, recipient, key_index, value,
       valid_after, valid_before, nonce, signature, status, created_at)
     values ($1, $2, false, $3, 'base-test', $4, $4, 0, 1, 0, 1, $5, $6, 'waiting', now())`,
    [tenant.merchantId, newId('x402Authorization', api.time.now), invoiceId, bytes(20), bytes(32), bytes(65)],
  )
  const switched = () => switchAsset(deps, { tenant, invoiceId, asset: 'BTC' })
  expect(await switched()).toEqual({ kind: 'paid_already' })
  await api.database.owner.query(
    `update x402_authorization set status = 'refused', reason = 'insufficient_funds' where invoice_id = $1`,
    [invoiceId],
  )
  expect(await switched()).toEqual({ kind: 'switched' })
})

test('no coin is switched after a payment, after the deadline, or where the buyer may not choose', async () => {
  const link = await makeLink()
  const made = () => continued({ slug: link.slug, asset: 'LTC' })
  const [paid, dusty, late, gone] = [await made(), await made(), await made(), await made()]
  const kindOf = async (invoiceId: string) =>
    (await switchAsset(deps, { tenant, invoiceId, asset: 'BTC' })).kind
  await payment(paid.id, 294n)
  expect(await kindOf(paid.id)).toBe('paid_already')
  await payment(dusty.id, 293n)
  expect(await kindOf(dusty.id)).toBe('switched')
  await payment(gone.id, 1_000n)
  const txid = (await invoiceOf(gone.id)).payments[0]?.txid ?? ''
  await recordTransfers(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    {
      tenant,
      invoiceId: gone.id,
      facts: [{ ...inMempool(txid, 1_000n), state: 'replaced' }],
      tipHeight: 100,
    },
  )
  expect(await kindOf(gone.id)).toBe('paid_already')
  await api.database.owner.query('update invoice set allow_asset_selection = false where id = $1', [late.id])
  expect(await kindOf(late.id)).toBe('not_allowed')
  await api.database.owner.query('update invoice set allow_asset_selection = true where id = $1', [late.id])
  api.time.advance(30 * MINUTE_MS)
  expect(await kindOf(late.id)).toBe('closed')
  const stranger = { merchantId: (await api.addMerchant()).id, livemode: false }
  expect(await switchAsset(deps, { tenant: stranger, invoiceId: late.id, asset: 'BTC' })).toEqual({
    kind: 'not_found',
  })
})

test('when a switch meets a payment, the payment counts, or waits for the merchant as the wrong coin', async () => {
  const link = await makeLink()
  for (let round = 0; round < 10; round++) {
    const { id, amount } = await continued({ slug: link.slug, asset: 'LTC' })
    const [switched] = await Promise.all([
      switchAsset(deps, { tenant, invoiceId: id, asset: 'BTC' }),
      payment(id, amount),
    ])
    const after = await invoiceOf(id)
    expect(after.payments).toHaveLength(1)
    expect(after.payments[0]?.reviewReason).toBe(switched.kind === 'switched' ? 'wrong_asset' : null)
    expect(after.asset).toBe(switched.kind === 'switched' ? 'BTC' : 'LTC')
  }
})

test('an expired unpaid invoice of a plain link reopens once, however many click', async () => {
  const link = await makeLink()
  const old = await continued({ slug: link.slug, asset: 'LTC', usd: '12' })
  const input = { tenant, invoiceId: old.id }
  expect(await reopenInvoice(deps, input)).toEqual({ kind: 'not_reopenable' })
  api.time.advance(31 * MINUTE_MS)
  await expire(api.time.now.getTime())
  const clicks = await Promise.all(Array.from({ length: 20 }, () => reopenInvoice(deps, input)))
  const ids = new Set(clicks.map((click) => (click.kind === 'invoice' ? click.invoiceId : click.kind)))
  expect(ids.size).toBe(1)
  const [id = ''] = ids
  expect(await invoiceOf(id)).toMatchObject({
    reopenedFrom: old.id,
    usdCents: 1_200n,
    amountSource: 'buyer',
    paymentLinkId: link.id,
    expiresAtMs: api.time.now.getTime() + 30 * MINUTE_MS,
  })
  // Who cancels an order cancels what its buyer can still pay.
  const cancel = (invoiceId: string) =>
    cancelInvoice(deps, { tenant, invoiceId, networkFacts: { tipHeightOf: () => null }, requestId: 'req_1' })
  expect(await cancel(old.id)).toEqual({ kind: 'reopened', as: id })
  expect((await invoiceOf(old.id)).cancelledAtMs).toBeNull()
  expect(await cancel(id)).toMatchObject({ kind: 'cancelled' })
})

test('an invoice reopened for a link costs what the link charges now, unless the buyer chose the amount', async () => {
  const link = await makeLink({ usdCents: 1_000n })
  const [own, chosen, gone] = [
    await continued({ slug: link.slug, asset: 'LTC' }),
    await continued({ slug: link.slug, asset: 'LTC', usd: '12' }),
    await continued({ slug: link.slug, asset: 'LTC' }),
  ]
  api.time.advance(31 * MINUTE_MS)
  await expire(api.time.now.getTime())
  const reopened = async ({ id }: { id: string }) => {
    const outcome = await reopenInvoice(deps, { tenant, invoiceId: id })
    return outcome.kind === 'invoice' ? (await invoiceOf(outcome.invoiceId)).usdCents : outcome.kind
  }
  await api.database.owner.query('update payment_link set usd_cents = 2000 where id = $1', [link.id])
  expect(await reopened(own)).toBe(2_000n)
  expect(await reopened(chosen)).toBe(1_200n)
  await api.database.owner.query('update payment_link set usd_cents = null where id = $1', [link.id])
  expect(await reopened(gone)).toBe('not_reopenable')
})

test('a session, a paid invoice, and an invoice whose rules forbid it are never reopened', async () => {
  const link = await makeLink()
  const { token } = await makeSession(link)
  const ofSession = await continued({ slug: link.slug, checkoutToken: token, asset: 'LTC' })
  const paid = await continued({ slug: link.slug, asset: 'LTC' })
  await payment(paid.id, 1_000n)
  const ofApi = await continued({ slug: link.slug, asset: 'LTC' })
  await api.database.owner.query('update invoice set payment_link_id = null where id = $1', [ofApi.id])
  api.time.advance(31 * MINUTE_MS)
  await expire(api.time.now.getTime())
  const kindOf = async (invoiceId: string) => (await reopenInvoice(deps, { tenant, invoiceId })).kind
  expect(await kindOf(ofSession.id)).toBe('not_reopenable')
  expect(await kindOf(paid.id)).toBe('not_reopenable')
  expect(await kindOf(ofApi.id)).toBe('not_reopenable')
  await api.database.owner.query(
    `insert into payment_rules (merchant_id, livemode, rules, updated_at) values ($1, false, $2, now())`,
    [tenant.merchantId, { reopen_expired: true }],
  )
  api.time.advance(1_000)
  for (const key of ['btcpay_checkout', 'coinbase_commerce_charge']) {
    // Its shop knows this invoice's id alone.
    await api.database.owner.query('update invoice set metadata = $2 where id = $1', [
      ofApi.id,
      { [key]: {} },
    ])
    expect(await kindOf(ofApi.id)).toBe('not_reopenable')
  }
  await api.database.owner.query(`update invoice set metadata = '{"cart":7}' where id = $1`, [ofApi.id])
  expect(await kindOf(ofApi.id)).toBe('invoice')
})
