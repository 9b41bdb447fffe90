import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { THROTTLED_AT } from '../../src/core/endpoint/throttle.ts'
import { startDeliveryWorker } from '../../src/delivery/worker.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { until } from '../support/until.ts'
import { emitEvent, silentLog, testKeyring } from '../support/webhook-fixtures.ts'
import {
  answerChallenges,
  type ReceivedEvent,
  startReceiver,
  verifiedBy,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts'

let api: TestApi
let merchant: TestMerchant
let receiver: WebhookReceiver
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  // Signatures carry the host's own time, which must agree with the database's.
  api = await createTestApi({ clock: () => new Date() })
})
afterAll(() => api.drop())
beforeEach(async () => {
  merchant = await api.addMerchant()
  receiver = await startReceiver({ respond: answerChallenges })
})
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()))
  await receiver.close()
})

const call = (method: string, path: string, body?: unknown) =>
  api.call(method, path, { key: merchant.testKey, ...(body === undefined ? {} : { body }) })

const tenant = () => ({ merchantId: merchant.id, livemode: false })

async function createEndpoint(subscribedEvents = ['*']) {
  const answer = await call('POST', '/webhook-endpoints', {
    url: receiver.url,
    subscribed_events: subscribedEvents,
  })
  expect(answer.status).toBe(201)
  return answer.body as { id: string; secret: string }
}

async function createVerified(subscribedEvents = ['*']) {
  const endpoint = await createEndpoint(subscribedEvents)
  expect((await call('POST', `/webhook-endpoints/${endpoint.id}/verify`)).status).toBe(200)
  return endpoint
}

async function startWorker() {
  const worker = await startDeliveryWorker({
    pool: api.database.pools.delivery,
    clock: () => new Date(),
    log: silentLog,
    keyring: testKeyring,
    allowPrivateTest: true,
  })
  stops.push(() => worker.stop())
  return worker
}

const dataEvents = () =>
  receiver.events.filter(
    (event) => JSON.parse(event.body.toString()).event_type !== 'webhook.endpoint_verification',
  )

test('an endpoint is created pending, with its secret shown once and never again', async () => {
  const created = await call('POST', '/webhook-endpoints', {
    url: receiver.url,
    subscribed_events: ['invoice.paid', 'payout.failed'],
  })
  expect(created.status).toBe(201)
  const { secret, ...shown } = created.body
  expect(secret).toMatch(/^whsec_[0-9A-Za-z]{40}$/)
  expect(shown).toEqual({
    id: expect.stringMatching(/^we_/),
    object: 'webhook_endpoint',
    format: 'paylink',
    url: receiver.url,
    subscribed_events: ['invoice.paid', 'payout.failed'],
    status: 'pending_verification',
    status_reason: null,
    requested_by: null,
    livemode: false,
    verified_at: null,
    failing_since: null,
    secret_rotation: { active: false, ends_at: null },
    created_at: expect.any(String),
  })
  expect((await call('GET', `/webhook-endpoints/${shown.id}`)).body).toEqual(shown)
  const list = await call('GET', '/webhook-endpoints')
  expect(list.body).toEqual({
    object: 'list',
    url: '/api/v1/webhook-endpoints',
    has_more: false,
    data: [shown],
  })
  const dump = await api.database.owner.query(
    'select encode(secret_sealed, $1) as sealed from endpoint_secret',
    ['escape'],
  )
  expect(JSON.stringify(dump.rows)).not.toContain(secret)
  expect(api.logged.join('\n')).not.toContain(secret)
})

test('a repeated create with one Idempotency-Key makes one endpoint and shows the same secret', async () => {
  const body = { url: receiver.url, subscribed_events: ['*'] }
  const options = { key: merchant.testKey, body, headers: { 'idempotency-key': 'one' } }
  const first = await api.call('POST', '/webhook-endpoints', options)
  const second = await api.call('POST', '/webhook-endpoints', options)
  expect(second.text).toBe(first.text)
  expect(second.headers.get('idempotent-replayed')).toBe('true')
  expect((await call('GET', '/webhook-endpoints')).body.data).toHaveLength(1)
})

test('the twenty-first endpoint of a mode is refused, however many ask at once', async () => {
  const answers = await Promise.all(
    Array.from({ length: 25 }, () =>
      call('POST', '/webhook-endpoints', { url: receiver.url, subscribed_events: ['*'] }),
    ),
  )
  expect(answers.filter((answer) => answer.status === 201)).toHaveLength(20)
  const refused = answers.filter((answer) => answer.status !== 201)
  for (const answer of refused)
    expect([answer.status, answer.body.error.code]).toEqual([409, 'endpoint_limit_reached'])
  const [first] = answers.filter((answer) => answer.status === 201)
  await call('DELETE', `/webhook-endpoints/${first?.body.id}`)
  await createEndpoint()
})

test('what cannot be subscribed to is refused by name, and nothing is written', async () => {
  const refusals = [
    [[], 'parameter_invalid', 'at least one'],
    [['invoice.payed'], 'event_type_unknown', 'invoice.payed'],
    [['invoice.refunded'], 'event_type_not_selectable', 'invoice.refunded'],
    [['webhook.endpoint_verification'], 'event_type_not_selectable', 'webhook.endpoint_verification'],
    [['*', 'invoice.paid'], 'parameter_invalid', '*'],
    [[''], 'event_type_unknown', '""'],
    [[7], 'parameter_invalid', ''],
    ['*', 'parameter_invalid', ''],
  ] as const
  for (const [subscribedEvents, code, name] of refusals) {
    const answer = await call('POST', '/webhook-endpoints', {
      url: receiver.url,
      subscribed_events: subscribedEvents,
    })
    expect([answer.status, answer.body.error.code]).toEqual([400, code])
    expect(answer.body.error.param).toContain('subscribed_events')
    expect(answer.body.error.message).toContain(name)
  }
  expect((await call('GET', '/webhook-endpoints')).body.data).toEqual([])
})

test('verifying sends a signed challenge, stores no event, and enables the endpoint', async () => {
  const endpoint = await createEndpoint()
  const answer = await call('POST', `/webhook-endpoints/${endpoint.id}/verify`)
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({ status: 'enabled', verified_at: expect.any(String) })
  const [event] = receiver.events
  if (event === undefined) throw new Error('nothing came')
  expect(verifiedBy(event, [endpoint.secret])).toBe(endpoint.secret)
  expect(JSON.parse(event.body.toString())).toMatchObject({
    event_type: 'webhook.endpoint_verification',
    resource_id: endpoint.id,
    livemode: false,
    data: { id: endpoint.id, status: 'pending_verification', challenge: expect.any(String) },
  })
  expect((await call('GET', '/events')).body.data).toEqual([])
})

const padded = (event: ReceivedEvent, length: number): string => {
  const answer = JSON.stringify({ challenge: JSON.parse(event.body.toString()).data.challenge })
  return answer + ' '.repeat(length - answer.length)
}
const challengeOf = (event: ReceivedEvent): string => JSON.parse(event.body.toString()).data.challenge
const send =
  (text: (event: ReceivedEvent) => string | Buffer, headers = {}, status = 200): WebhookReceiver['respond'] =>
  (event, response) =>
    void response.writeHead(status, headers).end(text(event))

const ACCEPTED: { [answer: string]: WebhookReceiver['respond'] } = {
  'of 1,023 bytes': send((event) => padded(event, 1_023)),
  'with 201': send((event) => padded(event, 100), {}, 201),
  'with blanks and no content type': send((event) => `\n{ "challenge" :\t"${challengeOf(event)}" }\n`),
  'that names the identity encoding': send((event) => padded(event, 100), { 'content-encoding': 'identity' }),
}
const REJECTED: { [answer: string]: [WebhookReceiver['respond'], reason: string] } = {
  'of 1,024 bytes': [send((event) => padded(event, 1_024)), 'answer_too_large'],
  'with a wrong challenge': [send(() => '{"challenge":"wrong"}'), 'challenge_mismatch'],
  'with an empty challenge': [send(() => '{"challenge":""}'), 'challenge_mismatch'],
  'with a challenge that is no text': [send(() => '{"challenge":1}'), 'challenge_mismatch'],
  'with the challenge and a field more': [
    send((event) => JSON.stringify({ challenge: challengeOf(event), ok: true })),
    'answer_wrong_fields',
  ],
  'with the field twice': [
    send((event) => `{"challenge":"x","challenge":"${challengeOf(event)}"}`),
    'answer_wrong_fields',
  ],
  'with another field': [
    send((event) => JSON.stringify({ token: challengeOf(event) })),
    'answer_wrong_fields',
  ],
  'with the bare text': [send(challengeOf), 'answer_not_json'],
  'with an array': [send((event) => JSON.stringify([challengeOf(event)])), 'answer_not_json'],
  'with nothing': [send(() => ''), 'answer_not_json'],
  'with bytes that are no UTF-8': [send(() => Buffer.from([0x7b, 0xff, 0x7d])), 'answer_not_json'],
  'that says it is gzip': [
    send((event) => padded(event, 100), { 'content-encoding': 'gzip' }),
    'answer_encoded',
  ],
  'with 404': [send((event) => padded(event, 100), {}, 404), 'http_status'],
  'with a redirect': [send(() => '', { location: 'https://example.com/' }, 307), 'redirect'],
  'that breaks off': [(_event, response) => void response.destroy(), 'reset'],
}

test.each(Object.keys(ACCEPTED))('an answer %s verifies the endpoint', async (name) => {
  receiver.respond = ACCEPTED[name] ?? answerChallenges
  await createVerified()
})

test.each(Object.keys(REJECTED))(
  'an answer %s leaves the endpoint unverified, and it may be tried again',
  async (name) => {
    const [respond, reason] = REJECTED[name] ?? [answerChallenges, '']
    receiver.respond = respond
    const endpoint = await createEndpoint()
    const answer = await call('POST', `/webhook-endpoints/${endpoint.id}/verify`)
    expect([answer.status, answer.body.error.code, answer.body.error.reason]).toEqual([
      422,
      'endpoint_verification_failed',
      reason,
    ])
    expect((await call('GET', `/webhook-endpoints/${endpoint.id}`)).body.status).toBe('pending_verification')
    receiver.respond = answerChallenges
    expect((await call('POST', `/webhook-endpoints/${endpoint.id}/verify`)).status).toBe(200)
  },
)

test('an answer that comes too late leaves the endpoint unverified', async () => {
  receiver.respond = (event, response) => {
    response.writeHead(200)
    response.write(`{"challenge":"${challengeOf(event)}"`)
  }
  const endpoint = await createEndpoint()
  const startedAt = performance.now()
  const answer = await call('POST', `/webhook-endpoints/${endpoint.id}/verify`)
  expect(answer.body.error.reason).toBe('timeout')
  expect(performance.now() - startedAt).toBeLessThan(15_000)
})

test('during a rotation’s overlap both secrets sign; a second overlap is refused; zero ends the old one', async () => {
  const endpoint = await createVerified()
  await startWorker()
  const rotate = (graceSeconds?: number) =>
    call(
      'POST',
      `/webhook-endpoints/${endpoint.id}/rotate-secret`,
      graceSeconds === undefined ? {} : { grace_seconds: graceSeconds },
    )
  const first = await rotate()
  expect(first.status).toBe(200)
  expect(Date.parse(first.body.previous_secret_valid_until) - Date.now()).toBeGreaterThan(86_390_000)
  const shown = (await call('GET', `/webhook-endpoints/${endpoint.id}`)).body
  expect(shown.secret_rotation).toEqual({ active: true, ends_at: first.body.previous_secret_valid_until })

  const nextEvent = async () => {
    const before = dataEvents().length
    await emitEvent(api.database, tenant())
    await until(() => dataEvents().length > before, { what: 'the event arrives' })
    const event = dataEvents().at(-1)
    if (event === undefined) throw new Error('nothing came')
    return event
  }
  const overlapping = await nextEvent()
  expect(String(overlapping.headers['paylink-signature']).match(/v1=/g)).toHaveLength(2)
  expect(verifiedBy(overlapping, [endpoint.secret])).not.toBeNull()
  expect(verifiedBy(overlapping, [first.body.secret])).not.toBeNull()

  const second = await rotate(60)
  expect([second.status, second.body.error.code]).toEqual([409, 'rotation_in_progress'])
  const third = await rotate(0)
  expect(third.status).toBe(200)
  const after = await nextEvent()
  expect(String(after.headers['paylink-signature']).match(/v1=/g)).toHaveLength(1)
  expect(verifiedBy(after, [third.body.secret])).not.toBeNull()
  expect(verifiedBy(after, [endpoint.secret, first.body.secret])).toBeNull()
  const secrets = await api.database.owner.query('select from endpoint_secret where endpoint_id = $1', [
    endpoint.id,
  ])
  expect(secrets.rowCount).toBe(1)
  for (const graceSeconds of [-1, 86_401, 1.5, '60', null]) {
    expect(
      (await call('POST', `/webhook-endpoints/${endpoint.id}/rotate-secret`, { grace_seconds: graceSeconds }))
        .status,
    ).toBe(400)
  }
})

test('of many rotations at once one succeeds and the others get a conflict', async () => {
  const endpoint = await createEndpoint()
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => call('POST', `/webhook-endpoints/${endpoint.id}/rotate-secret`, {})),
  )
  expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
  expect(answers.filter((answer) => answer.body.error?.code === 'rotation_in_progress')).toHaveLength(9)
})

test('under load, once a rotation with no grace has answered, nothing signed with the old secret is sent', async () => {
  const endpoint = await createVerified()
  await startWorker()
  let answeredAt = Number.POSITIVE_INFINITY
  let emitting = true
  const emitter = (async () => {
    while (emitting) await emitEvent(api.database, tenant())
  })()
  await until(() => dataEvents().length > 20, { what: 'events flow' })
  const rotated = await call('POST', `/webhook-endpoints/${endpoint.id}/rotate-secret`, { grace_seconds: 0 })
  answeredAt = Date.now()
  const count = dataEvents().length
  await until(() => dataEvents().length > count + 20, { what: 'events flow on' })
  emitting = false
  await emitter
  for (const event of dataEvents()) {
    const allowed =
      event.receivedAtMs > answeredAt ? [rotated.body.secret] : [rotated.body.secret, endpoint.secret]
    expect(verifiedBy(event, allowed)).not.toBeNull()
  }
})

test('a disabled endpoint gets nothing, its events await recovery, and verifying enables it again', async () => {
  const endpoint = await createVerified()
  const waiting = await emitEvent(api.database, tenant())
  const disabled = await call('POST', `/webhook-endpoints/${endpoint.id}/disable`)
  expect([disabled.status, disabled.body.status, disabled.body.status_reason]).toEqual([
    200,
    'disabled',
    'merchant',
  ])
  const later = await emitEvent(api.database, tenant())
  await startWorker()
  const awaiting = await call('GET', '/events?delivery=awaiting')
  expect(awaiting.body.data.map((event: { id: string }) => event.id)).toEqual([later, waiting])
  expect(receiver.events).toHaveLength(1)

  const queued = await call('POST', `/events/${waiting}/queue`, { endpoint_id: endpoint.id })
  expect([queued.status, queued.body.error.code]).toEqual([409, 'endpoint_not_eligible'])
  const enabled = await call('POST', `/webhook-endpoints/${endpoint.id}/verify`)
  expect(enabled.body).toMatchObject({ status: 'enabled', status_reason: null })
  // Enabling sends nothing old by itself.
  const fresh = await emitEvent(api.database, tenant())
  await until(() => dataEvents().length > 0, { what: 'the new event arrives' })
  expect(dataEvents().map((event) => event.headers['paylink-event-id'])).toEqual([fresh])

  const recovered = await call('POST', '/events/recover', {
    endpoint_id: endpoint.id,
    since: '2020-01-01T00:00:00Z',
  })
  expect(recovered.body).toMatchObject({
    object: 'event_recovery',
    queued: 2,
    limit: 10_000,
    has_more: false,
  })
  await until(() => dataEvents().length === 3, { what: 'the old events arrive' })
  expect(new Set(dataEvents().map((event) => event.headers['paylink-event-id']))).toEqual(
    new Set([fresh, waiting, later]),
  )
  expect((await call('GET', '/events?delivery=awaiting')).body.data).toEqual([])
})

test('an edited endpoint keeps its secret, and gets nothing at a new URL before that is verified', async () => {
  const endpoint = await createVerified(['invoice.paid'])
  const path = `/webhook-endpoints/${endpoint.id}`
  const events = await call('PATCH', path, { subscribed_events: ['invoice.expired'] })
  expect(events.body).toMatchObject({ status: 'enabled', subscribed_events: ['invoice.expired'] })
  expect((await call('PATCH', path, { url: receiver.url })).body.status).toBe('enabled')
  for (const [body, code] of [
    [{ url: 'ftp://shop.example/' }, 'endpoint_url_refused'],
    [{ subscribed_events: ['invoice.gone'] }, 'event_type_unknown'],
    [{ subscribed_events: [] }, 'parameter_invalid'],
    [{ format: 'btcpay' }, 'parameter_unknown'],
  ] as const) {
    expect((await call('PATCH', path, body)).body.error.code).toBe(code)
  }

  const waiting = await emitEvent(api.database, tenant(), 'invoice.expired')
  const elsewhere = await startReceiver({ respond: answerChallenges })
  stops.push(() => elsewhere.close())
  const moved = await call('PATCH', path, { url: elsewhere.url })
  expect(moved.body).toMatchObject({ url: elsewhere.url, status: 'pending_verification', verified_at: null })
  const later = await emitEvent(api.database, tenant(), 'invoice.expired')
  await startWorker()
  const awaiting = await call('GET', '/events?delivery=awaiting')
  expect(awaiting.body.data.map((event: { id: string }) => event.id)).toEqual([later, waiting])
  expect([dataEvents(), elsewhere.events]).toEqual([[], []])

  expect((await call('POST', `${path}/verify`)).body.status).toBe('enabled')
  const fresh = await emitEvent(api.database, tenant(), 'invoice.expired')
  await until(() => elsewhere.events.length === 2, { what: 'the challenge and the new event arrive' })
  const arrived = elsewhere.events[1]
  if (arrived === undefined) throw new Error('it has just arrived')
  expect(arrived.headers['paylink-event-id']).toBe(fresh)
  expect(verifiedBy(arrived, [endpoint.secret])).not.toBeNull()
  expect(dataEvents()).toEqual([])
  await until(async () => (await call('GET', `${path}/attempts`)).body.data.length === 1, {
    what: 'the attempt',
  })
  expect((await call('GET', `${path}/attempts`)).body.data).toMatchObject([{ event_id: fresh, code: 'ok' }])
  expect((await call('GET', `${path}/attempts?outcome=failed`)).body.data).toEqual([])
})

test('a removed endpoint is unknown afterwards, its secrets are gone and its events await recovery', async () => {
  const endpoint = await createVerified()
  const waiting = await emitEvent(api.database, tenant())
  const removed = await call('DELETE', `/webhook-endpoints/${endpoint.id}`)
  expect([removed.status, removed.text]).toEqual([204, ''])
  const routes: [string, string, unknown?][] = [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/verify'],
    ['POST', '/rotate-secret', {}],
    ['POST', '/disable'],
  ]
  for (const [method, path, body] of routes) {
    const answer = await call(method, `/webhook-endpoints/${endpoint.id}${path}`, body)
    expect([method, path, answer.status]).toEqual([method, path, 404])
  }
  const since = '2020-01-01T00:00:00Z'
  const recovered = await call('POST', '/events/recover', { endpoint_id: endpoint.id, since })
  expect([recovered.status, recovered.body.error.code]).toEqual([404, 'not_found'])
  const secrets = await api.database.owner.query('select from endpoint_secret where endpoint_id = $1', [
    endpoint.id,
  ])
  expect(secrets.rowCount).toBe(0)
  const awaiting = await call('GET', '/events?delivery=awaiting')
  expect(awaiting.body.data.map((event: { id: string }) => event.id)).toEqual([waiting])
})

test('an event can be read, listed, and queued past its subscription at will, and its attempts seen', async () => {
  const endpoint = await createVerified(['invoice.paid'])
  await startWorker()
  const first = await emitEvent(api.database, tenant(), 'invoice.expired')
  const second = await emitEvent(api.database, tenant(), 'invoice.paid')
  await until(() => dataEvents().length === 1, { what: 'the subscribed event arrives' })
  expect(dataEvents()[0]?.headers['paylink-event-id']).toBe(second)

  const got = await call('GET', `/events/${first}`)
  expect(got.body).toMatchObject({
    id: first,
    schema_version: 1,
    event_type: 'invoice.expired',
    merchant_id: merchant.id,
  })
  const ids = async (query: string) =>
    (await call('GET', `/events${query}`)).body.data.map((event: { id: string }) => event.id)
  expect(await ids('')).toEqual([second, first])
  expect(await ids('?event_type=invoice.expired')).toEqual([first])
  expect(await ids(`?resource_id=${got.body.resource_id}`)).toEqual([first])
  // Nobody subscribed to it, and so nobody missed it.
  expect(await ids('?delivery=awaiting')).toEqual([])
  expect(await ids(`?limit=1&starting_after=${second}`)).toEqual([first])
  expect(await ids(`?limit=1&ending_before=${first}`)).toEqual([second])

  for (const expected of [2, 3]) {
    const queued = await call('POST', `/events/${first}/queue`, { endpoint_id: endpoint.id })
    expect(queued.body).toMatchObject({ object: 'delivery', event_id: first, endpoint_id: endpoint.id })
    await until(() => dataEvents().length === expected, { what: 'the queued event arrives' })
  }
  await until(async () => (await call('GET', `/events/${first}/attempts`)).body.data.length === 2, {
    what: 'both attempts',
  })
  const attempts = await call('GET', `/events/${first}/attempts`)
  for (const attempt of attempts.body.data) {
    expect(attempt).toEqual({
      id: expect.stringMatching(/^att_/),
      object: 'attempt',
      event_id: first,
      endpoint_id: endpoint.id,
      event_type: 'invoice.expired',
      number: 1,
      http_status: 200,
      code: 'ok',
      duration_ms: expect.any(Number),
      created_at: expect.any(String),
    })
  }
  expect((await call('GET', '/events?delivery=delivered')).status).toBe(400)
})

test('a recovery respects subscriptions and the time it was asked for', async () => {
  await emitEvent(api.database, tenant(), 'invoice.expired')
  const paid = await emitEvent(api.database, tenant(), 'invoice.paid')
  const endpoint = await createVerified(['invoice.paid'])
  const since = (await call('GET', `/events/${paid}`)).body.created_at
  const early = await call('POST', '/events/recover', {
    endpoint_id: endpoint.id,
    since: new Date(Date.parse(since) + 1).toISOString(),
  })
  expect(early.body.queued).toBe(0)
  const recovered = await call('POST', '/events/recover', { endpoint_id: endpoint.id, since })
  expect(recovered.body).toMatchObject({ queued: 1, has_more: false })
  expect((await call('GET', '/events?delivery=awaiting')).body.data).toHaveLength(1)
})

test('a live key reads its own mode and writes nothing', async () => {
  const endpoint = await createEndpoint()
  const eventId = await emitEvent(api.database, tenant())
  const live = (method: string, path: string, body?: unknown) =>
    api.call(method, path, { key: merchant.liveKey, ...(body === undefined ? {} : { body }) })
  expect((await live('GET', '/webhook-endpoints')).body.data).toEqual([])
  expect((await live('GET', `/webhook-endpoints/${endpoint.id}`)).status).toBe(404)
  expect((await live('GET', `/events/${eventId}`)).status).toBe(404)
  const writes: [string, string, unknown?][] = [
    ['POST', '/webhook-endpoints', { url: 'https://shop.example/hooks', subscribed_events: ['*'] }],
    ['PATCH', `/webhook-endpoints/${endpoint.id}`, { url: 'https://shop.example/hooks' }],
    ['POST', `/webhook-endpoints/${endpoint.id}/verify`],
    ['POST', `/webhook-endpoints/${endpoint.id}/rotate-secret`, {}],
    ['POST', `/webhook-endpoints/${endpoint.id}/disable`],
    ['DELETE', `/webhook-endpoints/${endpoint.id}`],
    ['POST', `/events/${eventId}/queue`, { endpoint_id: endpoint.id }],
    ['POST', '/events/recover', { endpoint_id: endpoint.id, since: '2020-01-01T00:00:00Z' }],
  ]
  for (const [method, path, body] of writes) {
    const answer = await live(method, path, body)
    expect([path, answer.status, answer.body.error.code]).toEqual([path, 403, 'dashboard_session_required'])
  }
})

test('where private receivers are not allowed, only https on a host name is taken', async () => {
  const strict = await createTestApi({ webhookAllowPrivate: false })
  stops.push(() => strict.drop())
  const owner = await strict.addMerchant()
  for (const [url, status] of [
    ['https://shop.example/hooks', 201],
    ['http://shop.example/hooks', 400],
    ['https://127.0.0.1/hooks', 400],
    ['https://0x7f.1/', 400],
    ['https://user:word@shop.example/', 400],
    ['https://shop.example:22/', 400],
  ] as const) {
    const body = { url, subscribed_events: ['*'] }
    const answer = await strict.call('POST', '/webhook-endpoints', { key: owner.testKey, body })
    expect([url, answer.status]).toEqual([url, status])
    if (status === 400)
      expect([answer.body.error.code, answer.body.error.param]).toEqual(['endpoint_url_refused', 'url'])
  }
})

test('an endpoint that is throttled says since when it fails, until it answers again', async () => {
  const { id } = await createVerified()
  const read = async () => (await call('GET', `/webhook-endpoints/${id}`)).body
  receiver.respond = (event, response, request) => {
    if (JSON.parse(event.body.toString()).event_type !== 'invoice.created')
      answerChallenges(event, response, request)
    else response.writeHead(503).end()
  }
  for (let event = 0; event < THROTTLED_AT; event++) await emitEvent(api.database, tenant())
  expect(await read()).toMatchObject({ failing_since: null })
  await startWorker()
  await until(async () => (await read()).failing_since !== null, { what: 'it is throttled' })
  const [listed] = (await call('GET', '/webhook-endpoints')).body.data
  expect(listed).toMatchObject({ id, status: 'enabled', failing_since: expect.stringMatching(/Z$/) })
  receiver.respond = answerChallenges
  const verified = await call('POST', `/webhook-endpoints/${id}/verify`)
  expect(verified.body).toMatchObject({ id, failing_since: null })
})
