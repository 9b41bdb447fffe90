import { typedAmount } from '../../../core/money.ts'
import { CURRENCIES, currencyDecimals } from '../../../core/rates/currencies.ts'
import type { CreatePaymentLink, PaymentLink } from '../api/types.ts'
import { Field } from './field.tsx'
import { faultOf } from './note.tsx'
import type { Total } from './total-fields.tsx'

/** What buyers may pay who say how much, as it is typed. */
type TypedBuyerAmount = {
  readonly minimum: string
  readonly maximum: string
  readonly suggested: string
}

/** Which parameters of the API's refusals stand at these fields. */
export const BUYER_FAULTS = [
  'buyer_amount',
  'buyer_amount.currency',
  'buyer_amount.minimum',
  'buyer_amount.maximum',
  'buyer_amount.suggested',
] as const

const AMOUNT = '(0|[1-9][0-9]{0,11})([.,][0-9]{1,2})?'
/** One of several: a comma is what parts them. */
const SUGGESTION = '(0|[1-9][0-9]{0,11})(\\.[0-9]{1,2})?'

/** Another link's; an API of the release before knows none. */
export const buyerAmountLike = (like: PaymentLink | undefined): TypedBuyerAmount => ({
  minimum: like?.buyer_amount?.minimum ?? '',
  maximum: like?.buyer_amount?.maximum ?? '',
  suggested: like?.buyer_amount?.suggested.join(', ') ?? '',
})

export const buyerCurrencyOf = (like: PaymentLink | undefined): Total['currency'] | undefined => {
  const named = like?.buyer_amount?.currency
  return named === 'USD' ? named : CURRENCIES.find((each) => each === named)
}

/** The field of a request; none where nothing is typed. */
export function buyerAmountBody(
  typed: TypedBuyerAmount,
  currency: Total['currency'],
): Pick<CreatePaymentLink, 'buyer_amount'> {
  const [minimum, maximum] = [typed.minimum, typed.maximum].map((amount) =>
    typedAmount(amount, currencyDecimals(currency)),
  )
  const suggested = typed.suggested
    .split(',')
    .map((amount) => amount.trim())
    .filter((amount) => amount !== '')
  if (minimum === '' && maximum === '' && suggested.length === 0) return {}
  return {
    buyer_amount: {
      currency,
      ...(minimum === '' ? {} : { minimum }),
      ...(maximum === '' ? {} : { maximum }),
      ...(suggested.length === 0 ? {} : { suggested }),
    },
  }
}

/**
 * Asks for the limits and the suggestions, in the currency of the link's own amount. Suggestions have a space between
 * them: `2,50` is one amount to many, and would be two.
 */
export function BuyerAmountFields({
  typed,
  currency,
  onChange,
  error,
}: {
  typed: TypedBuyerAmount
  currency: Total['currency']
  onChange: (typed: TypedBuyerAmount) => void
  error: Error | null
}) {
  const field = (name: keyof TypedBuyerAmount) => ({
    value: typed[name],
    onChange: (event: { target: { value: string } }) => onChange({ ...typed, [name]: event.target.value }),
  })
  return (
    <>
      <div className="row-form">
        <Field
          label={`Minimum in ${currency}`}
          inputMode="decimal"
          pattern={AMOUNT}
          title="An amount such as 5.00"
          hint="Optional"
          fault={faultOf(error, 'buyer_amount.minimum')}
          {...field('minimum')}
        />
        <Field
          label={`Maximum in ${currency}`}
          inputMode="decimal"
          pattern={AMOUNT}
          title="An amount such as 500.00"
          hint="Optional"
          fault={faultOf(error, 'buyer_amount.maximum')}
          {...field('maximum')}
        />
      </div>
      <Field
        label={`Suggested amounts in ${currency}`}
        hint="Optional. Up to six buttons on the page: 5, 10.50, 25"
        pattern={`${SUGGESTION}(\\s*,\\s+${SUGGESTION}){0,5}`}
        title="Amounts such as 5, 10.50, 25: a space after each comma, and a point for decimals"
        fault={
          faultOf(error, 'buyer_amount.suggested') ??
          faultOf(error, 'buyer_amount.currency') ??
          faultOf(error, 'buyer_amount')
        }
        {...field('suggested')}
      />
    </>
  )
}
