import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setBranding } from '../../src/flows/branding.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { createReceiptPart } from '../../src/http/public/receipts.ts'
import { createTestApi, type TestApi } from '../support/api.ts'
import { startBuyersSite } from '../support/buyers-site.ts'
import { inBlock } from '../support/invoice.ts'

let api: TestApi
let site: Awaited<ReturnType<typeof startBuyersSite>>
beforeAll(async () => {
  api = await createTestApi()
  site = await startBuyersSite(api)
})
afterAll(async () => {
  await site?.stop()
  await api?.drop()
})

const SELLER = {
  legalName: 'Blue <i>Heron</i> Books Ltd.',
  postalAddress: '1 Marsh Lane\n<script>alert(1)</script>\nNorwich',
  taxNumber: 'GB 123 4567 89 & more',
}

/** A paid invoice of a new shop, by the path of its page. */
async function paidInvoice() {
  const merchant = await api.addMerchant()
  const made = await api.call('POST', '/invoices', {
    key: merchant.testKey,
    body: { usd_amount: '84.37', asset: 'LTC' },
  })
  const transfer = inBlock(randomBytes(32).toString('hex'), 100_000_000n, 9, {
    firstSeenMs: api.time.now.getTime(),
  })
  await recordTransfers(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    {
      tenant: { merchantId: merchant.id, livemode: false },
      invoiceId: made.body.id,
      facts: [transfer],
      tipHeight: 100,
    },
  )
  return { merchantId: merchant.id, path: new URL(made.body.checkout_url).pathname }
}
const pageOf = async (path: string) => (await fetch(`${site.url}${path}`)).text()
const signedOf = async (path: string) =>
  (await createReceiptPart(api.deps).fetch(new Request(`https://pay.example.com${path}/receipt.json`))).text()

test('the printed receipt says who sold, as text, and nothing where the shop did not say', async () => {
  const [shop, other] = [await paidInvoice(), await paidInvoice()]
  expect(await setBranding(api.deps, shop.merchantId, SELLER)).toEqual({ kind: 'set' })
  const html = await pageOf(`${shop.path}/receipt?lang=en`)
  expect(html).toContain(
    'Blue &lt;i&gt;Heron&lt;/i&gt; Books Ltd.\n1 Marsh Lane\n&lt;script&gt;alert(1)&lt;/script&gt;\nNorwich',
  )
  expect(html).toContain('GB 123 4567 89 &amp; more')
  expect(html).not.toContain('<script>alert')
  expect(await pageOf(`${shop.path}/receipt?lang=ar`)).toContain('البائع')
  const without = await pageOf(`${other.path}/receipt?lang=en`)
  expect(without).not.toMatch(/Seller|Tax or company number/)
})

test('a shop that says only its number is named as buyers know it', async () => {
  const { merchantId, path } = await paidInvoice()
  await setBranding(api.deps, merchantId, { name: 'Heron', taxNumber: 'X 1' })
  expect(await pageOf(`${path}/receipt?lang=en`)).toMatch(/Seller.*<bdi class="lines">Heron<\/bdi>.*X 1/s)
})

test('the signed receipt keeps every byte when the details change', async () => {
  const { merchantId, path } = await paidInvoice()
  const before = await signedOf(path)
  expect(before).toContain('"signature"')
  await setBranding(api.deps, merchantId, SELLER)
  expect(await signedOf(path)).toBe(before)
  await setBranding(api.deps, merchantId, { legalName: null, postalAddress: null, taxNumber: null })
  expect(await signedOf(path)).toBe(before)
})

test("the table holds no details that the API would not take, and the API's login alone changes them", async () => {
  const { merchantId } = await paidInvoice()
  await setBranding(api.deps, merchantId, SELLER)
  const set = (column: string, value: string) =>
    api.database.owner.query(`update branding set ${column} = $2 where merchant_id = $1`, [merchantId, value])
  for (const [column, values] of [
    ['legal_name', ['', 'x'.repeat(201), 'a\nb', '\u0001', '\u009f']],
    ['postal_address', ['', 'x'.repeat(401), 'a\tb', 'a\rb', '1\n2\n3\n4\n5\n6', '\u007f']],
    ['tax_number', ['', 'x'.repeat(65), 'a\nb', '\u0085']],
  ] as const)
    for (const value of values)
      await expect(set(column, value), JSON.stringify([column, value])).rejects.toThrow(
        'branding_seller_is_text',
      )
  await set('postal_address', '1\n2\n3\n4\n5')
  for (const role of ['watcher', 'delivery', 'signer'] as const)
    await expect(
      api.database.pools[role].query('update branding set tax_number = tax_number'),
    ).rejects.toThrow('permission denied')
})
