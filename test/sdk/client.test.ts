import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest'
import {
  ApiError,
  ConnectionError,
  Paylink,
  type PaylinkError,
  UnexpectedAnswer,
} from '../../packages/sdk/src/index.ts'
import { OPERATIONS } from '../../packages/sdk/src/tables.ts'
import { createApiApp } from '../../src/http/api/app.ts'
import { type HttpServer, startHttpServer } from '../../src/http/server.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { freePort } from '../support/free-port.ts'
import { type FaultyProxy, startFaultyProxy } from './faulty-proxy.ts'

/** The client against the real server, over real sockets, through a network as bad as each test wants it. */

let api: TestApi
let merchant: TestMerchant
let server: HttpServer
let proxy: FaultyProxy
let client: Paylink
beforeAll(async () => {
  api = await createTestApi()
  merchant = await api.addMerchant()
  const port = await freePort()
  const parts = [{ name: 'api', owns: () => true, fetch: (request: Request) => api.app.fetch(request) }]
  server = await startHttpServer({ host: '127.0.0.1', port, parts, log: api.deps.log })
  proxy = await startFaultyProxy(`http://127.0.0.1:${port}`)
  client = connect()
})
afterAll(async () => {
  await proxy.close()
  await server.stop(() => {})
  await api.drop()
})
beforeEach(() => {
  proxy.faults.length = 0
  proxy.seen.length = 0
})

const connect = (changes: Partial<ConstructorParameters<typeof Paylink>[0]> = {}) =>
  new Paylink({ apiKey: merchant.testKey, baseUrl: proxy.url, retryDelayMs: 1, ...changes })
const ORDER = { usd_amount: '10.00', asset: 'LTC' } as const
const UNKNOWN = '01jd0w5f3e8gqv7n5k2m9x4c6t'
const invoicesMade = async () => {
  const { rows } = await api.database.owner.query<{ count: number }>(
    'select count(*)::int as count from invoice',
  )
  return rows[0]?.count
}

/** What a call fails with; fails where it succeeds. */
async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    (value) => {
      throw new Error(`it succeeded with ${JSON.stringify(value)}`)
    },
    (error: unknown) => error,
  )
}

test('a list that comes whole, such as the balances, is read like any other', async () => {
  for (const list of [client.balances.list(), client.market.assets(), client.market.rates()]) {
    const { data } = await list.page()
    expect(await list.take(100)).toEqual(data)
  }
})

describe('calls', () => {
  test('an invoice is created, read, found and cancelled', async () => {
    const made = await client.invoices.create({
      ...ORDER,
      external_reference: 'order 1',
      metadata: { cart: [1] },
    })
    expect(made).toMatchObject({ object: 'invoice', status: 'awaiting_payment', usd_amount: '10.00' })
    expect(made.checkout_url).toMatch(/^https:/)
    expect(await client.invoices.get(made.id)).toEqual(made)
    expect(await client.invoices.list({ external_reference: 'order 1' }).take(5)).toEqual([made])
    expect(await client.invoices.cancel(made.id)).toMatchObject({ id: made.id, status: 'cancelled' })
  })

  test('an order has one checkout session, found again by the same call', async () => {
    const link = await client.paymentLinks.create({ name: 'Shop', allow_dynamic_amount: true, asset: 'LTC' })
    const order = { order_reference: 'order 2', usd_amount: '12.00' }
    const session = await client.checkoutSessions.create(link.id, order)
    expect(await client.checkoutSessions.create(link.id, order)).toEqual({ ...session, replayed: true })
    expect(await client.checkoutSessions.list(link.id).take(5)).toEqual([session])
  })

  test('an endpoint is made, rotated and removed', async () => {
    const made = await client.webhookEndpoints.create({
      url: 'http://127.0.0.1:9/',
      subscribed_events: ['*'],
    })
    expect(made.secret).toMatch(/^whsec_/)
    expect((await client.webhookEndpoints.rotateSecret(made.id, { grace_seconds: 0 })).secret).toMatch(
      /^whsec_/,
    )
    expect(await failureOf(client.webhookEndpoints.verify(made.id))).toMatchObject({
      code: 'endpoint_verification_failed',
      reason: expect.any(String),
    })
    expect(await client.webhookEndpoints.remove(made.id)).toBeUndefined()
    expect(await failureOf(client.webhookEndpoints.get(made.id))).toMatchObject({ code: 'not_found' })
  })

  test('events have their kind, and narrow to their resource', async () => {
    const { id } = await client.invoices.create(ORDER)
    const [event] = await client.events.list({ resource_id: id }).take(1)
    if (event?.kind !== 'invoice') throw new Error('it is of another kind')
    expectTypeOf(event.data.amount_confirmed).toEqualTypeOf<string>()
    expect(event).toMatchObject({ event_type: 'invoice.created', data: { id, status: 'awaiting_payment' } })
    expect(await client.events.get(event.id)).toEqual(event)
    expect((await client.events.list({ resource_id: id }).page()).data).toEqual([event])
  })

  test('every operation that a key may call has its method, and reaches its route', async () => {
    const body = { endpoint_id: `we_${UNKNOWN}` }
    const calls = [
      client.invoices.create(ORDER),
      client.invoices.get(`inv_${UNKNOWN}`),
      client.invoices.list().page(),
      client.invoices.payments(`inv_${UNKNOWN}`).page(),
      client.invoices.cancel(`inv_${UNKNOWN}`),
      client.invoices.resolve(`inv_${UNKNOWN}`, { resolution: 'accept' }),
      client.invoices.imported().page(),
      client.invoices.payInTest(`inv_${UNKNOWN}`, 'exact'),
      client.paymentLinks.create({ name: 'Tea', usd_amount: '5.00' }),
      client.paymentLinks.get(`plink_${UNKNOWN}`),
      client.paymentLinks.list().page(),
      client.paymentLinks.update(`plink_${UNKNOWN}`, { active: false }),
      client.paymentLinks.renewStaffCode(`plink_${UNKNOWN}`),
      client.tillPictures.create({ picture: 'AAAA' }),
      client.checkoutSessions.create(`plink_${UNKNOWN}`, { order_reference: 'o', usd_amount: '5.00' }),
      client.checkoutSessions.get(`cs_${UNKNOWN}`),
      client.checkoutSessions.list(`plink_${UNKNOWN}`).page(),
      client.checkoutSessions.cancel(`cs_${UNKNOWN}`),
      client.events.get(`evt_${UNKNOWN}`),
      client.events.list().page(),
      client.events.attempts(`evt_${UNKNOWN}`).page(),
      client.events.queue(`evt_${UNKNOWN}`, body),
      client.events.recover({ ...body, since: '2026-11-21T00:00:00Z' }),
      client.webhookEndpoints.create({ url: 'http://127.0.0.1:9/', subscribed_events: ['*'] }),
      client.webhookEndpoints.request({ url: 'http://127.0.0.1:9/', subscribed_events: ['*'] }),
      client.webhookEndpoints.get(`we_${UNKNOWN}`),
      client.webhookEndpoints.list().page(),
      client.webhookEndpoints.update(`we_${UNKNOWN}`, { subscribed_events: ['*'] }),
      client.webhookEndpoints.attempts(`we_${UNKNOWN}`).page(),
      client.webhookEndpoints.verify(`we_${UNKNOWN}`),
      client.webhookEndpoints.rotateSecret(`we_${UNKNOWN}`),
      client.webhookEndpoints.disable(`we_${UNKNOWN}`),
      client.webhookEndpoints.remove(`we_${UNKNOWN}`),
      client.depositAddresses.create({ customer_reference: 'customer-4711' }),
      client.depositAddresses.get(`da_${UNKNOWN}`),
      client.depositAddresses.list().page(),
      client.depositAddresses.payInTest(`da_${UNKNOWN}`, { asset: 'LTC', amount: '0.5' }),
      client.deposits.get(`dep_${UNKNOWN}`),
      client.deposits.list().page(),
      client.balances.list().page(),
      client.balances.entries().page(),
      client.payouts.create({ destination_id: `dst_${UNKNOWN}`, amount: '1' }),
      client.payouts.get(`po_${UNKNOWN}`),
      client.payouts.list().page(),
      client.payouts.approve(`po_${UNKNOWN}`),
      client.payouts.reject(`po_${UNKNOWN}`),
      client.payoutDestinations.create({ asset: 'LTC', address: 'nowhere', name: 'Nowhere' }),
      client.payoutDestinations.list().page(),
      client.payoutDestinations.quote(`dst_${UNKNOWN}`, { amount: '1' }),
      client.payoutDestinations.remove(`dst_${UNKNOWN}`),
      client.market.assets().page(),
      client.market.rates().page(),
    ]
    const outcomes = await Promise.all(calls.map((call) => call.catch((error: unknown) => error)))
    // A request that is not as its route wants it would be one of these: what is sent fits.
    const misfits = [
      'parameter_unknown',
      'parameter_missing',
      'body_invalid',
      'path_not_found',
      'method_not_allowed',
    ]
    for (const outcome of outcomes) {
      if (!(outcome instanceof Error)) continue
      expect(outcome).toBeInstanceOf(ApiError)
      expect(misfits).not.toContain((outcome as ApiError).code)
    }
    const reached = new Set(
      proxy.seen.map(
        ({ method, path }) => `${method} ${path.split('?')[0]?.replace(/[a-z]+_01jd[0-9a-z]{22}/, ':id')}`,
      ),
    )
    const all = Object.values(OPERATIONS).map(([method, path]) => `${method} /api/v1${path}`)
    expect([...reached].sort()).toEqual(all.sort())
  })
})

describe('lists', () => {
  test('a list is read to its end in pages, newest first, and back from any place', async () => {
    const other = await api.addMerchant()
    const shop = connect({ apiKey: other.testKey })
    const made: string[] = []
    for (let number = 0; number < 7; number += 1) {
      made.push((await shop.invoices.create(ORDER)).id)
      // Ids sort by time; two of one millisecond may stand either way.
      api.time.advance(1)
    }
    proxy.seen.length = 0
    const read: string[] = []
    for await (const invoice of shop.invoices.list({ limit: 3 })) read.push(invoice.id)
    expect(read).toEqual([...made].reverse())
    expect(proxy.seen.map(({ path }) => new URL(path, proxy.url).searchParams.get('starting_after'))).toEqual(
      [null, read[2], read[5]],
    )
    const newer: string[] = []
    for await (const { id } of shop.invoices.list({ ending_before: made[1], limit: 2 })) newer.push(id)
    expect(newer).toEqual(made.slice(2))
  })

  test('a list that does not go on, as one from a cache, ends with an error and not never', async () => {
    const page = JSON.stringify({ object: 'list', has_more: true, data: [{ id: 'inv_1' }, { id: 'inv_2' }] })
    const stuck = connect({ fetch: async () => new Response(page) })
    const read: string[] = []
    const reading = (async () => {
      for await (const { id } of stuck.invoices.list()) if (read.push(id) > 9) throw new Error('for ever')
    })()
    expect(await failureOf(reading)).toBeInstanceOf(UnexpectedAnswer)
    expect(read).toEqual(['inv_1', 'inv_2'])
  })

  test('nothing is asked for before it is read, nor beyond what is taken', async () => {
    const list = client.invoices.list({ limit: 2 })
    expect(proxy.seen).toEqual([])
    expect(await list.take(0)).toEqual([])
    expect(await list.take(2)).toHaveLength(2)
    expect(proxy.seen).toHaveLength(1)
  })
})

describe('repetitions', () => {
  test('a create whose answer is lost is repeated under its key, and makes one invoice', async () => {
    for (const fault of ['lose', 'cut', 'refuse'] as const) {
      const before = (await invoicesMade()) ?? 0
      proxy.seen.length = 0
      proxy.faults.push(fault, 'pass')
      const made = await client.invoices.create(ORDER)
      expect(await invoicesMade()).toBe(before + 1)
      expect(await client.invoices.get(made.id)).toEqual(made)
      const [first, second] = proxy.seen
      expect(first?.key).toMatch(/^[0-9a-f-]{36}$/)
      expect(second?.key).toBe(first?.key)
    }
  })

  test('every call has a key of its own, or the one that it was given', async () => {
    await Promise.all([client.invoices.create(ORDER), client.invoices.create(ORDER)])
    const mine = { idempotencyKey: 'order 3' }
    const made = await client.invoices.create(ORDER, mine)
    expect(await client.invoices.create(ORDER, mine)).toEqual(made)
    expect(new Set(proxy.seen.map(({ key }) => key)).size).toBe(3)
    expect(await failureOf(client.invoices.create({ ...ORDER, usd_amount: '11.00' }, mine))).toMatchObject({
      status: 422,
      code: 'idempotency_key_reused',
    })
  })

  test('a 429 is waited for as long as Retry-After says, and repeated even without a key', async () => {
    const { id } = await client.invoices.create(ORDER)
    proxy.seen.length = 0
    proxy.faults.push({ status: 429, headers: { 'retry-after': '1' } }, 'pass')
    expect(await client.invoices.cancel(id)).toMatchObject({ status: 'cancelled' })
    const [first, second] = proxy.seen
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(990)
  })

  test('a server that asks for more than a minute is not waited for', async () => {
    proxy.faults.push({ status: 429, headers: { 'retry-after': '61' } })
    expect(await failureOf(client.invoices.list().page())).toMatchObject({ status: 429 })
    expect(proxy.seen).toHaveLength(1)
  })

  test('the limit of the server itself is obeyed', async () => {
    const strict = createApiApp({ ...api.deps, rateLimits: { live: 1, test: 1 } })
    const statuses: number[] = []
    const shop = connect({
      fetch: async (url, init) => {
        const answer = await strict.request(url, init)
        statuses.push(answer.status)
        // The server's time goes on as far as the client waits.
        if (answer.status === 429) api.time.advance(Number(answer.headers.get('retry-after')) * 1_000)
        return answer
      },
    })
    for (let count = 0; count < 3; count += 1) await shop.balances.list().page()
    expect(statuses).toEqual([200, 200, 429, 200])
  })

  test('5xx responses are retried and the last one reported, from Paylink or a proxy', async () => {
    proxy.faults.push({ status: 502, body: '<h1>Bad gateway</h1>' }, { status: 500 }, { status: 504 }, 'pass')
    expect(await client.invoices.create(ORDER)).toHaveProperty('id')
    expect(proxy.seen).toHaveLength(4)
    proxy.faults.push(...Array.from({ length: 4 }, () => ({ status: 502, body: '<h1>Bad gateway</h1>' })))
    const error = await failureOf(client.invoices.create(ORDER))
    expect(error).toBeInstanceOf(UnexpectedAnswer)
    expect(error).toMatchObject({ status: 502 })
    expect(proxy.seen).toHaveLength(8)
  })

  test('what has no key is not sent again when nobody knows whether it happened', async () => {
    const { id } = await client.invoices.create(ORDER)
    proxy.seen.length = 0
    proxy.faults.push('lose')
    expect(await failureOf(client.invoices.cancel(id))).toBeInstanceOf(ConnectionError)
    proxy.faults.push({ status: 503 })
    expect(await failureOf(client.invoices.cancel(id))).toBeInstanceOf(UnexpectedAnswer)
    expect(proxy.seen).toHaveLength(2)
    expect(await client.invoices.get(id)).toMatchObject({ status: 'cancelled' })
  })

  test('a removal whose answer was lost has succeeded', async () => {
    const made = await client.webhookEndpoints.create({
      url: 'http://127.0.0.1:9/',
      subscribed_events: ['*'],
    })
    proxy.faults.push('lose')
    expect(await client.webhookEndpoints.remove(made.id)).toBeUndefined()
    expect(await failureOf(client.webhookEndpoints.remove(made.id))).toMatchObject({ code: 'not_found' })
  })

  test('maxRetries 0 never repeats', async () => {
    proxy.faults.push('refuse')
    expect(await failureOf(connect({ maxRetries: 0 }).invoices.create(ORDER))).toBeInstanceOf(ConnectionError)
    expect(proxy.seen).toHaveLength(1)
  })

  test('a try ends after its time, and a signal ends all of them', async () => {
    let tries = 0
    const hang = (_url: string, { signal }: RequestInit): Promise<never> => {
      tries += 1
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    }
    const hanging = connect({ timeoutMs: 50, maxRetries: 1, fetch: hang })
    const error = await failureOf(hanging.invoices.list().page())
    expect(error).toBeInstanceOf(ConnectionError)
    expect((error as Error).message).toContain('no answer within 50 ms')
    expect(tries).toBe(2)
    proxy.faults.push('hang')
    const stop = new AbortController()
    const waiting = failureOf(client.invoices.list({}, { signal: stop.signal }).page())
    // Ended before it arrives, it would arrive in the middle of the next test.
    await vi.waitUntil(() => proxy.seen.length === 1)
    stop.abort(new Error('the buyer has gone'))
    expect(await waiting).toMatchObject({ message: 'the buyer has gone' })
    proxy.faults.push({ status: 429, headers: { 'retry-after': '50' } })
    const patience = new AbortController()
    const paused = failureOf(client.invoices.list({}, { signal: patience.signal }).page())
    await vi.waitUntil(() => proxy.seen.length === 2)
    setTimeout(() => patience.abort(new Error('enough')), 50)
    expect(await paused).toMatchObject({ message: 'enough' })
  })
})

describe('errors', () => {
  test('a refusal has its code, its parameter and the request’s id', async () => {
    const error = await failureOf(client.invoices.create({ usd_amount: '0.10', asset: 'LTC' }))
    if (!(error instanceof ApiError)) throw error
    expectTypeOf(error).toExtend<PaylinkError>()
    expect(error.code satisfies 'amount_too_small' | string).toBe('amount_too_small')
    expect(error).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      param: 'usd_amount',
      reason: null,
    })
    expect(error.requestId).toMatch(/^req_/)
    expect(error.docUrl).toContain('amount_too_small')
    expect(proxy.seen).toHaveLength(1)
  })

  test('a wrong key is reported, and appears in no error and no printout of the client', async () => {
    const wrong = connect({ apiKey: 'sk_test_wrong-key-of-mine' })
    const error = await failureOf(wrong.invoices.list().page())
    expect(error).toMatchObject({ status: 401, code: 'api_key_invalid' })
    const { inspect } = await import('node:util')
    for (const thing of [error, wrong])
      expect(inspect(thing, { depth: 9, showHidden: true })).not.toContain('key-of-mine')
  })

  test('an answer that is not Paylink’s is never taken for one', async () => {
    proxy.faults.push({ status: 200, body: '<h1>Welcome</h1>' }, { status: 200, body: '7' })
    const quick = connect({ maxRetries: 0 })
    for (const _ of [1, 2])
      expect(await failureOf(quick.invoices.list().page())).toBeInstanceOf(UnexpectedAnswer)
    // Nothing at all is what a removal answers, and no invoice; a list is known by what it holds.
    proxy.faults.push({ status: 200 }, { status: 200, body: '{}' }, { status: 200, body: '{"data":[{}]}' })
    for (const ask of [
      () => quick.invoices.create(ORDER),
      () => quick.invoices.list().page(),
      () => quick.invoices.list().take(1),
    ])
      expect(await failureOf(ask())).toBeInstanceOf(UnexpectedAnswer)
    // A redirect would carry the key elsewhere.
    proxy.faults.push({ status: 302, headers: { location: 'https://elsewhere.example/' } })
    expect(await failureOf(quick.invoices.list().page())).toMatchObject({ status: 302 })
  })

  test('a call that is wrong is a TypeError, before anything is sent', async () => {
    for (const apiKey of ['', 'undefined', 'pk_test_x', 'sk_test_', 'sk_test_a b', 'sk_test_é']) {
      expect(() => connect({ apiKey })).toThrow(TypeError)
    }
    for (const baseUrl of [
      '',
      'pay.example.com',
      'ftp://x',
      'https://x/?a=1',
      'https://',
      'https://me:pw@x',
    ]) {
      expect(() => connect({ baseUrl })).toThrow(TypeError)
    }
    for (const maxRetries of [-1, 1.5, 11, Number.NaN])
      expect(() => connect({ maxRetries })).toThrow(TypeError)
    // A timer takes no more than 2³¹ − 1 milliseconds, and would fire at once.
    for (const timeoutMs of [Number.NaN, 0, 0.5, 2 ** 31, Number.POSITIVE_INFINITY])
      expect(() => connect({ timeoutMs })).toThrow(TypeError)
    for (const idempotencyKey of ['', 'order ✓', 'a\nb', 'x'.repeat(256)])
      expect(await failureOf(client.invoices.create(ORDER, { idempotencyKey }))).toBeInstanceOf(TypeError)
    for (const id of ['', '..', '../payouts', 'inv_1/cancel', 'inv_1?x', undefined as unknown as string]) {
      expect(await failureOf(client.invoices.get(id))).toBeInstanceOf(TypeError)
    }
    expect(proxy.seen).toEqual([])
  })
})
