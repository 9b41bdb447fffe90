// @module-tag chromium
import { randomBytes } from 'node:crypto'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { parseCoinAmount } from '../../src/core/money.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import type { Email } from '../../src/mail/mail.ts'
import { writeReceipts } from '../../src/mail/write-receipts.ts'
import { LANGUAGES } from '../../src/web/checkout/language.ts'
import { receiptEmail } from '../../src/web/checkout/receipt-email.ts'
import { launchBrowser, photograph } from '../support/browser.ts'
import { startBuyersSite } from '../support/buyers-site.ts'
import { inBlock } from '../support/invoice.ts'
import { axeFaults, complaintsOf, lowContrast, overflow, smallTargets } from '../support/page-checks.ts'
import { createTestPeople, type TestPeople } from '../support/people.ts'

/** Receipts by email, from the buyer's press to the email: the real API, database, pages and browser. */

let people: TestPeople
let browser: Browser
let site: Awaited<ReturnType<typeof startBuyersSite>>
let sent: Email[]
beforeAll(async () => {
  people = await createTestPeople()
  browser = await launchBrowser()
  site = await startBuyersSite(people.api, { formsPerSecond: 1_000, sendsReceipts: true })
})
beforeEach(() => {
  sent = []
  people.api.time.advance(1_000)
})
afterAll(async () => {
  await browser?.close()
  await site?.stop()
  await people?.drop()
})

const mail = { send: async (message: Email) => void sent.push(message) }
const round = () => {
  const { database, deps } = people.api
  return writeReceipts({
    pool: database.pools.delivery,
    mail,
    log: deps.log,
    keyring: deps.keyring,
    write: receiptEmail,
    sendsMail: true,
  })
}

/** A shop that offers receipts, and one invoice of it, whose path is the buyer's page. */
async function makeInvoice(merchant: { id: string; testKey: string; liveKey: string }, livemode = false) {
  const { api } = people
  await api.database.owner.query(
    `insert into payment_rules (merchant_id, livemode, rules, updated_at) values ($1, $2, $3, now())
     on conflict (merchant_id, livemode) do nothing`,
    [merchant.id, livemode, { receipt_emails: true }],
  )
  api.time.advance(1_000)
  const key = livemode ? merchant.liveKey : merchant.testKey
  const body = { asset: 'LTC', usd_amount: '49.99', external_reference: 'A-1042' }
  const made = await api.call('POST', '/invoices', { key, body })
  if (made.status !== 201) throw new Error(made.text)
  const path = new URL(made.body.checkout_url).pathname
  const pay = async () => {
    const units = parseCoinAmount(made.body.amount, 8)
    if (units === null) throw new Error(made.text)
    const paid = inBlock(randomBytes(32).toString('hex'), units, 100, { firstSeenMs: api.time.now.getTime() })
    await recordTransfers(
      { pool: api.database.pools.watcher, clock: api.deps.clock },
      {
        tenant: { merchantId: merchant.id, livemode },
        invoiceId: made.body.id,
        facts: [paid],
        tipHeight: 200,
      },
    )
  }
  return { id: made.body.id as string, path, pay }
}

const ask = (path: string, email: string) =>
  fetch(`${site.url}${path}?form=receipt-email`, {
    method: 'POST',
    body: new URLSearchParams({ email }),
    redirect: 'manual',
  })

test.each([true, false])(
  'a buyer asks for the receipt, and it comes once, in their language, when all is paid (script: %s)',
  async (script) => {
    const { id, path, pay } = await makeInvoice(await people.api.addMerchant(), true)
    const context = await browser.newContext({
      javaScriptEnabled: script,
      locale: 'de-DE',
      colorScheme: script ? 'light' : 'dark',
      viewport: { width: script ? 1440 : 320, height: 900 },
    })
    const page = await context.newPage()
    const alerts = complaintsOf(page)
    await page.goto(`${site.url}${path}?lang=de`)
    await page.locator(script ? '#receipt-summary' : '#receipt-page').click()
    await page.locator('#email').fill('lena@example.com')
    // Nothing takes away what is typed.
    if (!script) expect(await page.locator('meta[http-equiv=refresh]').count()).toBe(0)
    await photograph(page, `receipt-email-offered-${script}`)
    expect([await overflow(page), await lowContrast(page), await smallTargets(page)]).toEqual([0, [], []])
    if (script) expect(await axeFaults(page)).toEqual([])
    await page.locator('#receipt-send').click()
    await page.locator('#receipt-requested').waitFor()
    // Whoever has the URL sees the page: it keeps the address to itself.
    expect(await page.content()).not.toContain('lena@example.com')
    await photograph(page, `receipt-email-requested-${script}`)
    expect(await round()).toBe(0)
    await pay()
    expect([await round(), await round()]).toEqual([1, 0])
    expect(sent[0]?.to).toBe('lena@example.com')
    expect(sent[0]?.subject).toMatch(/^Quittung von /)
    const text = sent[0]?.text ?? ''
    expect(text).toContain('Bestellung: A-1042')
    expect(text).toMatch(/Summe: 49,99.\$/)
    expect(text).toContain(id)
    const url = /https?:\/\/\S+/.exec(text)?.[0] ?? ''
    await page.goto(site.url + new URL(url).pathname + new URL(url).search)
    expect(await page.locator('h1').textContent()).toBe('Quittung')
    await page.goto(site.url + path)
    expect(await page.locator('#receipt-email').count()).toBe(0)
    expect(alerts).toEqual([])
    await context.close()
  },
)

test('in test mode a receipt goes to confirmed members of the shop only, and says TEST', async () => {
  const { merchantId, email } = await people.signUp('Rosa')
  const stranger = await people.signUp('Sven')
  const { key: testKey } = await people.api.addKey(merchantId, false, ['invoices:write'])
  const merchant = { id: merchantId, testKey, liveKey: '' }
  for (const to of [stranger.email, 'nobody@example.com', email.toUpperCase()]) {
    const { path, pay } = await makeInvoice(merchant)
    expect((await ask(path, to)).status).toBe(303)
    await pay()
    await round()
  }
  expect(sent.map(({ to, subject }) => [to, subject.slice(0, 6)])).toEqual([[email.toUpperCase(), '[TEST]']])
  await people.api.writeSealed('update person set email_verified = false where email = $1', [email])
  const { path, pay } = await makeInvoice(merchant)
  await ask(path, email)
  await pay()
  expect(await round()).toBe(0)
})

test('an address is mailed twenty times a day at most, whatever shop or spelling it comes by', async () => {
  const shops = [await people.api.addMerchant(), await people.api.addMerchant()]
  for (let index = 0; index < 22; index++) {
    const shop = shops[index % 2]
    if (shop === undefined) throw new Error('no shop')
    const { path, pay } = await makeInvoice(shop, true)
    await ask(path, index % 3 === 0 ? 'Often@Example.com' : 'often@example.com')
    await pay()
    await round()
  }
  expect(sent).toHaveLength(20)
})

test('a buyer corrects the address some times, and never after the receipt was sent', async () => {
  const merchant = await people.api.addMerchant()
  const { path, pay } = await makeInvoice(merchant, true)
  for (let change = 0; change <= 5; change++)
    expect((await ask(path, `buyer${change}@example.com`)).status).toBe(303)
  const over = await ask(path, 'seventh@example.com')
  expect([over.status, await over.text()]).toEqual([
    409,
    expect.stringContaining('can’t be changed any more'),
  ])
  await pay()
  await round()
  expect(sent.map(({ to }) => to)).toEqual(['buyer5@example.com'])
  expect((await ask(path, 'late@example.com')).status).toBe(303)
  expect(await round()).toBe(0)
})

test.each([
  'nobody',
  'a@b',
  'a,victim@example.com',
  'a@example.com,b@example.com',
  'Name <a@example.com>',
  '"a b"@example.com',
  'a@example.com\r\nBcc: b@example.com',
  `${'a'.repeat(250)}@example.com`,
])('is no address to write to: %s', async (email) => {
  const { path } = await makeInvoice(await people.api.addMerchant(), true)
  const answer = await ask(path, email)
  expect(answer.status).toBe(400)
  expect(await answer.text()).toContain('This is not an email address')
})

test('a shop that does not ask, and a server without mail, offer none and take none', async () => {
  const { api } = people
  const silent = await api.addMerchant()
  const body = { asset: 'LTC', usd_amount: '49.99' }
  const made = await api.call('POST', '/invoices', { key: silent.testKey, body })
  const path = new URL(made.body.checkout_url).pathname
  expect(await (await fetch(site.url + path)).text()).not.toContain('receipt-email')
  expect((await ask(path, 'lena@example.com')).status).toBe(303)
  const without = await startBuyersSite(api)
  const asking = await makeInvoice(await api.addMerchant())
  expect(await (await fetch(without.url + asking.path)).text()).not.toContain('receipt-email')
  await without.stop()
  const { rowCount } = await api.database.owner.query('select from receipt_request where merchant_id = $1', [
    silent.id,
  ])
  expect(rowCount).toBe(0)
})

test('what is kept shows no address to whoever reads the database, and is gone once it is mailed', async () => {
  const { path, pay, id } = await makeInvoice(await people.api.addMerchant(), true)
  await ask(path, 'lena@example.com')
  const { owner, pools } = people.api.database
  const read = async () =>
    (await owner.query('select to_jsonb(r) as row from receipt_request r where invoice_id = $1', [id]))
      .rows[0]?.row
  expect(JSON.stringify(await read())).not.toContain(Buffer.from('lena@').toString('hex'))
  await expect(pools.api.query('select sealed from receipt_request')).rejects.toThrow('permission denied')
  await expect(pools.watcher.query('select from receipt_request')).rejects.toThrow('permission denied')
  // Moved to another invoice it opens nowhere, and keeps nobody else's receipt from being sent.
  const other = await makeInvoice(await people.api.addMerchant(), true)
  await ask(other.path, 'other@example.com')
  await owner.query(`update receipt_request set sealed = '\\x01' where invoice_id = $1`, [id])
  await pay()
  await other.pay()
  expect(await round()).toBe(1)
  expect(sent.map(({ to }) => to)).toEqual(['other@example.com'])
  expect(await read()).toMatchObject({ outcome: 'refused', sealed: null })
})

test('the email has words of its own in every language, and carries no link of a shop’s', () => {
  const facts = {
    livemode: true,
    merchantName: 'Blue Heron',
    item: 'Beans',
    order: null,
    sellerLines: ['Blue Heron Ltd.', '1 Marsh Lane'],
    taxNumber: 'GB 123 4567 89',
    price: null,
    usdAmount: '49.99',
    asset: 'USDC_BASE',
    received: '50',
    paidAtMs: Date.UTC(2026, 10, 21, 13, 5),
    invoiceId: 'inv_1',
    url: 'https://pay.example.com/i/t/receipt',
    unsubscribeUrl: null,
  } as const
  const written = LANGUAGES.map(({ tag }) => receiptEmail({ ...facts, language: tag }))
  expect(new Set(written.map(({ text }) => text)).size).toBe(LANGUAGES.length)
  for (const { subject, text } of written) {
    expect(subject).toContain('Blue Heron')
    expect(text.match(/https?:/g)).toHaveLength(1)
    // No invisible mark is taken for a part of it.
    expect(text).toMatch(/[ ：]https:\/\/pay\.example\.com\/i\/t\/receipt\n/)
    expect(text).toMatch(/(: |：)50\.00 USDC\n/)
    expect(text).toMatch(/(: |：)Blue Heron Ltd\., 1 Marsh Lane\n.*(: |：)GB 123 4567 89\n/)
  }
  const inYen = receiptEmail({ ...facts, price: { amount: '7461', currency: 'JPY' }, language: 'en' })
  expect(inYen.text).toContain('Total: ¥7,461 · $49.99\n')
})
