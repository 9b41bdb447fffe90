import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { BUYER_LANGUAGES } from '../../src/core/checkout/buyer-emails.ts'
import { parseCoinAmount } from '../../src/core/money.ts'
import { inspectDatabase } from '../../src/doctor/inspect-database.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { type Email, type Mail, openMail } from '../../src/mail/mail.ts'
import { writeInvoiceEmails } from '../../src/mail/write-buyer-emails.ts'
import { writeReceipts } from '../../src/mail/write-receipts.ts'
import { recipientOf, unsubscribeToken } from '../../src/secrets/unsubscribe-token.ts'
import { buyerEmail } from '../../src/web/checkout/buyer-email.ts'
import { LANGUAGES } from '../../src/web/checkout/language.ts'
import { receiptEmail } from '../../src/web/checkout/receipt-email.ts'
import type { TestMerchant } from '../support/api.ts'
import { startBuyersSite } from '../support/buyers-site.ts'
import { inBlock, inMempool } from '../support/invoice.ts'
import { startMailServer } from '../support/mail-server.ts'
import { createTestPeople, type TestPeople } from '../support/people.ts'
import { until } from '../support/until.ts'

/** Emails to the buyers whom invoices name: the real API, database, pages and a mail server. */

let people: TestPeople
let site: Awaited<ReturnType<typeof startBuyersSite>>
let sent: Email[]
type Hooks = Parameters<Mail['send']>[2]
let hooks: Hooks[]
beforeAll(async () => {
  people = await createTestPeople()
  people.api.time.now = new Date()
  site = await startBuyersSite(people.api, { sendsReceipts: true })
})
beforeEach(async () => {
  sent = []
  hooks = []
  const { owner } = people.api.database
  await owner.query('delete from buyer_email; delete from receipt_request')
})
afterAll(async () => {
  await site?.stop()
  await people?.drop()
})

const noted: Mail = {
  send: async (message, _sender, own) => {
    sent.push(message)
    hooks.push(own)
  },
}
async function round(mail: Mail = noted, sendsMail = true): Promise<number> {
  const { database, deps } = people.api
  const own = { pool: database.pools.delivery, mail, log: deps.log, keyring: deps.keyring, sendsMail }
  const all = { ...own, write: receiptEmail, writeInvoice: buyerEmail }
  return (await writeInvoiceEmails(all)) + (await writeReceipts(all))
}

const ALL = { buyer_link_emails: true, buyer_reminder_emails: true, buyer_receipt_emails: true }

/** A shop that has its buyers emailed. */
async function shopWith(rules: object = ALL): Promise<TestMerchant> {
  const shop = await people.api.addMerchant()
  await setRules(shop, { window_minutes: 180, ...rules })
  return shop
}

async function setRules(shop: { id: string }, rules: object): Promise<void> {
  for (const livemode of [true, false])
    await people.api.database.owner.query(
      `insert into payment_rules (merchant_id, livemode, rules, updated_at) values ($1, $2, $3, now())
       on conflict (merchant_id, livemode) do update set rules = $3`,
      [shop.id, livemode, rules],
    )
  people.api.time.advance(1_000)
  people.api.time.now = new Date()
}

async function makeInvoice(shop: TestMerchant, body: object, key = shop.liveKey, headers = {}) {
  const asked = { usd_amount: '49.99', asset: 'LTC', ...body }
  const made = await people.api.call('POST', '/invoices', { key, body: asked, headers })
  if (made.status !== 201) throw new Error(made.text)
  return made.body
}

/** A transfer of the whole amount, seen or final. */
async function pay(shop: TestMerchant, invoice: { id: string; amount: string }, isFinal = true) {
  const { database, deps, time } = people.api
  const units = parseCoinAmount(invoice.amount, 8) ?? 0n
  const [txid, seen] = [randomBytes(32).toString('hex'), { firstSeenMs: time.now.getTime() }]
  const tenant = { merchantId: shop.id, livemode: true }
  const facts = [isFinal ? inBlock(txid, units, 100, seen) : inMempool(txid, units, seen)]
  const own = { pool: database.pools.watcher, clock: deps.clock }
  await recordTransfers(own, { tenant, invoiceId: invoice.id, facts, tipHeight: 200 })
}

const remindNow = (invoiceId: string) =>
  people.api.database.owner.query(
    `update buyer_email set due_at = now() where invoice_id = $1 and kind = 'reminder'`,
    [invoiceId],
  )

const storedOf = async (invoiceId: string) =>
  (
    await people.api.database.owner.query<{ kind: string; outcome: string | null; reason: string | null }>(
      `select kind, outcome, reason from buyer_email where invoice_id = $1
       union all select 'receipt', outcome, reason from receipt_request where invoice_id = $1 order by 1`,
      [invoiceId],
    )
  ).rows.map(({ kind, outcome, reason }) => `${kind} ${reason ?? outcome ?? 'waits'}`)

test('link, reminder and receipt come once each by a mail server, though two processes write them', async () => {
  const server = await startMailServer()
  const { log } = people.api.deps
  const open = () => openMail({ smtpUrl: server.url, from: 'Paylink <no-reply@pay.example>', log })
  const [one, two] = [open(), open()]
  // The server refuses its first connection for now.
  await once(connect(Number(new URL(server.url).port), '127.0.0.1').resume(), 'close')
  const shop = await shopWith({ ...ALL, buyer_email_language: 'de' })
  const body = { customer_email: 'lena@example.com', external_reference: 'A-1042' }
  const headers = { 'idempotency-key': 'once' }
  const invoice = await makeInvoice(shop, body, shop.liveKey, headers)
  expect((await makeInvoice(shop, body, shop.liveKey, headers)).id).toBe(invoice.id)
  const both = async () => (await Promise.all([round(one), round(two)])).reduce((sum, each) => sum + each)
  const arrived = (count: number) =>
    until(() => server.lines.filter((line) => line.startsWith('Subject:')).length === count, {
      what: `${count} emails arrive`,
    })
  expect([await both(), await both()]).toEqual([1, 0])
  await arrived(1)
  await remindNow(invoice.id)
  // A link that was late is not followed by its reminder at once.
  expect(await both()).toBe(0)
  await people.api.database.owner.query(
    `update buyer_email set ended_at = ended_at - interval '31 minutes' where invoice_id = $1 and kind = 'link'`,
    [invoice.id],
  )
  expect([await both(), await both()]).toEqual([1, 0])
  await arrived(2)
  await pay(shop, invoice)
  expect([await both(), await both()]).toEqual([1, 0])
  await arrived(3)
  expect(server.addressees).toEqual(Array(3).fill('lena@example.com'))
  await Promise.all([one.close(), two.close()])
  server.close()
  const header = (name: string) => server.lines.filter((line) => line.startsWith(`${name}:`))
  expect(header('List-Unsubscribe-Post')).toEqual(
    Array(3).fill('List-Unsubscribe-Post: List-Unsubscribe=One-Click'),
  )
  expect(server.lines.join('')).toContain(`List-Unsubscribe: <https://pay.example.com/u/`)
  expect(await storedOf(invoice.id)).toEqual(['link sent', 'receipt sent', 'reminder sent'])
})

test('nothing but the receipt is sent once an invoice is paid, cancelled, over, or being paid by card', async () => {
  const shop = await shopWith()
  const invoices = []
  for (const name of ['paid', 'seen', 'cancelled', 'over', 'card', 'off', 'nowhere'])
    invoices.push(await makeInvoice(shop, { customer_email: `${name}@example.com` }))
  const [paid, seen, cancelled, over, card, off, nowhere] = invoices
  const { owner } = people.api.database
  const short = await makeInvoice(await shopWith({ ...ALL, window_minutes: 60 }), {
    customer_email: 'a@b.example',
  })
  expect(await storedOf(short.id)).toEqual(['link waits', 'receipt waits'])
  await owner.query('delete from buyer_email where invoice_id = $1', [short.id])
  await pay(shop, paid)
  await pay(shop, seen, false)
  await people.api.call('POST', `/invoices/${cancelled.id}/cancel`, { key: shop.liveKey })
  await owner.query(`update invoice set expires_at = now() - interval '1 second' where id = $1`, [over.id])
  await owner.query(
    `insert into card_purchase (merchant_id, id, livemode, invoice_id, provider, asset, amount, address, place,
       status, created_at, fresh_until, left_at)
     values ($1, 'card_a', true, $2, 'moonpay', 'LTC', 1, 'a', 'DE', 'offered', now(), now(), now())`,
    [shop.id, card.id],
  )
  for (const { id } of [off, nowhere])
    await owner.query(`update buyer_email set due_at = now() + interval '1 hour' where invoice_id = $1`, [id])
  for (const { id } of invoices) await remindNow(id)
  await owner.query(`update buyer_email set due_at = now() + interval '1 hour' where invoice_id = any ($1)`, [
    [off.id, nowhere.id],
  ])
  expect([await round(), await round()]).toEqual([1, 0])
  expect(sent.map(({ to }) => to)).toEqual(['paid@example.com'])
  expect(sent[0]?.subject).toBe('Receipt from Shop')
  for (const { id } of [seen, cancelled, over, card])
    expect(await storedOf(id)).toEqual(['link not_payable', 'receipt waits', 'reminder not_payable'])
  await owner.query(`update buyer_email set due_at = now() where invoice_id = $1`, [nowhere.id])
  expect([await round(noted, false), await round(noted, false)]).toEqual([0, 0])
  await setRules(shop, {})
  await owner.query(`update buyer_email set due_at = now() where invoice_id = $1`, [off.id])
  await pay(shop, off)
  expect([await round(), await round()]).toEqual([0, 0])
  expect(await storedOf(off.id)).toEqual(['link not_payable', 'receipt switched_off', 'reminder not_payable'])
  expect(await storedOf(nowhere.id)).toEqual([
    'link no_mail_server',
    'receipt waits',
    'reminder no_mail_server',
  ])
})

test('what waits for a mail server is asked again whether it is due, and what was not sent says so', async () => {
  const shop = await shopWith()
  const [first, second] = [
    await makeInvoice(shop, { customer_email: 'first@example.com' }),
    await makeInvoice(shop, { customer_email: 'second@example.com' }),
  ]
  expect(await round()).toBe(2)
  const at = sent.findIndex(({ to }) => to === 'first@example.com')
  const [ofFirst, ofSecond] = [hooks[at], hooks[1 - at]]
  expect(await ofFirst?.isStillDue()).toBe(true)
  await pay(shop, first, false)
  expect(await ofFirst?.isStillDue()).toBe(false)
  await ofFirst?.onNotSent('not_due')
  await ofSecond?.onNotSent('given_up')
  expect((await storedOf(first.id))[0]).toBe('link not_payable')
  expect((await storedOf(second.id))[0]).toBe('link mail_server')
  // Given up is given up: nothing is opened again.
  expect(await round()).toBe(0)
  // Where the queue has no room for a shop, its emails wait in the database.
  const third = await makeInvoice(shop, { customer_email: 'third@example.com' })
  expect(await round({ ...noted, hasRoom: () => false })).toBe(0)
  expect((await storedOf(third.id))[0]).toBe('link waits')
  expect(await round()).toBe(1)
})

test('in test mode strangers get nothing, and the dashboard says why', async () => {
  const { merchantId, email, browser } = await people.signUp('Tess')
  const keys = { test: await people.api.addKey(merchantId, false, ['invoices:write']) }
  const shop = { id: merchantId, testKey: keys.test.key, liveKey: '' }
  const answer = await browser.ask(
    'PATCH',
    '/api/v1/payment-rules',
    { ...ALL, window_minutes: 180 },
    { 'paylink-mode': 'test' },
  )
  expect([answer.status, answer.body.buyer_link_emails, answer.body.buyer_email_language]).toEqual([
    200,
    true,
    'en',
  ])
  people.api.time.advance(1_000)
  people.api.time.now = new Date()
  const stranger = await makeInvoice(shop, { customer_email: 'stranger@example.com' }, shop.testKey)
  const own = await makeInvoice(shop, { customer_email: email }, shop.testKey)
  expect(await round()).toBe(1)
  expect(sent.map(({ to, subject }) => [to, subject.slice(0, 6)])).toEqual([[email, '[TEST]']])
  const { owner, ownerUrl } = people.api.database
  const found = await inspectDatabase(loadConfig({ DATABASE_URL: ownerUrl }), owner)
  const off = expect.stringMatching(/^Email: off, and \d+ merchants have their buyers emailed/)
  expect(found).toContainEqual({ kind: 'fault', text: off })
  const list = async (id: string) =>
    (await browser.ask('GET', `/api/v1/invoices/${id}/buyer-emails`, undefined, { 'paylink-mode': 'test' }))
      .body.data
  expect(await list(stranger.id)).toMatchObject([
    { kind: 'link', status: 'not_sent', reason: 'test_mode' },
    { kind: 'receipt', status: 'waiting', at: null },
    { kind: 'reminder', status: 'waiting' },
  ])
  expect((await list(own.id))[0]).toMatchObject({ kind: 'link', status: 'sent', reason: null })
})

test('a mailbox gets ten emails about open invoices a day from all shops, and a shop sends 2,000', async () => {
  const shops = [await shopWith(), await shopWith()]
  for (let index = 0; index < 12; index++)
    await makeInvoice(shops[index % 2] ?? (await shopWith()), {
      customer_email: `Flo.oded+${index}@${index % 3 === 0 ? 'GoogleMail' : 'gmail'}.com`,
    })
  expect(await round()).toBe(10)
  const busy = await shopWith()
  const { owner } = people.api.database
  await owner.query(
    `begin; set local session_replication_role = replica;
     insert into buyer_email (merchant_id, invoice_id, kind, livemode, recipient, due_at, ended_at, outcome)
     select '${busy.id}', 'inv_' || n, 'link', true, '\\x01', now(), now(), 'sent' from generate_series(1, 1999) n; commit`,
  )
  const ids = []
  for (const name of ['a', 'b'])
    ids.push((await makeInvoice(busy, { customer_email: `${name}@limit.example` })).id)
  expect(await round()).toBe(1)
  expect((await Promise.all(ids.map(storedOf))).map(([link]) => link).sort()).toEqual([
    'link sent',
    'link shop_limit',
  ])
})

test('unsubscribing takes a press or a mail program, ends all emails of one shop, and nobody can forge it', async () => {
  const [shop, other] = [await shopWith(), await shopWith()]
  await makeInvoice(shop, { customer_email: 'Ada@Example.com' })
  await round()
  const path = new URL(sent[0]?.unsubscribeUrl ?? '')
  const url = `${site.url}${path.pathname}${path.search}`
  expect(sent[0]?.text).toContain(path.href)
  expect(path.href).not.toMatch(/ada/i)
  const page = await fetch(url)
  expect([page.status, await page.text()]).toEqual([
    200,
    expect.stringMatching(/Stop all emails from Shop[\s\S]*method="post"/),
  ])
  // A scanner that opened the link ended nothing.
  await makeInvoice(shop, { customer_email: 'ada@example.com' })
  expect(await round()).toBe(1)
  const { keyring } = people.api.deps
  const token = path.pathname.slice('/u/'.length)
  const bytes = Buffer.from(token, 'base64url')
  const forged = [
    bytes.with(0, (bytes[0] ?? 0) ^ 1),
    bytes.with(20, (bytes[20] ?? 0) ^ 1),
    bytes.with(63, (bytes[63] ?? 0) ^ 1),
  ]
  for (const wrong of [
    ...forged.map((each) => Buffer.from(each).toString('base64url')),
    'x',
    `${token}A`,
    token.slice(1),
  ])
    expect((await fetch(`${site.url}/u/${wrong}`, { method: 'POST' })).status, wrong).toBe(404)
  const form = new FormData()
  form.set('List-Unsubscribe', 'One-Click')
  for (let press = 0; press < 2; press++)
    expect(
      (await fetch(url, { method: 'POST', body: form, headers: { 'sec-fetch-site': 'cross-site' } })).status,
    ).toBe(200)
  sent = []
  const invoice = await makeInvoice(shop, { customer_email: 'ada+shop@example.com' })
  await makeInvoice(other, { customer_email: 'ada@example.com' })
  await pay(shop, invoice)
  expect(await round()).toBe(1)
  expect(await storedOf(invoice.id)).toEqual(['link not_payable', 'receipt unsubscribed', 'reminder waits'])
  // Whoever knows an address and a shop cannot make the other shop's token of it.
  const theirs = unsubscribeToken(keyring, {
    merchantId: other.id,
    recipient: recipientOf(keyring, 'ada@example.com'),
  })
  expect(sent[0]?.unsubscribeUrl).toContain(theirs)
  expect(theirs).not.toBe(token)
})

test('what shops write makes no header, link or second address, and no email opens for another invoice', async () => {
  const shop = await shopWith()
  const { owner } = people.api.database
  await owner.query('update merchant set name = $2 where id = $1', [
    shop.id,
    'Pay https://evil.example/a\r\nBcc: v@evil.example',
  ])
  const texts = {
    description: 'Call evil.example: www.evil.example',
    external_reference: '\r\nBcc: x@evil.example',
  }
  await makeInvoice(shop, { customer_email: 'good@example.com', ...texts })
  const odd = []
  for (const customer_email of ['a,victim@example.com', 'a>@example.com', '"a"@example.com'])
    odd.push(await makeInvoice(shop, { customer_email }))
  const moved = await makeInvoice(shop, { customer_email: 'moved@example.com' })
  await owner.query(
    `update buyer_email set sealed = (select sealed from buyer_email where kind = 'link' and invoice_id <> $1 and sealed is not null limit 1)
     where invoice_id = $1 and kind = 'link'`,
    [moved.id],
  )
  expect(await round()).toBe(1)
  const [email] = sent
  expect(email?.subject).toMatch(/^Payment request from Pay Bcc: v evil example$/)
  expect(
    email?.text.match(/https?:\/\/[^\s]+/g)?.every((url) => url.startsWith('https://pay.example.com/')),
  ).toBe(true)
  expect(email?.text.replace(/https:\S+/g, '')).not.toMatch(/\S[.@]evil|evil\.example/)
  for (const { id } of odd) expect((await storedOf(id))[0]).toBe('link invalid_address')
  expect((await storedOf(moved.id))[0]).toBe('link unreadable')
  // The logins that have no business with addresses read none.
  for (const login of ['api', 'watcher'] as const)
    await expect(people.api.database.pools[login].query('select sealed from buyer_email')).rejects.toThrow(
      'permission denied',
    )
})

test('the emails have words of their own in every language, the shop’s currency first, and two links', () => {
  expect(LANGUAGES.map(({ tag }) => tag)).toEqual(BUYER_LANGUAGES)
  const facts = {
    livemode: true,
    merchantName: 'Blue Heron',
    item: 'Beans',
    order: 'A-1042',
    price: { amount: '45.00', currency: 'EUR' },
    usdCents: 4_999n,
    asset: 'USDC_BASE',
    amount: 50_000_000n,
    expiresAtMs: Date.UTC(2026, 10, 21, 13, 5),
    url: 'https://pay.example.com/i/t',
    unsubscribeUrl: 'https://pay.example.com/u/t',
  } as const
  const written = LANGUAGES.flatMap(({ tag: language }) =>
    (['link', 'reminder'] as const).map((kind) => buyerEmail({ ...facts, kind, language })),
  )
  expect(new Set(written.map(({ text }) => text)).size).toBe(2 * LANGUAGES.length)
  for (const { subject, text } of written) {
    expect(subject).toContain('Blue Heron')
    expect(text.match(/https?:\S+/g)).toEqual([facts.url, facts.unsubscribeUrl])
  }
  expect(written[0]).toEqual({
    subject: 'Payment request from Blue Heron',
    text: `Blue Heron asks you for this payment.

Item: Beans
Order: A-1042
Total: €45.00 · $49.99
Amount: 50.00 USDC (Base)
Pay by Nov 21, 2026, 13:05 UTC

Pay now: https://pay.example.com/i/t

You get this email because Blue Heron gave your address for this payment. If it wasn’t you who ordered, there is nothing to do.

No more emails from Blue Heron: https://pay.example.com/u/t`,
  })
})
