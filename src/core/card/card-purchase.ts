import type { AssetId } from '../assets.ts'
import type { Invoice, Payment } from '../invoice/types.ts'
import type { CardAnswer, CardProviderId } from './onramp-provider.ts'
import type { ProviderUpdate } from './provider-update.ts'

export type CardPurchase = {
  readonly id: string
  readonly invoiceId: string
  readonly provider: CardProviderId
  readonly asset: AssetId
  /** Base units that were asked for. */
  readonly amount: bigint
  readonly address: string
  /** Where the buyer lives (ISO 3166); null once that is forgotten. */
  readonly place: string | null
  /** Null while the provider is being asked. */
  readonly answer: CardAnswer | null
  readonly createdAtMs: number
  readonly freshUntilMs: number
  readonly leftAtMs: number | null
  readonly update: ProviderUpdate | null
}

/** The coin that a card buys where the buyer has not chosen another. */
export const CARD_DEFAULT_ASSET: AssetId = 'USDC_BASE'

/** How long after leaving the page speaks of the provider first; a card purchase takes minutes, now and then more. */
export const WAITING_SHOWN_MS = 60 * 60_000
/** A provider's fees may take some of what was asked for; the network's take much of a small purchase. */
const SENT_PERCENT_MIN = { pending: 90n, completed: 25n } as const
/** A second press within so long is the same press: it gets the same session. */
const SAME_PRESS_MS = 20_000

/**
 * What a card buys for an invoice: USDC on Base, where it counts or the invoice can be switched to it, unless the buyer first
 * picked another coin that is sold; else the invoice's own coin. Null where nothing of it is sold.
 */
export function cardAsset(
  invoice: Pick<Invoice, 'asset' | 'alsoAccepts'>,
  facts: {
    /** The buyer chose the invoice's coin. */
    readonly picked: boolean
    /** Coins that the invoice can be switched to now. */
    readonly others: readonly AssetId[]
    readonly sells: (asset: AssetId) => boolean
  },
): AssetId | null {
  const own = facts.sells(invoice.asset) ? invoice.asset : null
  if (facts.picked && own !== null) return own
  const reachable = [invoice.asset, ...invoice.alsoAccepts, ...facts.others].includes(CARD_DEFAULT_ASSET)
  return reachable && facts.sells(CARD_DEFAULT_ASSET) ? CARD_DEFAULT_ASSET : own
}

/** Whether what was asked before still answers the same question at `nowMs`. */
export function stillStands(
  purchase: CardPurchase,
  order: Pick<CardPurchase, 'asset' | 'amount' | 'address' | 'place'>,
  nowMs: number,
): boolean {
  return (
    purchase.asset === order.asset &&
    purchase.amount === order.amount &&
    purchase.address === order.address &&
    purchase.place === order.place &&
    isOpenOffer(purchase, nowMs)
  )
}

/** Whether a purchase can be shown and left for. A session's page opens once: whoever comes back needs a new one. */
export function isOpenOffer(purchase: CardPurchase, nowMs: number): boolean {
  const { freshUntilMs, leftAtMs } = purchase
  return nowMs < freshUntilMs && (leftAtMs === null || nowMs - leftAtMs < SAME_PRESS_MS)
}

/** Providers sell in steps, and a step of Bitcoin is worth a dollar. A larger share of what was asked for is no rounding. */
const ROUNDING_SHARE_MAX = 20n

/** How much more than was asked for one of the purchases brings because its provider rounds up, base units. */
export function cardRounding(
  purchases: readonly { readonly requested: bigint; readonly sold: bigint }[],
): bigint {
  const roundings = purchases.map(({ requested, sold }) =>
    (sold - requested) * ROUNDING_SHARE_MAX <= requested ? sold - requested : 0n,
  )
  return roundings.reduce((most, rounding) => (rounding > most ? rounding : most), 0n)
}

/** What a page says of a purchase that the buyer went away for. */
export type CardWaiting = {
  readonly purchaseId: string
  readonly leftAtMs: number
  readonly provider: CardProviderId
  readonly update: ProviderUpdate | null
  readonly asset: AssetId
}

/** Whether the provider has the buyer's money, and has sent the coins or will: another purchase would pay twice. */
export const isUnderWay = (waiting: Pick<CardWaiting, 'update'> | null): boolean =>
  waiting?.update === 'pending' || waiting?.update === 'completed'

/**
 * The purchase that the page has to speak of at `nowMs`, until money comes or an hour is over: one whose provider has the
 * buyer's money, else the last one left for. `left` are those that the buyer left for, newest first.
 */
export function cardWaiting(
  left: readonly CardPurchase[],
  invoice: Pick<Invoice, 'payments'>,
  nowMs: number,
): CardWaiting | null {
  const waiting = left.flatMap((purchase) => {
    const { id: purchaseId, leftAtMs, provider, update, asset, amount } = purchase
    if (leftAtMs === null || nowMs - leftAtMs > WAITING_SHOWN_MS) return []
    // Once the provider says that it has sent the coins, fewer may be they: the page may not wait for more.
    const least = amount * SENT_PERCENT_MIN[update === 'completed' ? 'completed' : 'pending']
    const mayBeIts = (paid: Pick<Payment, 'asset' | 'amount' | 'status'>) =>
      paid.asset === asset &&
      paid.amount * 100n >= least &&
      paid.status !== 'replaced' &&
      paid.status !== 'reorged'
    const cameSince = invoice.payments.some(
      // Nodes report times in whole seconds. What a wallet paid beside it is not what the provider sends.
      (paid) => paid.firstSeenMs >= leftAtMs - 1_000 && (!isUnderWay(purchase) || mayBeIts(paid)),
    )
    return cameSince ? [] : [{ purchaseId, leftAtMs, provider, update, asset }]
  })
  return waiting.find(isUnderWay) ?? waiting[0] ?? null
}
