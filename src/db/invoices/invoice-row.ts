import { ASSETS, type AssetId, isAssetId } from '../../core/assets.ts'
import type { Invoice, InvoicePrice, RateEvidence, TokenRates } from '../../core/invoice/types.ts'
import { parsePrice } from '../../core/money.ts'
import type { Currency } from '../../core/rates/currencies.ts'
import { payableBeside } from '../../core/token-symbols.ts'
import { NOTHING, type Received } from '../ledger/received.ts'

/** What was asked for in another currency, and the rate that made dollars of it: all three or none. */
export type PriceRow = {
  price_amount: string | null
  price_currency: Currency | null
  price_rate: RateEvidence | null
}

export type InvoiceRow = PriceRow & {
  id: string
  merchant_id: string
  livemode: boolean
  asset: AssetId
  also_accepts: readonly AssetId[]
  token_rates: TokenRates | null
  amount: bigint
  usd_cents: bigint | null
  amount_source: Invoice['amountSource']
  rate: RateEvidence | null
  tolerance_under: bigint
  tolerance_over: bigint
  service_fee_bps: number
  confirmations: Invoice['confirmations']
  allow_asset_selection: boolean
  customer_email: string | null
  external_reference: string | null
  order_reference: string | null
  description: string | null
  checkout_session_id: string | null
  payment_link_id: string | null
  metadata: Invoice['metadata']
  return_url: string | null
  reopened_from: string | null
  address: string
  addresses_beside: Invoice['addressesBeside'] | null
  created_at: Date
  expires_at: Date
  expired_at: Date | null
  expiry_reading: Invoice['expiryReading']
  cancelled_at: Date | null
  paid_at: Date | null
  accepted_at: Date | null
  reorg_dismissed: boolean
  announced: Invoice['announced']
  event_count: number
}

/**
 * The columns of `InvoiceRow`. Addresses are read only as such that were given to this invoice, and one is empty where the
 * row names another: nobody may change or replace a row of deposit_address. Served by deposit_address_by_invoice.
 */
export const INVOICE_COLUMNS = `id, merchant_id, livemode, asset, also_accepts, token_rates, amount, usd_cents, price_amount, price_currency, price_rate, amount_source, rate,
  tolerance_under, tolerance_over, service_fee_bps, confirmations, allow_asset_selection, customer_email, external_reference, order_reference, description, checkout_session_id,
  payment_link_id, metadata, return_url, reopened_from, created_at, expires_at, expired_at, expiry_reading, cancelled_at, paid_at,
  coalesce((select d.address from deposit_address d where d.merchant_id = invoice.merchant_id
    and d.invoice_id = invoice.id and d.address = invoice.address), '') as address,
  case when also_accepts <> '[]' then (select jsonb_object_agg(split_part(d.keyspace, '-', 1), d.address)
    from deposit_address d where d.merchant_id = invoice.merchant_id and d.invoice_id = invoice.id
      and d.livemode = invoice.livemode) end as addresses_beside,
  accepted_at, reorg_dismissed, announced, event_count`

/** The domain's invoice of a row. */
export function invoiceFromRow(row: InvoiceRow, received: Received = NOTHING): Invoice {
  const tokenRates = tokenRatesOf(row)
  return {
    merchantId: row.merchant_id,
    id: row.id,
    livemode: row.livemode,
    asset: row.asset,
    alsoAccepts: othersNamed(row, tokenRates),
    tokenRates,
    amount: row.amount,
    usdCents: row.usd_cents,
    price: priceOf(row),
    amountSource: row.amount_source,
    rate: evidenceOf(row.rate),
    toleranceUnder: row.tolerance_under,
    toleranceOver: row.tolerance_over,
    serviceFeeBps: row.service_fee_bps,
    confirmations: row.confirmations,
    allowAssetSelection: row.allow_asset_selection,
    customerEmail: row.customer_email,
    externalReference: row.external_reference,
    orderReference: row.order_reference,
    description: row.description,
    checkoutSessionId: row.checkout_session_id,
    paymentLinkId: row.payment_link_id,
    metadata: row.metadata,
    returnUrl: row.return_url,
    reopenedFrom: row.reopened_from,
    address: row.address,
    addressesBeside: row.addresses_beside ?? {},
    createdAtMs: row.created_at.getTime(),
    expiresAtMs: row.expires_at.getTime(),
    expiredAtMs: row.expired_at?.getTime() ?? null,
    expiryReading: row.expiry_reading,
    cancelledAtMs: row.cancelled_at?.getTime() ?? null,
    paidAtMs: row.paid_at?.getTime() ?? null,
    acceptedAtMs: row.accepted_at?.getTime() ?? null,
    reorgDismissed: row.reorg_dismissed,
    announced: row.announced,
    ...received,
  }
}

/** What else stands there counts for nothing: base units of another coin are not those of this one, unless it has a rate. */
function othersNamed({ asset, also_accepts: named }: InvoiceRow, tokenRates: TokenRates | null) {
  if (named.length === 0 || !isAssetId(asset)) return []
  return payableBeside(asset, tokenRates !== null).filter(
    (other) =>
      named.includes(other) && (tokenRates === null || tokenRates[ASSETS[other].symbol] !== undefined),
  )
}

/** Those that are rates; none at all where the invoice's own token has none. */
function tokenRatesOf({ asset, token_rates: stored, usd_cents }: InvoiceRow): TokenRates | null {
  if (stored === null || usd_cents === null || !isAssetId(asset)) return null
  const rates: TokenRates = Object.fromEntries(
    Object.entries(stored).filter(
      ([, rate]) => rate !== undefined && evidenceOf(rate) !== null && parsePrice(rate.usdPerUnit) !== null,
    ),
  )
  return rates[ASSETS[asset].symbol] === undefined ? null : rates
}

/** The table has all three or none. */
export function priceOf({ price_amount, price_currency, price_rate }: PriceRow): InvoicePrice | null {
  const rate = evidenceOf(price_rate)
  if (price_amount === null || price_currency === null || rate === null) return null
  return { amount: price_amount, currency: price_currency, rate }
}

const isText = (value: unknown) => typeof value === 'string'

/** A rate as we store it; null where something else stands in its place, so that no payment waits for that. */
export function evidenceOf(stored: RateEvidence | null): RateEvidence | null {
  const { usdPerUnit, quotedAt, sources }: Partial<RateEvidence> = stored ?? {}
  const isWhole =
    typeof usdPerUnit === 'string' &&
    typeof quotedAt === 'string' &&
    Array.isArray(sources) &&
    sources.every((source) => source !== null && [source.name, source.usdPerUnit, source.at].every(isText))
  return isWhole ? stored : null
}

/** As a parameter of type `json` or `jsonb`. */
export const jsonOrNull = (value: unknown): string | null => (value === null ? null : JSON.stringify(value))
