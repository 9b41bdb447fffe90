import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { COINBASE_UPDATES } from './coinbase-schemas.ts'
import { isFresh, jsonOf, type ReadWebhook } from './webhook-reading.ts'

const HEADER = 'x-hook0-signature'
const HEADER_LENGTH_MAX = 2_048
const SIGNED_HEADERS_MAX = 20
const HEX_SHA256 = /^[0-9a-f]{64}$/

/** Hosted onramp: a transaction. Headless onramp: an order. They are told apart by the id that they have. */
const hostedSchema = z.object({
  transactionId: z.string().min(1).max(200),
  status: z.string(),
  partnerUserRef: z.string().nullish(),
  walletAddress: z.string().nullish(),
})
const orderSchema = z.object({
  orderId: z.string().min(1).max(200),
  status: z.string(),
  partnerUserRef: z.string().nullish(),
  destinationAddress: z.string().nullish(),
})

/** Verifies the signature and age of a webhook from Coinbase, and reads which purchase it is about and what it says. */
export function readCoinbaseWebhook(
  secret: string,
  request: { readonly headers: Headers; readonly body: Uint8Array },
  nowMs: number,
): ReadWebhook {
  const fault = signatureFault(secret, request, nowMs)
  if (fault !== null) return { kind: 'rejected', reason: fault }
  const body = jsonOf(request.body)
  const hosted = hostedSchema.safeParse(body)
  const order = orderSchema.safeParse(body)
  const reported = hosted.success
    ? { ...hosted.data, id: hosted.data.transactionId, address: hosted.data.walletAddress }
    : order.success
      ? { ...order.data, id: order.data.orderId, address: order.data.destinationAddress }
      : null
  const update = reported === null ? undefined : COINBASE_UPDATES[reported.status]
  if (reported === null || update === undefined || typeof reported.partnerUserRef !== 'string')
    return { kind: 'ignored' }
  return {
    kind: 'reported',
    update: {
      provider: 'coinbase',
      purchaseId: reported.partnerUserRef,
      transaction: reported.id,
      update,
      address: reported.address ?? null,
    },
  }
}

/**
 * `t=<unix>,v0=<hex>,h=<header names by spaces>,v1=<hex>`: v1 signs the time, those names, the values of those
 * headers and the raw body, joined by dots; v0 the time and the body alone. v0 is ignored if v1 is present.
 */
function signatureFault(
  secret: string,
  { headers, body }: { readonly headers: Headers; readonly body: Uint8Array },
  nowMs: number,
): string | null {
  const text = headers.get(HEADER) ?? ''
  if (text === '' || text.length > HEADER_LENGTH_MAX) return 'no signature'
  const parts = new Map<string, string>()
  for (const part of text.split(',')) {
    const at = part.indexOf('=')
    const name = part.slice(0, at)
    if (at <= 0 || parts.has(name)) return 'a signature of another form'
    parts.set(name, part.slice(at + 1))
  }
  const [t, v0, h, v1] = ['t', 'v0', 'h', 'v1'].map((name) => parts.get(name))
  if (t === undefined || !isFresh(t, nowMs)) return 'a signature of another time'
  const names = h === undefined || h === '' ? [] : h.split(' ')
  if (names.length > SIGNED_HEADERS_MAX) return 'too many signed headers'
  const given = v1 ?? v0
  if (given === undefined || !HEX_SHA256.test(given)) return 'a signature of another form'
  const hmac = createHmac('sha256', secret)
  if (v1 === undefined) hmac.update(`${t}.`)
  else {
    const values = names.map((name) => (/^[A-Za-z0-9-]+$/.test(name) ? headers.get(name) : null))
    if (values.includes(null)) return 'a signed header is missing'
    hmac.update(`${t}.${h ?? ''}.${values.join('.')}.`)
  }
  const expected = hmac.update(body).digest()
  return timingSafeEqual(expected, Buffer.from(given, 'hex')) ? null : 'a wrong signature'
}
