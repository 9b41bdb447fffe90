import type { OnrampProvider } from '../core/card/onramp-provider.ts'
import type { Clock } from '../runtime/clock.ts'
import { type CoinbaseSettings, createCoinbaseOnramp } from './coinbase-onramp.ts'
import { readCoinbaseWebhook } from './coinbase-webhook.ts'
import { createMoonpayOnramp, type MoonpaySettings, readMoonpayWebhook } from './moonpay-onramp.ts'
import { openProviderConnections } from './request-provider.ts'
import type { WebhookReader } from './webhook-reading.ts'

/** The card providers that are configured, each null where its keys are absent. */
export type OnrampConfig = {
  readonly coinbase: (CoinbaseSettings & { readonly webhookSecret: string | null }) | null
  readonly moonpay: (MoonpaySettings & { readonly webhookKey: string | null }) | null
}

export type Onramps = {
  readonly providers: readonly OnrampProvider[]
  /** What reads each provider's webhooks, by the provider's name in the path. */
  readonly webhooks: ReadonlyMap<string, WebhookReader>
  close(): Promise<void>
}

/** Opens the configured providers. None is asked anything until a buyer is. */
export function openOnramps(
  { coinbase, moonpay }: OnrampConfig,
  deps: { readonly clock: Clock; readonly deadlineMs?: number },
): Onramps {
  const dispatcher = openProviderConnections()
  const shared = { ...deps, dispatcher }
  const webhooks = new Map<string, WebhookReader>()
  const { webhookSecret = null } = coinbase ?? {}
  if (webhookSecret !== null)
    webhooks.set('coinbase', (request, nowMs) => readCoinbaseWebhook(webhookSecret, request, nowMs))
  const { webhookKey = null } = moonpay ?? {}
  if (webhookKey !== null)
    webhooks.set('moonpay', (request, nowMs) => readMoonpayWebhook(webhookKey, request, nowMs))
  return {
    providers: [
      ...(coinbase === null ? [] : [createCoinbaseOnramp(coinbase, shared)]),
      ...(moonpay === null ? [] : [createMoonpayOnramp(moonpay, shared)]),
    ],
    webhooks,
    close: () => dispatcher.close(),
  }
}
