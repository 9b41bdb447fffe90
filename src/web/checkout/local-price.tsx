import type { Currency } from '../../core/rates/plausible-price.ts'

/** What a currency is worth in US dollars, as decimals. */
export type DollarsPerCurrency = { readonly [currency in Currency]?: string }

/**
 * About how much a price is in the buyer's own currency, which only the script knows. The price stays the one in US
 * dollars.
 */
export function LocalPrice({
  cents,
  dollarsPerCurrency,
}: {
  cents: bigint
  dollarsPerCurrency: DollarsPerCurrency
}) {
  return (
    <p
      class="local-price"
      id="local-price"
      dir="ltr"
      data-cents={String(cents)}
      data-dollars-per={new URLSearchParams(dollarsPerCurrency).toString()}
      hidden
    />
  )
}
