import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import type { TestApi, TestMerchant } from '../support/api.ts'
import { inMempool } from '../support/invoice.ts'
import { until } from '../support/until.ts'
import { attemptsOf } from '../support/webhook-fixtures.ts'
import type { ReceivedEvent, WebhookReceiver } from '../support/webhook-receiver.ts'
import { SHOP_FORMATS, type ShopFormat, startWebhookShop, type WebhookShop } from '../support/webhook-shop.ts'
import { recordPayment } from './record-payment.ts'

/**
 * Shops of two older services, whose bodies have no number: an order becomes what the event that came last says, whatever
 * it was, as BTCPay's plugin for WooCommerce does it.
 */

const STATES: { readonly [type: string]: string } = {
  InvoiceProcessing: 'on hold',
  InvoiceSettled: 'paid',
  InvoiceExpired: 'cancelled',
  'charge:pending': 'on hold',
  'charge:confirmed': 'paid',
  'charge:failed': 'failed',
}
const WAITING = { btcpay: 'InvoiceProcessing', coinbase_commerce: 'charge:pending' } as const
const PAID = { btcpay: 'InvoiceSettled', coinbase_commerce: 'charge:confirmed' } as const
const REVIEWED = { btcpay: 'InvoiceReceivedPayment', coinbase_commerce: 'charge:delayed' } as const

let shop: WebhookShop
let api: TestApi
let receiver: WebhookReceiver
let merchant: TestMerchant
/** What the shop answers to an event of this type; 200 unless it is named. */
let answers: { [type: string]: number }
/** So long the shop thinks about it first. */
let thinksMs: { [type: string]: number }
let orders: Map<string, string>
/** What an order was when an event came, by the event's type. */
let before: Map<string, string | undefined>

const toldOf = ({ body }: ReceivedEvent): { type: string; invoiceId: string } => {
  const { type, invoiceId, event } = JSON.parse(body.toString('utf8'))
  return event === undefined ? { type, invoiceId } : { type: event.type, invoiceId: event.data.code }
}
const typesOf = (invoiceId: string): string[] =>
  receiver.events
    .map(toldOf)
    .filter((told) => told.invoiceId === invoiceId)
    .map((told) => told.type)

beforeAll(async () => {
  shop = await startWebhookShop()
  api = shop.api
  receiver = shop.receiver
})
beforeEach(async () => {
  merchant = await shop.addMerchant()
  answers = {}
  thinksMs = {}
  orders = new Map()
  before = new Map()
  receiver.respond = (event, response) => {
    const { type, invoiceId } = toldOf(event)
    const status = answers[type] ?? 200
    before.set(type, orders.get(invoiceId))
    setTimeout(() => {
      const state = STATES[type]
      if (status === 200 && state !== undefined) orders.set(invoiceId, state)
      response.writeHead(status).end()
    }, thinksMs[type] ?? 0)
  }
})
afterAll(() => shop.stop())

const call = (method: string, path: string, body?: object) => shop.call(merchant, method, path, body)
async function addEndpoint(format: ShopFormat | 'paylink'): Promise<string> {
  const { id } = await shop.createEndpoint(merchant, format)
  await api.database.owner.query(
    `update webhook_endpoint set status = 'enabled', verified_at = now() where id = $1`,
    [id],
  )
  return id
}
const createInvoice = async (): Promise<string> => (await shop.createInvoice(merchant)).id
/** Another payment, on top of what was paid. */
const surplus = (invoiceId: string) =>
  recordTransfers(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    {
      tenant: { merchantId: merchant.id, livemode: false },
      invoiceId,
      facts: [inMempool('5e'.repeat(32), 1_000_000n)],
      tipHeight: 200,
    },
  )
const eventOf = async (invoiceId: string, type: string): Promise<string> => {
  const { rows } = await api.database.owner.query<{ id: string }>(
    'select id from event where resource_id = $1 and event_type = $2',
    [invoiceId, type],
  )
  if (rows[0] === undefined) throw new Error(`${invoiceId} has no ${type}`)
  return rows[0].id
}
const codesOf = async (eventId: string) => (await attemptsOf(api.database, eventId)).map(({ code }) => code)
const untilAllEnded = (betweenLooks: () => Promise<unknown> = async () => {}) =>
  until(
    async () => {
      await betweenLooks()
      return (await api.database.owner.query('select from delivery')).rowCount === 0
    },
    { what: 'nothing is left to send' },
  )
const untilRetries = (count: number) =>
  until(
    async () => {
      const { rowCount } = await api.database.owner.query(
        `select from delivery where lease_id is null and due_at > now() + interval '2 seconds'`,
      )
      return rowCount === count
    },
    { what: 'the retry waits' },
  )

test.each(SHOP_FORMATS)(
  'in format %s, what one commit says together never ends with less',
  async (format) => {
    await addEndpoint(format)
    thinksMs = { [WAITING[format]]: 300 }
    const invoices = await Promise.all(Array.from({ length: 8 }, createInvoice))
    await Promise.all(invoices.map((id) => recordPayment(api, merchant, id, 'final')))
    await untilAllEnded()
    expect(invoices.map((id) => orders.get(id))).toEqual(invoices.map(() => 'paid'))
  },
)

test.each(SHOP_FORMATS)(
  'in format %s, no retry takes back a paid order, and none delays it',
  async (format) => {
    await addEndpoint(format)
    answers = { [WAITING[format]]: 500 }
    const invoice = await createInvoice()
    await recordPayment(api, merchant, invoice, 'seen')
    await untilRetries(1)
    await recordPayment(api, merchant, invoice, 'final')
    await until(() => orders.get(invoice) === 'paid', { what: 'the order is paid at once' })
    answers = {}
    await untilAllEnded(shop.hurry)
    expect(orders.get(invoice)).toBe('paid')
    const detected = await eventOf(invoice, 'invoice.payment_detected')
    expect(await codesOf(detected)).toEqual(['http_status', 'superseded'])
    const listed = await call('GET', `/events/${detected}/attempts`)
    expect(listed.body.data[0]).toMatchObject({ code: 'superseded', http_status: null })
  },
)

test.each(SHOP_FORMATS)(
  'in format %s, what is on its way is waited for before the next is sent',
  async (format) => {
    await addEndpoint(format)
    thinksMs = { [WAITING[format]]: 1_500 }
    const invoice = await createInvoice()
    await recordPayment(api, merchant, invoice, 'seen')
    await until(() => typesOf(invoice).includes(WAITING[format]), { what: 'the first is on its way' })
    await recordPayment(api, merchant, invoice, 'final')
    await untilAllEnded()
    expect(before.get(PAID[format])).toBe('on hold')
    expect(orders.get(invoice)).toBe('paid')
  },
)

test.each(SHOP_FORMATS)(
  'in format %s, what follows a settlement waits until that was taken',
  async (format) => {
    await addEndpoint(format)
    answers = { [PAID[format]]: 500 }
    const invoice = await createInvoice()
    await recordPayment(api, merchant, invoice, 'final')
    await untilRetries(1)
    await surplus(invoice)
    const review = await eventOf(invoice, 'invoice.manual_review')
    await until(
      async () => {
        const { rowCount } = await api.database.owner.query(
          `select from delivery where event_id = $1 and lease_id is null and due_at > now() + interval '2 seconds'`,
          [review],
        )
        return rowCount === 1
      },
      { what: 'the review waits behind the settlement' },
    )
    expect(typesOf(invoice)).not.toContain(REVIEWED[format])
    answers = {}
    await untilAllEnded(shop.hurry)
    expect(typesOf(invoice).slice(-2)).toEqual([PAID[format], REVIEWED[format]])
    expect(await codesOf(review)).toEqual(['ok'])
  },
)

test.each(SHOP_FORMATS)('in format %s, what is sent again or recovered keeps the order', async (format) => {
  const endpoint = await addEndpoint(format)
  const invoice = await createInvoice()
  await recordPayment(api, merchant, invoice, 'seen')
  await untilAllEnded()
  await call('POST', `/webhook-endpoints/${endpoint}/disable`)
  await recordPayment(api, merchant, invoice, 'final')
  await surplus(invoice)
  await api.database.owner.query(`update webhook_endpoint set status = 'enabled' where id = $1`, [endpoint])
  receiver.events.length = 0
  const recovered = await call('POST', '/events/recover', {
    endpoint_id: endpoint,
    since: '2026-01-01T00:00:00Z',
  })
  expect(recovered.body.queued).toBe(3)
  await untilAllEnded()
  expect(typesOf(invoice)).toEqual([PAID[format], REVIEWED[format]])
  const detected = await eventOf(invoice, 'invoice.payment_detected')
  const queued = await call('POST', `/events/${detected}/queue`, { endpoint_id: endpoint })
  expect(queued.status).toBe(200)
  await untilAllEnded()
  expect(await codesOf(detected)).toEqual(['ok', 'superseded'])
  expect(orders.get(invoice)).toBe('paid')
  const failed = await call('GET', `/webhook-endpoints/${endpoint}/attempts?outcome=failed`)
  expect(failed.body.data).toEqual([])
})

test('an event that was not taken for an hour holds up no later one, and is sent no more', async () => {
  await addEndpoint('btcpay')
  answers = { InvoiceReceivedPayment: 500 }
  const invoice = await createInvoice()
  await recordPayment(api, merchant, invoice, 'seen', 40n)
  await untilRetries(1)
  await recordPayment(api, merchant, invoice, 'final', 40n)
  await untilRetries(3)
  expect(typesOf(invoice)).toEqual(['InvoiceCreated', 'InvoiceReceivedPayment'])
  await api.database.owner.query(
    `update event set created_at = created_at - interval '2 hours'
     where resource_id = $1 and event_type in ('invoice.payment_detected', 'invoice.confirming')`,
    [invoice],
  )
  await untilAllEnded(shop.hurry)
  expect(typesOf(invoice)).toEqual(['InvoiceCreated', 'InvoiceReceivedPayment', 'InvoicePaymentSettled'])
})

test('an endpoint in Paylink’s own format is sent every event, in no order, whatever fails', async () => {
  const endpoint = await addEndpoint('paylink')
  receiver.respond = (event, response) =>
    void response.writeHead(event.body.toString('utf8').includes('invoice.paid') ? 200 : 500).end()
  const invoice = await createInvoice()
  await recordPayment(api, merchant, invoice, 'final')
  await untilRetries(3)
  receiver.respond = (_event, response) => void response.writeHead(200).end()
  await untilAllEnded(shop.hurry)
  const { rows } = await api.database.owner.query(
    `select event_id from attempt where endpoint_id = $1 and code = 'ok'`,
    [endpoint],
  )
  expect(rows).toHaveLength(4)
})
