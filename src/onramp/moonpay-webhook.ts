import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { ProviderUpdate } from '../core/card/card-news.ts'
import { isFresh, jsonOf, type ReadWebhook } from './webhook-reading.ts'

const HEADER = 'moonpay-signature-v2'
/** `t=1492774577,s=<lower-case hex>`, with no other part and none twice. */
const SIGNATURE = /^t=([0-9]{1,12}),s=([0-9a-f]{64})$/

const eventSchema = z.object({
  type: z.string(),
  data: z.object({
    id: z.string().min(1).max(200),
    status: z.string(),
    walletAddress: z.string().nullish(),
    externalTransactionId: z.string().nullish(),
  }),
})

const TYPES: readonly string[] = ['transaction_created', 'transaction_updated', 'transaction_failed']
/** Statuses in which MoonPay waits for the buyer are left out: there is nothing to tell them. */
const NEWS: { readonly [status: string]: ProviderUpdate } = {
  pending: 'pending',
  completed: 'completed',
  failed: 'failed',
}

/** Verifies a webhook from MoonPay (HMAC-SHA-256 of `t.body` under the webhook key), and reads which purchase it is about. */
export function readMoonpayWebhook(
  key: string,
  request: { readonly headers: Headers; readonly body: Uint8Array },
  nowMs: number,
): ReadWebhook {
  const [, t, given] = SIGNATURE.exec(request.headers.get(HEADER) ?? '') ?? []
  if (t === undefined || given === undefined) return { kind: 'rejected', reason: 'no signature' }
  if (!isFresh(t, nowMs)) return { kind: 'rejected', reason: 'a signature of another time' }
  const expected = createHmac('sha256', key).update(`${t}.`).update(request.body).digest()
  if (!timingSafeEqual(expected, Buffer.from(given, 'hex')))
    return { kind: 'rejected', reason: 'a wrong signature' }
  const body = jsonOf(request.body)
  const event = eventSchema.safeParse(body)
  if (!event.success || !TYPES.includes(event.data.type)) return { kind: 'ignored' }
  const { id, status, walletAddress, externalTransactionId } = event.data.data
  const news = NEWS[status]
  if (news === undefined || typeof externalTransactionId !== 'string') return { kind: 'ignored' }
  return {
    kind: 'told',
    news: {
      provider: 'moonpay',
      purchaseId: externalTransactionId,
      transaction: id,
      news,
      address: walletAddress ?? null,
    },
  }
}
