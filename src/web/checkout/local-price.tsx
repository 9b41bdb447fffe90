import { formatPrice } from '../../core/money.ts'
import type { DollarsPerCurrency } from '../../core/rates/currencies.ts'

/** More digits than an amount about a price needs. */
const DIGITS = 5

/**
 * About how much a price is in the buyer's own currency, which only the script knows. The price stays the one in US
 * dollars. Without `cents` it is the amount in the field `usd`, as the buyer types it. Only what is still to pay has
 * one: no rate is kept, and today's would not be the one of a payment that was made.
 */
export function LocalPrice({
  id = 'local-price',
  cents,
  dollarsPerCurrency,
}: {
  id?: string
  cents?: bigint
  dollarsPerCurrency: DollarsPerCurrency
}) {
  const shown = [...dollarsPerCurrency].map(([currency, dollars]) => [
    currency,
    String(Number(Number(formatPrice(dollars)).toPrecision(DIGITS))),
  ])
  return (
    <p
      class="local-price"
      id={id}
      dir="ltr"
      {...(cents === undefined ? {} : { 'data-cents': String(cents) })}
      data-dollars-per={new URLSearchParams(shown).toString()}
      hidden
    />
  )
}
