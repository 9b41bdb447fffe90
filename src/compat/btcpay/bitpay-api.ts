import type { Context, Hono } from 'hono'
import { invoiceView } from '../../wire/invoice.ts'
import { isObject, type Metadata, textOf } from '../invoice-facts.ts'
import { type CompatDeps, createOwnApi, type OwnApi, ownId } from '../own-api.ts'
import { readFields } from '../read-fields.ts'
import { invoiceData } from './greenfield-invoice.ts'
import { Invalid } from './invalid.ts'
import { invoiceRequest } from './invoice-request.ts'

type GreenfieldInvoice = ReturnType<typeof invoiceData>

/** BitPay's one status for each of Greenfield's; `complete` alone is settled. */
const STATUSES: { readonly [status in GreenfieldInvoice['status']]: string } = {
  New: 'new',
  Processing: 'paid',
  Settled: 'complete',
  Expired: 'expired',
  Invalid: 'invalid',
}
const EXCEPTIONS: { readonly [status in GreenfieldInvoice['additionalStatus']]: string | false } = {
  None: false,
  Marked: 'marked',
  PaidLate: 'paidLate',
  PaidOver: 'paidOver',
  PaidPartial: 'paidPartial',
}
/** What Odoo's plugin says where it knows no address. Nothing is to be sent there. */
const NO_EMAIL = 'noemailavailable@example.com'

/**
 * The two calls of BitPay's older API that BTCPay answers too and Odoo's plugin makes. Its token is the API key; the
 * signature by a paired key says nothing more, and is not looked at. No `notificationURL` is called: nobody verified it.
 */
export function serveBitpay(app: Hono, deps: CompatDeps): void {
  const create = async (c: Context): Promise<Response> => {
    const fields = await readFields(c.req.raw)
    const api = createOwnApi(deps, typeof fields.token === 'string' ? fields.token : null)
    const request = invoiceRequest(greenfieldFields(fields))
    if (request.kind === 'refused') throw new Invalid(request.faults)
    return answer(c, deps, api, { method: 'POST', path: '/invoices', body: request.body })
  }
  // The plugin writes a slash after the one and none before the other.
  app.post('/invoices', create)
  app.post('/invoices/', create)
  app.get('/invoices/:id', (c) => {
    const api = createOwnApi(deps, c.req.query('token') ?? null)
    return answer(c, deps, api, { method: 'GET', path: `/invoices/${ownId(c.req.param('id'))}` })
  })
}

async function answer(c: Context, deps: CompatDeps, api: OwnApi, call: Parameters<OwnApi['call']>[0]) {
  const invoice = await api.call(call, invoiceView)
  const { merchantId } = await api.holder()
  return c.json({ facade: 'merchant', data: bitpayInvoice(invoiceData(invoice, merchantId, deps.clock())) })
}

function greenfieldFields({ price, currency, orderId, itemDesc, redirectURL, buyer }: Metadata): Metadata {
  const { email, name } = isObject(buyer) ? buyer : {}
  const metadata = { orderId, itemDesc, buyerEmail: email === NO_EMAIL ? undefined : email, buyerName: name }
  return { amount: price, currency, metadata, checkout: { redirectURL } }
}

function bitpayInvoice(invoice: GreenfieldInvoice) {
  return {
    id: invoice.id,
    url: invoice.checkoutLink,
    orderId: textOf(invoice.metadata.orderId) ?? null,
    itemDesc: textOf(invoice.metadata.itemDesc) ?? null,
    price: Number(invoice.amount),
    currency: invoice.currency,
    status: STATUSES[invoice.status],
    exceptionStatus: EXCEPTIONS[invoice.additionalStatus],
    // Milliseconds, where Greenfield has seconds.
    invoiceTime: invoice.createdTime * 1_000,
    expirationTime: invoice.expirationTime * 1_000,
  }
}
