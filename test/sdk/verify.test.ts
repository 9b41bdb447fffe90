import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { describe, expect, expectTypeOf, test } from 'vitest'
import type {
  InvoiceEvent,
  InvoiceEventType,
  InvoiceSnapshot,
  PayoutEventType,
  WebhookEvent,
} from '../../packages/sdk/src/webhooks/events.ts'
import {
  type RejectionCode,
  UnsupportedSchemaVersion,
  WebhookRejected,
} from '../../packages/sdk/src/webhooks/rejected.ts'
import { verify } from '../../packages/sdk/src/webhooks/verify.ts'
import { DEPOSIT_EVENT_TYPES } from '../../src/core/deposit/deposit.ts'
import { PAYOUT_EVENT_TYPES, VERIFICATION_EVENT_TYPE } from '../../src/core/endpoint/subscriptions.ts'
import { EVENT_SCHEMA_VERSION, eventBody } from '../../src/core/event/envelope.ts'
import {
  INVOICE_EVENT_TYPES,
  type InvoiceEventType as ServiceEventType,
} from '../../src/core/invoice/types.ts'
import { signatureHeader } from '../../src/delivery/send.ts'

const SECRET = 'whsec_the-current-one'
const OLD_SECRET = 'whsec_the-one-before'
const NOW = new Date('2026-11-21T12:00:00.000Z')
const T = NOW.getTime() / 1_000
const EVENT_ID = 'evt_01jd0w5f3e8gqv7n5k2m9x4c6t'

function bodyOf(
  type = 'invoice.paid',
  data: object = { id: 'inv_1', status: 'paid', note: 'Größe 1 €' },
): string {
  const ids = { id: EVENT_ID, merchantId: 'mer_1', resourceId: 'inv_1' }
  return eventBody({ ...ids, type, livemode: false, createdAtMs: 0, sequence: 4, requestId: null, data })
}

const BODY = bodyOf()
const digestOf = (secret: string, time: number | string, body: string | Uint8Array) =>
  createHmac('sha256', secret).update(`${time}.`).update(body).digest('hex')

function headersOf(body: string, signature = signatureHeader([SECRET], T, Buffer.from(body))) {
  return {
    'content-type': 'application/json',
    'paylink-signature': signature,
    'paylink-event-id': EVENT_ID,
    'paylink-version': String(EVENT_SCHEMA_VERSION),
  }
}

const check = (
  body: string | Uint8Array,
  headers: Parameters<typeof verify>[1],
  secrets: string | string[] = SECRET,
) => verify(body, headers, secrets, { now: NOW })

/** The code with which a request is rejected; fails where it is accepted. */
function rejectionOf(work: () => unknown): RejectionCode {
  try {
    work()
  } catch (error) {
    if (error instanceof WebhookRejected) return error.code
    throw error
  }
  throw new Error('it was accepted')
}

const rejectedWithSignature = (signature: string) =>
  rejectionOf(() => check(BODY, headersOf(BODY, signature)))

describe('an event that is signed, fresh and whole', () => {
  test('is returned as it was sent, with its kind', () => {
    expect(check(BODY, headersOf(BODY))).toEqual({ ...JSON.parse(BODY), kind: 'invoice' })
  })

  test('is taken as text or bytes, from Headers, node headers, distinct headers and names in any case', () => {
    const plain = headersOf(BODY)
    const shouted = Object.fromEntries(
      Object.entries(plain).map(([name, value]) => [name.toUpperCase(), value]),
    )
    const distinct = Object.fromEntries(Object.entries(plain).map(([name, value]) => [name, [value]]))
    const incoming: IncomingHttpHeaders = { ...plain, 'x-other': ['a', 'b'] }
    for (const headers of [
      plain,
      shouted,
      distinct,
      incoming,
      new Headers(plain),
      new Map(Object.entries(plain)),
    ]) {
      for (const body of [BODY, Buffer.from(BODY), new Uint8Array(Buffer.from(BODY))]) {
        expect(check(body, headers).id).toBe(EVENT_ID)
      }
    }
  })

  test('may be up to 300 seconds off either way, and no more', () => {
    for (const [offset, accepted] of [
      [-301, false],
      [-300, true],
      [300, true],
      [301, false],
    ] as const) {
      const headers = headersOf(BODY, signatureHeader([SECRET], T + offset, Buffer.from(BODY)))
      if (accepted) expect(check(BODY, headers).id).toBe(EVENT_ID)
      else expect(rejectionOf(() => check(BODY, headers))).toBe('timestamp_out_of_tolerance')
    }
    const tight = { now: NOW, toleranceSeconds: 10 }
    const older = headersOf(BODY, signatureHeader([SECRET], T - 11, Buffer.from(BODY)))
    expect(rejectionOf(() => verify(BODY, older, SECRET, tight))).toBe('timestamp_out_of_tolerance')
  })

  test('is measured by this machine’s clock where none is given', () => {
    const fresh = signatureHeader([SECRET], Math.floor(Date.now() / 1_000), Buffer.from(BODY))
    expect(verify(BODY, headersOf(BODY, fresh), SECRET).id).toBe(EVENT_ID)
    expect(rejectionOf(() => verify(BODY, headersOf(BODY), SECRET))).toBe('timestamp_out_of_tolerance')
  })

  test('verifies throughout a rotation, whichever of the two secrets the receiver has', () => {
    const both = headersOf(BODY, signatureHeader([SECRET, OLD_SECRET], T, Buffer.from(BODY)))
    for (const secrets of [
      SECRET,
      OLD_SECRET,
      [SECRET, OLD_SECRET],
      [OLD_SECRET, SECRET],
      ['whsec_x', SECRET],
    ]) {
      expect(check(BODY, both, secrets).id).toBe(EVENT_ID)
    }
    const oldOnly = headersOf(BODY, signatureHeader([OLD_SECRET], T, Buffer.from(BODY)))
    expect(check(BODY, oldOnly, [SECRET, OLD_SECRET]).id).toBe(EVENT_ID)
    expect(rejectionOf(() => check(BODY, oldOnly, SECRET))).toBe('signature_mismatch')
    expect(rejectionOf(() => check(BODY, both, 'whsec_another'))).toBe('signature_mismatch')
  })

  test('may carry signatures of schemes that are not known here, beside one that is', () => {
    const header = `t=${T},v2=abc,v1=${digestOf(SECRET, T, BODY)}`
    expect(check(BODY, headersOf(BODY, header)).id).toBe(EVENT_ID)
    expect(rejectedWithSignature(`t=${T},v2=${digestOf(SECRET, T, BODY)}`)).toBe('header_malformed')
  })
})

describe('a request that is not to be believed', () => {
  test('JSON that was parsed and written again is rejected, though it says the same', () => {
    const spaced = JSON.stringify(JSON.parse(BODY), null, 1)
    const reordered = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(BODY)).reverse()))
    const escaped = BODY.replace('ö', '\\u00f6')
    for (const body of [spaced, reordered, escaped, `${BODY}\n`]) {
      expect(JSON.parse(body)).toEqual(JSON.parse(BODY))
      expect(rejectionOf(() => check(body, headersOf(BODY)))).toBe('signature_mismatch')
    }
  })

  test('a body or a time that was changed after signing is rejected', () => {
    const digest = digestOf(SECRET, T, BODY)
    expect(rejectionOf(() => check(BODY.replace('paid', 'Paid'), headersOf(BODY)))).toBe('signature_mismatch')
    expect(rejectedWithSignature(`t=${T + 1},v1=${digest}`)).toBe('signature_mismatch')
    const flipped = `${digest.startsWith('0') ? '1' : '0'}${digest.slice(1)}`
    expect(rejectedWithSignature(`t=${T},v1=${flipped}`)).toBe('signature_mismatch')
  })

  test('each of the three headers is needed, once', () => {
    const whole = headersOf(BODY)
    for (const name of ['paylink-signature', 'paylink-event-id', 'paylink-version'] as const) {
      const { [name]: value, ...without } = whole
      expect(rejectionOf(() => check(BODY, without))).toBe('header_missing')
      expect(rejectionOf(() => check(BODY, { ...whole, [name]: undefined }))).toBe('header_missing')
      expect(rejectionOf(() => check(BODY, { ...whole, [name]: [value, value] }))).toBe('header_repeated')
      expect(rejectionOf(() => check(BODY, { ...whole, [name.toUpperCase()]: value }))).toBe(
        'header_repeated',
      )
      // Headers and node join what is repeated.
      const joined = new Headers(whole)
      joined.append(name, value)
      expect(['header_malformed', 'event_id_mismatch', 'version_mismatch']).toContain(
        rejectionOf(() => check(BODY, joined)),
      )
    }
  })

  test('a signature header that says anything unclear is rejected before anything is compared', () => {
    const v1 = `v1=${digestOf(SECRET, T, BODY)}`
    const unclear = [
      '',
      't',
      v1,
      `t=${T}`,
      `t=${T},t=${T},${v1}`,
      `t=${T},${v1},t=${T + 1}`,
      `t=,${v1}`,
      `t=${T}.0,${v1}`,
      `t=+${T},${v1}`,
      `t=-${T},${v1}`,
      `t=0${T},${v1}`,
      `t=0x6,${v1}`,
      `t=1e9,${v1}`,
      `t=${T}${'0'.repeat(15)},${v1}`,
      `t= ${T},${v1}`,
      `t=${T}, ${v1}`,
      `t=${T},${v1},`,
      `t=${T};${v1}`,
      `T=${T},${v1}`,
      `t=${T},v1=`,
      `t=${T},v1=${'0'.repeat(63)}`,
      `t=${T},${v1}00`,
      `t=${T},v1=${'g'.repeat(64)}`,
      `t=${T},${v1},v1=short`,
      `t=${T},${v1}${`,v1=${'0'.repeat(64)}`.repeat(40)}`,
    ]
    for (const header of unclear) {
      expect({ header, code: rejectedWithSignature(header) }).toEqual({ header, code: 'header_malformed' })
    }
  })

  test('headers that disagree with the signed body are rejected', () => {
    const other = { ...headersOf(BODY), 'paylink-event-id': 'evt_01jd0w5f3e8gqv7n5k2m9x4c6v' }
    expect(rejectionOf(() => check(BODY, other))).toBe('event_id_mismatch')
    for (const version of ['2', '01', '1.0', ' 1', '']) {
      const headers = { ...headersOf(BODY), 'paylink-version': version }
      expect(rejectionOf(() => check(BODY, headers))).toBe('version_mismatch')
    }
  })

  test('a signed body that is no event is rejected', () => {
    const { id, schema_version, event_type, data, ...rest } = JSON.parse(BODY)
    const odd = [
      '',
      'null',
      '[]',
      '"text"',
      '{',
      '{}',
      JSON.stringify({ schema_version, event_type, data, ...rest }),
      JSON.stringify({ id, event_type, data, ...rest }),
      JSON.stringify({ id, schema_version: '1', event_type, data }),
      JSON.stringify({ id, schema_version: 1.5, event_type, data }),
      JSON.stringify({ id, schema_version, data }),
      JSON.stringify({ id, schema_version, event_type }),
      JSON.stringify({ id, schema_version, event_type, data: [] }),
    ]
    for (const body of odd) {
      expect({ body, code: rejectionOf(() => check(body, headersOf(body))) }).toEqual({
        body,
        code: 'body_malformed',
      })
    }
    const latin = Buffer.from(BODY, 'latin1')
    const signed = headersOf(BODY, signatureHeader([SECRET], T, latin))
    expect(rejectionOf(() => check(latin, signed))).toBe('body_malformed')
  })
})

describe('an event of a version that is not known', () => {
  const future = BODY.replace('"schema_version":1', '"schema_version":2').replace('"data":', '"payload":')
  const headers = { ...headersOf(future), 'paylink-version': '2' }

  test('is an alert of its own kind and never a guess', () => {
    const unsupported = () => check(future, headers)
    expect(unsupported).toThrow(UnsupportedSchemaVersion)
    expect(unsupported).not.toThrow(WebhookRejected)
    expect(unsupported).toThrow(expect.objectContaining({ schemaVersion: 2, eventId: EVENT_ID }))
  })

  test('raises no alert where anybody but the service could have sent it', () => {
    expect(rejectionOf(() => check(future, headers, 'whsec_another'))).toBe('signature_mismatch')
    expect(rejectionOf(() => check(future, { ...headers, 'paylink-version': '1' }))).toBe('version_mismatch')
  })
})

describe('a call that is wrong', () => {
  test('an empty secret verifies nothing, also not what was signed with it', () => {
    const forged = headersOf(BODY, signatureHeader([''], T, Buffer.from(BODY)))
    for (const secrets of ['', [], [''], [SECRET, ''], 'undefined', 'whsec_', ['whsec_a whsec_b']]) {
      expect(() => check(BODY, forged, secrets)).toThrow(TypeError)
    }
    const byName = headersOf(BODY, signatureHeader(['undefined'], T, Buffer.from(BODY)))
    expect(() => check(BODY, byName, [String(undefined)])).toThrow(TypeError)
    expect(() => verify(BODY, forged, undefined as unknown as string)).toThrow(TypeError)
  })

  test('a tolerance or a clock that is no number lets nothing through', () => {
    const ancient = headersOf(BODY, signatureHeader([SECRET], 1, Buffer.from(BODY)))
    for (const toleranceSeconds of [Number.NaN, -1, Number.POSITIVE_INFINITY, '5 min' as unknown as number]) {
      expect(() => verify(BODY, ancient, SECRET, { now: NOW, toleranceSeconds })).toThrow(TypeError)
    }
    expect(() => verify(BODY, ancient, SECRET, { now: new Date('soon') })).toThrow(TypeError)
  })

  test('a parsed body is refused with a message that asks for the raw one', () => {
    expect(() => check(JSON.parse(BODY), headersOf(BODY))).toThrow(/as it came/)
  })
})

describe('the types', () => {
  test('every type that the service emits is known, and a type to come is passed on as another', () => {
    for (const type of INVOICE_EVENT_TYPES) {
      const body = bodyOf(type)
      expect(check(body, headersOf(body))).toMatchObject({ kind: 'invoice', event_type: type })
    }
    const verification = bodyOf(VERIFICATION_EVENT_TYPE, { id: 'we_1', status: 'pending', challenge: 'abc' })
    const event = check(verification, headersOf(verification))
    expect(event.kind === 'endpoint_verification' && event.data.challenge).toBe('abc')
    for (const type of PAYOUT_EVENT_TYPES) {
      const body = bodyOf(type)
      expect(check(body, headersOf(body))).toMatchObject({ kind: 'payout', event_type: type })
    }
    for (const type of DEPOSIT_EVENT_TYPES) {
      const body = bodyOf(type)
      expect(check(body, headersOf(body))).toMatchObject({ kind: 'deposit', event_type: type })
    }
    for (const type of ['invoice.to_come', 'payout.to_come', 'refund.created']) {
      const body = bodyOf(type)
      expect(check(body, headersOf(body))).toMatchObject({ kind: 'other', event_type: type })
    }
  })

  test('the types of events are those of the service', () => {
    expectTypeOf<InvoiceEventType>().toEqualTypeOf<ServiceEventType>()
    expectTypeOf<PayoutEventType>().toEqualTypeOf<(typeof PAYOUT_EVENT_TYPES)[number]>()
  })

  test('an event narrows by kind and then by type', () => {
    expectTypeOf<Extract<WebhookEvent, { kind: 'invoice' }>>().toEqualTypeOf<InvoiceEvent>()
    type Paid = Extract<InvoiceEvent, { event_type: 'invoice.paid' }>
    expectTypeOf<Paid['data']>().toEqualTypeOf<InvoiceSnapshot>()
    expectTypeOf<Paid['event_type']>().toEqualTypeOf<'invoice.paid'>()
  })
})
