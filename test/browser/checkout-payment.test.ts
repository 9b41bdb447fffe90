// @module-tag chromium
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { verifyReceiptCommand } from '../../src/cli/verify-receipt.ts'
import type { TransferFact } from '../../src/core/invoice/types.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { createNetworkStates } from '../../src/http/api/network-states.ts'
import { createNotifier, type Notifier } from '../../src/postgres/notify.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { invoiceToken } from '../../src/secrets/checkout-token.ts'
import { createTestApi, type TestApi } from '../support/api.ts'
import { launchBrowser } from '../support/browser.ts'
import { startBuyersSite } from '../support/buyers-site.ts'
import type { TestDatabase } from '../support/database.ts'
import { inBlock, inMempool, makeInvoice } from '../support/invoice.ts'
import { complaintsOf } from '../support/page-checks.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'

/** The checkout over the real database, with the API's role, its tokens and its notifications. */

const WHOLE = 100_000_000n
/** A page that hears of nothing asks by itself after 20 s, and the server reads for it after 15: it was told. */
const TOLD_MS_MAX = 120_000
const clock = () => new Date(makeInvoice().createdAtMs + 60_000)

let api: TestApi
let database: TestDatabase
let browser: Browser
let notifier: Notifier
let baseUrl: string
let site: Awaited<ReturnType<typeof startBuyersSite>>

beforeAll(async () => {
  api = await createTestApi()
  database = api.database
  browser = await launchBrowser()
  notifier = createNotifier(database.pools.watcher)
  site = await startBuyersSite(api, {
    clock,
    networks: { read: async () => ({ networkFacts: { tipHeightOf: () => 100 }, stateOf: () => null }) },
  })
  baseUrl = site.url
})
afterAll(async () => {
  await browser?.close()
  await site?.stop()
  await notifier?.close()
  await api?.drop()
})

/** What the watcher does with what it finds: one commit, then a hint to whoever listens. */
async function record(tenant: Tenant, invoiceId: string, ...facts: TransferFact[]): Promise<void> {
  await recordTransfers({ pool: database.pools.watcher, clock }, { tenant, invoiceId, facts, tipHeight: 101 })
  notifier.invoiceChanged(invoiceId)
}

const pathOf = (tenant: Tenant, invoiceId: string) =>
  `/i/${invoiceToken(api.deps.keyring, { ...tenant, invoiceId })}`

test('a page follows its invoice from first sighting to paid, and gets each commit before its next poll', async () => {
  const tenant = await seedMerchant(database)
  const invoice = await seedInvoice(database, tenant)
  const page = await browser.newPage()
  const alerts = complaintsOf(page)
  await page.goto(baseUrl + pathOf(tenant, invoice.id))
  await page.evaluate(() => document.body.classList.add('first-load'))
  const heading = () => page.locator('h1').textContent()
  expect(await heading()).toBe('Send 1 LTC')
  expect(await page.locator('#address-value').textContent()).toBe(invoice.address)
  await record(tenant, invoice.id, inMempool('a1', WHOLE / 2n))
  await expect.poll(heading, { timeout: TOLD_MS_MAX }).toBe('Send 0.5 LTC more')
  await record(tenant, invoice.id, inMempool('a2', WHOLE / 2n))
  await expect.poll(heading, { timeout: TOLD_MS_MAX }).toBe('Payment detected')
  await record(tenant, invoice.id, inBlock('a1', WHOLE / 2n, 1), inBlock('a2', WHOLE / 2n, 1))
  await expect.poll(heading, { timeout: TOLD_MS_MAX }).toBe('Confirming your payment')
  await record(tenant, invoice.id, inBlock('a1', WHOLE / 2n, 2), inBlock('a2', WHOLE / 2n, 2))
  await expect.poll(heading, { timeout: TOLD_MS_MAX }).toBe('Payment complete')
  expect(await page.evaluate(() => document.body.classList.contains('first-load'))).toBe(true)
  expect(alerts).toEqual([])
  await page.close()
})

test('a token with any byte changed, or of another mode, merchant or invoice, gives the one neutral page', async () => {
  const tenant = await seedMerchant(database)
  const invoice = await seedInvoice(database, tenant)
  const other = await seedMerchant(database)
  const path = pathOf(tenant, invoice.id)
  expect((await fetch(baseUrl + path)).status).toBe(200)
  const bytes = Buffer.from(path.slice('/i/'.length), 'base64url')
  const wrong = [...bytes.keys()].map((index) => {
    const changed = Buffer.from(bytes)
    changed.writeUInt8((bytes[index] ?? 0) ^ 1, index)
    return `/i/${changed.toString('base64url')}`
  })
  // Properly made, for what is not there: another merchant's invoice, the other mode, an invoice never made.
  wrong.push(pathOf(other, invoice.id))
  wrong.push(pathOf({ ...tenant, livemode: true }, invoice.id))
  wrong.push(pathOf(tenant, makeInvoice().id))
  const bodies = new Set<string>()
  for (const each of wrong) {
    const answer = await fetch(baseUrl + each)
    expect(answer.status).toBe(404)
    bodies.add(await answer.text())
  }
  expect(bodies.size).toBe(1)
})

test('a merchant’s hostile name is only ever text', async () => {
  const tenant = await seedMerchant(database)
  const invoice = await seedInvoice(database, tenant, { metadata: { note: '<b>private</b>' } })
  const name = `</title><script>alert(1)</script>"'><img src=x onerror=alert(2)>`
  await database.owner.query('update merchant set name = $2 where id = $1', [tenant.merchantId, name])
  const page = await browser.newPage()
  const alerts = complaintsOf(page)
  await page.goto(baseUrl + pathOf(tenant, invoice.id))
  expect(await page.locator('.shop-name').textContent()).toBe(name)
  expect(await page.content()).not.toContain('private')
  expect(alerts).toEqual([])
  await page.close()
})

test('a paid payment’s receipt is downloaded from its page, and proves itself by the published keys', async () => {
  const tenant = await seedMerchant(database)
  const invoice = await seedInvoice(database, tenant)
  const page = await browser.newPage()
  const folder = await mkdtemp(join(tmpdir(), 'paylink-receipt-'))
  try {
    const alerts = complaintsOf(page)
    const path = pathOf(tenant, invoice.id)
    await record(tenant, invoice.id, inBlock('b1', WHOLE, 2))
    await page.goto(baseUrl + path)
    await page.locator('#receipt').click()
    await page.evaluate(() => {
      window.print = () => document.body.setAttribute('data-printed', '1')
    })
    await page.locator('#print').click()
    expect(await page.locator('body').getAttribute('data-printed')).toBe('1')
    await page.emulateMedia({ media: 'print' })
    expect(await page.getByText('Test mode: no real money').isVisible()).toBe(true)
    expect(await page.locator('#print').isVisible()).toBe(false)
    await page.emulateMedia({ media: null })
    const download = page.waitForEvent('download')
    await page.locator('#signed-receipt').click()
    const file = join(folder, 'receipt.json')
    await (await download).saveAs(file)
    expect((await download).suggestedFilename()).toBe(`TEST-receipt-${invoice.id}.json`)
    expect(JSON.parse(await readFile(file, 'utf8')).receipt).toMatchObject({
      invoice_id: invoice.id,
      payments: [{ txid: 'b1', amount: '1' }],
    })
    const keys = join(folder, 'keys.json')
    await writeFile(keys, await (await fetch(`${baseUrl}/.well-known/paylink-receipts.json`)).text())
    const said: string[] = []
    const output = { line: (line: string) => said.push(line), problem: (line: string) => said.push(line) }
    expect(await verifyReceiptCommand(file, { key: keys, json: false }, output)).toBe(0)
    expect(said.join('\n')).toContain('Genuine')
    expect(said).toContain('TEST: no real money moved')
    expect(alerts).toEqual([])
    // What the chain took back has no receipt, and the page offers none.
    await record(tenant, invoice.id, { ...inBlock('b1', WHOLE, 2), state: 'reorged' })
    await page.reload()
    expect(await page.locator('#signed-receipt').count()).toBe(0)
    expect((await fetch(`${baseUrl}${path}/receipt.json`)).status).toBe(404)
  } finally {
    await rm(folder, { recursive: true })
    await page.close()
  }
})

test('confirmations count up within seconds of each block, long before the page would ask by itself', async () => {
  const tipAt = (height: number) =>
    database.owner.query(
      `insert into network_state (network, parameters, height, hash, tip_height, status, updated_at)
       values ('litecoin-test', 'regtest', $1, 'aa', $1, 'ok', now())
       on conflict (network) do update set tip_height = $1`,
      [height],
    )
  await tipAt(100)
  const own = await startBuyersSite(api, { clock, networks: createNetworkStates(database.pools.api) })
  const page = await browser.newPage()
  try {
    const tenant = await seedMerchant(database)
    const invoice = await seedInvoice(database, tenant, { confirmations: { LTC: 6 } })
    await record(tenant, invoice.id, inBlock('c1', WHOLE, 1))
    await page.goto(own.url + pathOf(tenant, invoice.id))
    const progress = () => page.locator('progress').getAttribute('value')
    expect(await progress()).toBe('1')
    for (const [height, reached] of [
      [101, '2'],
      [102, '3'],
      [103, '4'],
    ] as const) {
      await tipAt(height)
      await expect.poll(progress, { timeout: TOLD_MS_MAX }).toBe(reached)
    }
  } finally {
    await page.close()
    await own.stop()
  }
})
