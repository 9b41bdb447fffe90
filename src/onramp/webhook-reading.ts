import type { ReportedProviderUpdate } from '../flows/record-provider-update.ts'

/** What reading a provider's webhook gives. */
export type ReadWebhook =
  | { readonly kind: 'reported'; readonly update: ReportedProviderUpdate }
  /** Genuine, with nothing to show on the page. */
  | { readonly kind: 'ignored' }
  | { readonly kind: 'rejected'; readonly reason: string }

/** Reads a webhook as it came: the raw bytes are what is signed. */
export type WebhookReader = (
  request: { readonly headers: Headers; readonly body: Uint8Array },
  nowMs: number,
) => ReadWebhook

/** How far a signature's time may be from ours, as for the webhooks that we send: an older one is a replay. */
const TOLERANCE_SECONDS = 300

/** Whether a signature's Unix time is within the tolerance of ours. */
export function isFresh(text: string, nowMs: number): boolean {
  if (!/^[0-9]{1,12}$/.test(text)) return false
  return Math.abs(Number(text) - nowMs / 1_000) <= TOLERANCE_SECONDS
}

/** The body of a webhook whose signature was verified; undefined if it is not JSON. */
export function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
