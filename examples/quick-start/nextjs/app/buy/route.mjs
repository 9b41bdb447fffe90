import { newOrder, saveOrder } from '../../lib/orders.mjs'
import { paylink } from '../../lib/paylink.mjs'

/** `<form method="post" action="/buy">` leads here, and from here to the checkout. */
export async function POST() {
  const order = newOrder()
  await saveOrder(order)
  // The key is the order's: should this be sent twice, there is one invoice.
  const invoice = await paylink().invoices.create(
    { usd_amount: order.usd_amount, external_reference: order.reference, allow_asset_selection: true },
    { idempotencyKey: order.reference },
  )
  await saveOrder({ ...order, invoice_id: invoice.id })
  return Response.redirect(invoice.checkout_url, 303)
}
