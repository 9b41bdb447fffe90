// A shop in Express: npm install express and paylink-sdk, then
//   PAYLINK_URL=http://localhost:3000 PAYLINK_API_KEY=sk_test_… PAYLINK_WEBHOOK_SECRET=whsec_… ORDERS_DIR=orders node shop.mjs
import { randomUUID } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import express from 'express'
import { Paylink } from 'paylink-sdk'
import { UnsupportedSchemaVersion, verify, WebhookRejected } from 'paylink-sdk/webhooks'

const { PAYLINK_URL, PAYLINK_API_KEY, PAYLINK_WEBHOOK_SECRET, ORDERS_DIR = '.', PORT = '4000' } = process.env
const paylink = new Paylink({ baseUrl: PAYLINK_URL, apiKey: PAYLINK_API_KEY })
const app = express()

app.post('/buy', async (_request, response) => {
  const order = { reference: `order-${randomUUID()}`, usd_amount: '12.50', status: 'open' }
  await saveOrder(order)
  // The key is the order's: should this be sent twice, there is one invoice.
  const invoice = await paylink.invoices.create(
    { usd_amount: order.usd_amount, external_reference: order.reference, allow_asset_selection: true },
    { idempotencyKey: order.reference },
  )
  await saveOrder({ ...order, invoice_id: invoice.id })
  response.redirect(303, invoice.checkout_url)
})

// The raw bytes are what is signed: no JSON parser may come before this route.
app.post('/webhooks', express.raw({ type: 'application/json', limit: '1mb' }), async (request, response) => {
  const event = verify(request.body, request.headers, PAYLINK_WEBHOOK_SECRET)
  if (event.kind === 'endpoint_verification') return response.json({ challenge: event.data.challenge })
  if (event.kind === 'invoice') await updateOrder(event.data.id)
  // 2xx only now, when the order is saved: Paylink will not send this event again.
  response.sendStatus(200)
})

app.use((error, _request, response, _next) => {
  console.error(error.message)
  // Whatever is not answered 2xx comes again.
  const status =
    error instanceof WebhookRejected ? 400 : error instanceof UnsupportedSchemaVersion ? 503 : 500
  response.sendStatus(status)
})

/** Events come twice and in any order, so the order follows the invoice as it stands, and not as the event says. */
async function updateOrder(invoiceId) {
  const invoice = await paylink.invoices.get(invoiceId)
  const order = await loadOrder(invoice.external_reference)
  if (order === null || order.status === 'paid' || invoice.status !== 'paid') return
  // What was paid is compared with what this shop itself wrote down.
  if (invoice.id !== order.invoice_id || invoice.expected_usd_amount !== order.usd_amount) {
    throw new Error(`${order.reference} differs from ${invoice.id}`)
  }
  await saveOrder({ ...order, status: 'paid' })
  console.log(`${order.reference} is paid: ship it`)
}

// One file an order, in place of your database.
const fileOf = (reference) => join(ORDERS_DIR, `${reference}.json`)

async function loadOrder(reference) {
  if (!/^order-[0-9a-f-]{36}$/.test(reference ?? '')) return null
  return JSON.parse(await readFile(fileOf(reference), 'utf8'))
}

async function saveOrder(order) {
  const whole = `${fileOf(order.reference)}.${randomUUID()}`
  await writeFile(whole, JSON.stringify(order))
  await rename(whole, fileOf(order.reference))
}

app.listen(Number(PORT), '127.0.0.1', () => console.log('listening'))
