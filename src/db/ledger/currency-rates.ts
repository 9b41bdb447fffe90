import type { PaymentAsset } from '../../core/assets.ts'
import type { HomeTerms } from '../../core/books/home-value.ts'
import type { RateEvidence, TokenRates } from '../../core/invoice/types.ts'
import type { Currency } from '../../core/rates/currencies.ts'
import type { Queryable } from '../../postgres/pool.ts'
import { evidenceOf, priceOf } from '../invoices/invoice-row.ts'

/** Keeps what currencies are worth on the UTC day of `now`; a day's first rate stays. By primary key. */
export async function saveCurrencyRates(
  db: Queryable,
  rates: readonly {
    readonly livemode: boolean
    readonly currency: Currency
    readonly rate: RateEvidence
  }[],
  now: Date,
): Promise<void> {
  await db.query(
    `insert into currency_rate (livemode, currency, day, rate)
     select livemode, currency, ($4::timestamptz at time zone 'UTC')::date, rate
     from unnest($1::boolean[], $2::text[], $3::jsonb[]) as known (livemode, currency, rate)
     order by livemode, currency
     on conflict (livemode, currency, day) do nothing`,
    [
      rates.map(({ livemode }) => livemode),
      rates.map(({ currency }) => currency),
      rates.map(({ rate }) => JSON.stringify(rate)),
      now,
    ],
  )
}

/** What a line of the ledger is worth in the shop's currency by: the day's rate, or its invoice's own price. */
export type HomeRow = {
  home_currency: Currency | null
  home_rate: RateEvidence | null
  /** Its coin, or its token on each network that counts. */
  invoice_assets: readonly PaymentAsset[] | null
  invoice_amount: bigint | null
  invoice_cents: bigint | null
  token_rates: TokenRates | null
  invoice_rate: RateEvidence | null
  price_amount: string | null
  price_currency: Currency | null
  price_rate: RateEvidence | null
}

/** Of `ledger_transfer t`, with `HOME_JOINS`. */
export const HOME_COLUMNS = `b.home_currency, r.rate as home_rate, jsonb_build_array(i.asset) || i.also_accepts as invoice_assets,
  i.amount as invoice_amount, i.usd_cents as invoice_cents, i.token_rates, i.rate as invoice_rate, i.price_amount, i.price_currency, i.price_rate`

/** The shop's own reference for the invoice, or for the customer of a deposit, with `HOME_JOINS`. */
export const REFERENCE_COLUMN =
  'coalesce(i.order_reference, i.external_reference, a.customer_reference) as reference'
/** By primary key. */
export const REFERENCE_JOIN =
  'left join deposit_account a on a.merchant_id = t.merchant_id and a.id = t.invoice_id'

/** Each by its primary key. */
export const HOME_JOINS = `left join branding b on b.merchant_id = t.merchant_id
  left join currency_rate r on r.livemode = t.livemode and r.currency = b.home_currency
    and r.day = (t.created_at at time zone 'UTC')::date
  left join invoice i on i.merchant_id = t.merchant_id and i.id = t.invoice_id`

/** Null where the shop's currency is the dollar. */
export function homeTermsOf(row: HomeRow): HomeTerms | null {
  if (row.home_currency === null) return null
  const coinRate = evidenceOf(row.invoice_rate)
  const price = priceOf(row)
  return {
    currency: row.home_currency,
    rateOfDay: evidenceOf(row.home_rate),
    invoice:
      row.invoice_assets === null || row.invoice_amount === null || coinRate === null || price === null
        ? null
        : {
            assets: row.invoice_assets,
            amount: row.invoice_amount,
            coinRate,
            price,
            dollars: dollarsOf(row),
          },
  }
}

function dollarsOf({ invoice_cents: usdCents, token_rates: tokenRates }: HomeRow) {
  return usdCents === null || tokenRates === null ? null : { usdCents, tokenRates }
}
