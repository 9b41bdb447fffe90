import { UnsupportedSchemaVersion, verify, WebhookRejected } from 'paylink-sdk/webhooks'
import { loadOrder, saveOrder } from '../../lib/orders.mjs'
import { paylink } from '../../lib/paylink.mjs'

export const runtime = 'nodejs'

export async function POST(request) {
  let event
  try {
    // The raw text is what is signed: request.json() would lose it.
    event = verify(await request.text(), request.headers, process.env.PAYLINK_WEBHOOK_SECRET)
  } catch (error) {
    if (error instanceof WebhookRejected) return new Response(null, { status: 400 })
    if (error instanceof UnsupportedSchemaVersion) return new Response(null, { status: 503 })
    throw error
  }
  if (event.kind === 'endpoint_verification') return Response.json({ challenge: event.data.challenge })
  if (event.kind === 'invoice') await updateOrder(event.data.id)
  // 2xx only now, when the order is saved: Paylink will not send this event again. What throws is a 500, and comes again.
  return new Response(null, { status: 200 })
}

/** Events come twice and in any order, so the order follows the invoice as it stands, and not as the event says. */
async function updateOrder(invoiceId) {
  const invoice = await paylink().invoices.get(invoiceId)
  const order = await loadOrder(invoice.external_reference)
  if (order === null || order.status === 'paid' || invoice.status !== 'paid') return
  // What was paid is compared with what this shop itself wrote down.
  if (invoice.id !== order.invoice_id || invoice.expected_usd_amount !== order.usd_amount) {
    throw new Error(`${order.reference} differs from ${invoice.id}`)
  }
  await saveOrder({ ...order, status: 'paid' })
  console.log(`${order.reference} is paid: ship it`)
}
