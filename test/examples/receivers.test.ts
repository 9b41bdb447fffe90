import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Invoice } from '../../src/core/invoice/types.ts'
import { signatureHeader } from '../../src/delivery/send.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { describeNeeding } from '../support/describe-needing.ts'
import { inBlock, inMempool, makeInvoice } from '../support/invoice.ts'
import { InvoiceStory, type StoryEvent } from '../support/invoice-story.ts'
import { until } from '../support/until.ts'
import {
  createShop,
  type ExampleReceiver,
  LANGUAGE_PROGRAMS,
  type Shop,
  startExample,
} from './example-receiver.ts'

/** Each example as a shop would run it, against a PostgreSQL of the shop's, sent what the service sends and what it never would. */

const SECRET = 'whsec_the-current-one'
const OLD_SECRET = 'whsec_the-one-before'
const ONE_LTC = 100_000_000n
const EVENT_BYTES_MAX = 65_536
const nowSeconds = (): number => Math.floor(Date.now() / 1_000)

type Order = {
  reference: string
  livemode: boolean
  usd_amount: string
  assets: string[]
  checkout_session_id: string | null
  invoice_id: string | null
}

describeNeeding(LANGUAGE_PROGRAMS, 'the %s receiver', (language) => {
  let shop: Shop
  let receiver: ExampleReceiver
  beforeAll(async () => {
    shop = await createShop()
    receiver = await startExample(language, shop, [SECRET, OLD_SECRET])
  })
  afterAll(async () => {
    await receiver?.stop()
    await shop?.drop()
  })

  /** An order and its invoice as the shop has them after creating the invoice, before anything happened. */
  async function placeOrder(
    order: Partial<Order> = {},
    invoice: Partial<Invoice> = {},
  ): Promise<InvoiceStory> {
    const reference = `order-${randomBytes(6).toString('hex')}`
    const id = newId('invoice', new Date())
    const session = order.checkout_session_id ?? null
    const bySession = session !== null
    const story = new InvoiceStory(
      makeInvoice({
        id,
        ...(bySession
          ? { orderReference: reference, checkoutSessionId: session }
          : { externalReference: reference }),
        ...invoice,
      }),
    )
    const row: Order = {
      reference,
      livemode: false,
      usd_amount: '100.00',
      assets: ['LTC', 'BTC'],
      checkout_session_id: null,
      invoice_id: bySession ? null : id,
      ...order,
    }
    await shop.pool.query(
      `insert into shop_order (reference, livemode, usd_amount, assets, checkout_session_id, invoice_id)
       values ($1, $2, $3, $4, $5, $6)`,
      [reference, row.livemode, row.usd_amount, row.assets, row.checkout_session_id, row.invoice_id],
    )
    return story
  }

  /** Created, detected, confirming, paid. */
  function pay(story: InvoiceStory, amount = ONE_LTC): InvoiceStory {
    const at = story.invoice.createdAtMs + 60_000
    const txid = randomBytes(32).toString('hex')
    return story
      .transfers(at, [inMempool(txid, amount)])
      .transfers(at + 60_000, [inBlock(txid, amount, 1)])
      .transfers(at + 120_000, [inBlock(txid, amount, 2)], 101)
  }

  const headersOf = (
    event: StoryEvent,
    options: { secrets?: string[]; at?: number; body?: string } = {},
  ) => ({
    'content-type': 'application/json',
    'paylink-signature': signatureHeader(
      options.secrets ?? [SECRET],
      options.at ?? nowSeconds(),
      Buffer.from(options.body ?? event.body),
    ),
    'paylink-event-id': event.id,
    'paylink-version': '1',
  })
  type SentHeaders = { [name: string]: string }
  async function send(
    event: StoryEvent,
    headers: SentHeaders = headersOf(event),
    body = event.body,
  ): Promise<number> {
    const response = await fetch(receiver.url, { method: 'POST', headers, body })
    await response.arrayBuffer()
    return response.status
  }
  async function sendAll(events: readonly StoryEvent[]): Promise<void> {
    for (const event of events) expect(await send(event)).toBe(200)
  }

  async function orderOf(story: InvoiceStory) {
    const { orderReference, externalReference } = story.invoice
    const { rows } = await shop.pool.query<{
      status: string
      note: string | null
      fulfilled_at: Date | null
    }>('select status, note, fulfilled_at from shop_order where reference = $1', [
      orderReference ?? externalReference,
    ])
    return rows[0]
  }
  async function storedOf(story: InvoiceStory): Promise<StoryEvent[]> {
    const { rows } = await shop.pool.query<StoryEvent>(
      `select id, event_type as type, sequence, body from paylink_event where resource_id = $1 order by sequence`,
      [story.invoice.id],
    )
    return rows
  }

  test('stores every event byte for byte and fulfils the order when its invoice is paid', async () => {
    const story = pay(await placeOrder())
    const [created, detected, confirming, paid] = story.events
    expect(story.events.map(({ type }) => type)).toEqual([
      'invoice.created',
      'invoice.payment_detected',
      'invoice.confirming',
      'invoice.paid',
    ])
    if (!created || !detected || !confirming || !paid) throw new Error('the story is short')
    await sendAll([created, detected, confirming])
    expect(await orderOf(story)).toMatchObject({ status: 'open', fulfilled_at: null })
    await sendAll([paid])
    expect(await orderOf(story)).toMatchObject({
      status: 'fulfilled',
      note: null,
      fulfilled_at: expect.any(Date),
    })
    expect(await storedOf(story)).toEqual(story.events)
  })

  test('does nothing for an event that it has, one after another or many at once', async () => {
    const story = pay(await placeOrder())
    await sendAll(story.events)
    const before = await orderOf(story)
    // A replay within the tolerance has a genuine signature: only the stored id tells.
    const replayed = headersOf(story.newest)
    expect(await send(story.newest, replayed)).toBe(200)
    expect(await send(story.newest, replayed)).toBe(200)
    const other = pay(await placeOrder())
    const statuses = await Promise.all(
      Array.from({ length: 5 }, () => other.events.map((event) => send(event))).flat(),
    )
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(await storedOf(other)).toEqual(other.events)
    expect(await orderOf(other)).toMatchObject({ status: 'fulfilled' })
    expect(await orderOf(story)).toEqual(before)
    expect(await storedOf(story)).toEqual(story.events)
  })

  test('comes to the same end in every order of arrival', async () => {
    for (const order of permutations([0, 1, 2, 3])) {
      const story = pay(await placeOrder())
      await sendAll(order.flatMap((index) => story.events[index] ?? []))
      expect({ order, ...(await orderOf(story)) }).toMatchObject({ order, status: 'fulfilled', note: null })
    }
  })

  test('is not misled by an older paid event when the newest state says otherwise', async () => {
    const story = pay(await placeOrder())
    const txid = story.invoice.payments[0]?.txid ?? ''
    story.transfers(story.invoice.createdAtMs + 240_000, [{ ...inMempool(txid, ONE_LTC), state: 'reorged' }])
    expect(story.newest.type).toBe('invoice.manual_review')
    await sendAll([...story.events].reverse())
    expect(await orderOf(story)).toMatchObject({
      status: 'exception',
      note: 'manual_review',
      fulfilled_at: null,
    })
  })

  test('fulfils a paid order whose surplus payment was reported first, with a note', async () => {
    const story = pay(await placeOrder())
    const at = story.invoice.createdAtMs + 300_000
    story.transfers(at, [inMempool('cc'.repeat(32), ONE_LTC)], 102)
    expect(story.newest.type).toBe('invoice.manual_review')
    await sendAll([story.newest])
    expect(await orderOf(story)).toMatchObject({ status: 'open' })
    await sendAll(story.events)
    expect(await orderOf(story)).toMatchObject({ status: 'fulfilled', note: 'after_settlement' })
  })

  test('puts partial, overpaid and reviewed invoices before people, and fulfils when the rest comes', async () => {
    const partial = pay(await placeOrder(), ONE_LTC / 4n)
    expect(partial.newest.type).toBe('invoice.partially_paid')
    await sendAll(partial.events)
    expect(await orderOf(partial)).toMatchObject({ status: 'exception', note: 'partially_paid' })
    const told = partial.events.length
    await sendAll(pay(partial, (ONE_LTC * 3n) / 4n).events.slice(told))
    expect(await orderOf(partial)).toMatchObject({ status: 'fulfilled', note: null })
    const over = pay(await placeOrder(), 2n * ONE_LTC)
    expect(over.newest.type).toBe('invoice.overpaid')
    await sendAll(over.events)
    expect(await orderOf(over)).toMatchObject({ status: 'exception', note: 'overpaid', fulfilled_at: null })
  })

  test('notes on a fulfilled order that its payment has left the chain', async () => {
    const story = pay(await placeOrder())
    await sendAll(story.events)
    const txid = story.invoice.payments[0]?.txid ?? ''
    story.transfers(story.invoice.createdAtMs + 240_000, [{ ...inMempool(txid, ONE_LTC), state: 'reorged' }])
    await sendAll([story.newest])
    expect(await orderOf(story)).toMatchObject({ status: 'fulfilled', note: 'after fulfilment: reorged' })
  })

  test('fulfils nothing that differs from its own order, and names what differs', async () => {
    const session = 'cs_01jd0w5f3e8gqv7n5k2m9x4c6t'
    const cases: [string, Partial<Order>, Partial<Invoice>][] = [
      ['expected_usd_amount', { usd_amount: '100.01' }, {}],
      ['expected_usd_amount', {}, { amountSource: 'buyer' }],
      ['livemode', { livemode: true }, {}],
      ['asset', { assets: ['BTC', 'USDC_BASE'] }, {}],
      ['invoice_id', { invoice_id: 'inv_01jd0w5f3e8gqv7n5k2m9x4c6t' }, {}],
      ['checkout_session_id', {}, { checkoutSessionId: session }],
      [
        'checkout_session_id',
        { checkout_session_id: session },
        { checkoutSessionId: `${session.slice(0, -1)}v` },
      ],
      ['checkout_session_id', { checkout_session_id: session }, { checkoutSessionId: null }],
    ]
    for (const [difference, order, invoice] of cases) {
      const story = pay(await placeOrder(order, invoice))
      await sendAll(story.events)
      const state = await orderOf(story)
      expect({ difference, ...state }).toMatchObject({ status: 'exception', fulfilled_at: null })
      expect(state?.note).toBe(`differs: ${difference}`)
    }
    const referenceOnly = await placeOrder({ checkout_session_id: session })
    const { orderReference } = referenceOnly.invoice
    const posing = pay(
      new InvoiceStory({ ...referenceOnly.invoice, orderReference: null, externalReference: orderReference }),
    )
    await sendAll(posing.events)
    expect((await orderOf(posing))?.note).toBe('differs: order_reference')
    const bySession = pay(await placeOrder({ checkout_session_id: session }))
    await sendAll(bySession.events)
    expect(await orderOf(bySession)).toMatchObject({ status: 'fulfilled', note: null })
  })

  test('leaves an accepted partial payment, which confirmed less than was asked, to people', async () => {
    const story = pay(await placeOrder(), ONE_LTC / 2n).accept(makeInvoice().createdAtMs + 600_000)
    expect(story.newest.type).toBe('invoice.paid')
    await sendAll(story.events)
    expect(await orderOf(story)).toMatchObject({ status: 'exception', note: 'differs: amount_confirmed' })
  })

  test('believes nothing that is not signed, fresh and whole: nothing is stored', async () => {
    const story = pay(await placeOrder())
    const event = story.newest
    const good = headersOf(event)
    const signature = good['paylink-signature']
    const again = JSON.stringify(JSON.parse(event.body), null, 1)
    const cheaper = event.body.replaceAll('"100.00"', '"1.00"')
    expect(cheaper).not.toBe(event.body)
    const { 'paylink-signature': _signature, ...unsigned } = good
    const { 'paylink-event-id': _id, ...unnamed } = good
    const { 'paylink-version': _version, ...unversioned } = good
    const requests: [string, SentHeaders, string][] = [
      ['tampered body', good, cheaper],
      ['body written anew', good, again],
      ['unsigned', unsigned, event.body],
      ['without id', unnamed, event.body],
      ['without version', unversioned, event.body],
      ['another secret', headersOf(event, { secrets: ['whsec_guessed'] }), event.body],
      ['replayed after 301 seconds', headersOf(event, { at: nowSeconds() - 301 }), event.body],
      ['signed 310 seconds ahead', headersOf(event, { at: nowSeconds() + 310 }), event.body],
      [
        'moved in time',
        { ...good, 'paylink-signature': signature.replace(/^t=\d+/, `t=${nowSeconds() + 5}`) },
        event.body,
      ],
      ['two times', { ...good, 'paylink-signature': `t=${nowSeconds()},${signature}` }, event.body],
      ['two headers', { ...good, 'paylink-signature': `${signature}, ${signature}` }, event.body],
      ['no v1', { ...good, 'paylink-signature': `t=${nowSeconds()}` }, event.body],
      ['odd header', { ...good, 'paylink-signature': 'nonsense' }, event.body],
      ['another id', { ...good, 'paylink-event-id': story.events[0]?.id ?? '' }, event.body],
      ['another version', { ...good, 'paylink-version': '2' }, event.body],
    ]
    for (const [name, headers, body] of requests) {
      expect({ name, status: await send(event, headers, body) }).toEqual({ name, status: 400 })
    }
    expect(await storedOf(story)).toEqual([])
    expect(await orderOf(story)).toMatchObject({ status: 'open', note: null })
  })

  test('believes either secret during a rotation', async () => {
    const story = pay(await placeOrder())
    for (const secrets of [[SECRET, OLD_SECRET], [OLD_SECRET], ['whsec_yet-another', SECRET]]) {
      expect(await send(story.newest, headersOf(story.newest, { secrets }))).toBe(200)
    }
    expect(await storedOf(story)).toEqual([story.newest])
  })

  test('raises an alert for a schema version that it does not know, and does not take the event for saved', async () => {
    const story = pay(await placeOrder())
    const body = story.newest.body.replace('"schema_version":1', '"schema_version":2')
    const headers = { ...headersOf(story.newest, { body }), 'paylink-version': '2' }
    expect(await send(story.newest, headers, body)).toBe(503)
    await until(() => receiver.log().includes('ALERT: schema version 2'), { what: 'the alert is raised' })
    expect(await storedOf(story)).toEqual([])
  })

  test('answers 2xx only for what is committed: a failure changes nothing, and the next attempt does it all', async () => {
    const story = pay(await placeOrder())
    await shop.pool.query('alter table shop_order rename to shop_order_away')
    try {
      expect(await send(story.newest)).toBe(500)
      expect(await storedOf(story)).toEqual([])
    } finally {
      await shop.pool.query('alter table shop_order_away rename to shop_order')
    }
    expect(await send(story.newest)).toBe(200)
    expect(await orderOf(story)).toMatchObject({ status: 'fulfilled' })
  })

  test('keeps events of orders and types that it does not know', async () => {
    const unknown = pay(
      new InvoiceStory(makeInvoice({ id: newId('invoice', new Date()), externalReference: 'nobody' })),
    )
    await sendAll(unknown.events)
    expect(await storedOf(unknown)).toEqual(unknown.events)
    const story = await placeOrder()
    const later = { ...story.newest, body: story.newest.body.replace('invoice.created', 'payout.confirmed') }
    await sendAll([later])
    expect(await storedOf(story)).toEqual([{ ...later, type: 'payout.confirmed' }])
  })

  test('answers the challenge of a verification, once it is signed', async () => {
    const { events } = await placeOrder()
    const base = JSON.parse(events[0]?.body ?? '')
    const body = JSON.stringify({
      ...base,
      event_type: 'webhook.endpoint_verification',
      data: { challenge: 'a1b2' },
    })
    const event: StoryEvent = { id: base.id, type: 'webhook.endpoint_verification', sequence: 1, body }
    const response = await fetch(receiver.url, { method: 'POST', headers: headersOf(event), body })
    expect(response.status).toBe(200)
    expect(await response.text()).toMatch(/^\{"challenge": ?"a1b2"\}$/)
    expect(await send(event, headersOf(event, { secrets: ['whsec_guessed'] }))).toBe(400)
  })

  test('takes an event of 64 KB', async () => {
    const story = await placeOrder()
    const { newest } = story
    const { data, ...envelope } = JSON.parse(newest.body)
    const sized = (filler: string) => JSON.stringify({ ...envelope, data: { ...data, filler } })
    const body = sized('x'.repeat(EVENT_BYTES_MAX - sized('').length))
    expect(Buffer.byteLength(body)).toBe(EVENT_BYTES_MAX)
    const large = { ...newest, body }
    expect(await send(large)).toBe(200)
    expect((await storedOf(story)).map((stored) => stored.body)).toEqual([body])
  })

  test('refuses a body that is too large to be an event', async () => {
    const { newest } = await placeOrder()
    const huge = { ...newest, body: 'x'.repeat(1024 * 1024 + 1) }
    expect(await send(huge)).toBe(413)
  })
})

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length <= 1) return [[...items]]
  return items.flatMap((item, index) =>
    permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]),
  )
}
