import type { DollarsPerCurrency } from '../../core/rates/currencies.ts'

/** More digits than an amount about a price needs. */
const DIGITS = 5

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
  const shown = [...dollarsPerCurrency].map(([currency, dollars]) => [
    currency,
    String(Number(dollars.toPrecision(DIGITS))),
  ])
  return (
    <p
      class="local-price"
      id="local-price"
      dir="ltr"
      data-cents={String(cents)}
      data-dollars-per={new URLSearchParams(shown).toString()}
      hidden
    />
  )
}
