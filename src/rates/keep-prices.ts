import { PAYMENT_ASSET_IDS, pricedAs } from '../core/assets.ts'
import { saveAssetPrices } from '../db/invoices/asset-prices.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Pause } from '../runtime/activity.ts'
import type { Clock } from '../runtime/clock.ts'
import { repeat } from '../runtime/repeat.ts'
import type { PriceBook } from './price-book.ts'

type KeptPricesDeps = {
  readonly pool: Pool
  readonly prices: Pick<PriceBook, 'quote'>
  readonly clock: Clock
}

/** As often as the exchanges are asked. */
const KEEP_INTERVAL_MS = 15_000

/** Writes down every price that is trustworthy now, for whoever posts to the ledger and asks no exchange. */
export async function keepPricesOnce({ pool, prices, clock }: KeptPricesDeps): Promise<void> {
  const known = [true, false].flatMap((livemode) =>
    PAYMENT_ASSET_IDS.flatMap((asset) => {
      const quote = prices.quote(pricedAs(asset), livemode)
      return quote.kind === 'quote' ? [{ asset, livemode, price: quote.price, evidence: quote.evidence }] : []
    }),
  )
  if (known.length > 0) await saveAssetPrices(pool, known, clock())
}

/** Does so again and again until it is stopped. */
export const keepPrices = (
  deps: KeptPricesDeps & {
    readonly log: { warn(fields: object, message: string): void }
    readonly pause: Pause
  },
): { stop(): Promise<void> } =>
  repeat(() => keepPricesOnce(deps), {
    everyMs: KEEP_INTERVAL_MS,
    pause: deps.pause,
    onError: (error) => deps.log.warn({ err: error }, 'prices could not be kept; the next round tries again'),
  })
