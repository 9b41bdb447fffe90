import { typedAmount } from '../../../core/money.ts'
import { CURRENCIES, type Currency, currencyDecimals } from '../../../core/rates/currencies.ts'
import type { CreateInvoice } from '../api/types.ts'
import { Field, Select } from './field.tsx'
import { faultOf } from './note.tsx'

/** What is asked for, as it is typed: in US dollars, or in the shop's own currency. */
export type Total = { readonly amount: string; readonly currency: Currency | 'USD' }

/** Which parameters of the API's refusals stand at these fields. */
export const TOTAL_FAULTS = ['usd_amount', 'price', 'price.amount', 'price.currency'] as const

const NAMES = new Intl.DisplayNames('en', { type: 'currency' })

/** The total of something that there is already; one that is to be typed, in the shop's own currency, where it has none. */
export function totalLike(
  like:
    | {
        readonly price: Total | null | { amount: string; currency: string }
        readonly usd_amount: string | null
      }
    | undefined,
  home: Total['currency'],
): Total {
  const currency = CURRENCIES.find((each) => each === like?.price?.currency)
  // The dollars of a price in another currency were worth it then.
  if (like?.price && currency !== undefined) return { amount: like.price.amount, currency }
  const dollars = like?.usd_amount ?? null
  return dollars === null ? { amount: '', currency: home } : { amount: dollars, currency: 'USD' }
}

/** The fields of a request; none where nothing is typed. */
export function totalBody({ amount, currency }: Total): Pick<CreateInvoice, 'usd_amount' | 'price'> {
  const typed = typedAmount(amount, currencyDecimals(currency))
  if (typed === '') return {}
  return currency === 'USD' ? { usd_amount: typed } : { price: { amount: typed, currency } }
}

/** Asks for an amount and its currency. */
export function TotalFields({
  label = 'Amount',
  total,
  onChange,
  required = true,
  hint,
  error,
}: {
  label?: string
  total: Total
  onChange: (total: Total) => void
  required?: boolean
  hint?: string | undefined
  error: Error | null
}) {
  const { amount, currency } = total
  const isWhole = currencyDecimals(currency) === 0
  const example = isWhole ? '5000' : '49.99'
  return (
    <div className="row-form total-fields">
      <Field
        label={`${label} in ${currency === 'USD' ? 'US dollars' : currency}`}
        inputMode={isWhole ? 'numeric' : 'decimal'}
        placeholder={example}
        pattern={`(0|[1-9][0-9]{0,11})${isWhole ? '' : '([.,][0-9]{1,2})?'}`}
        title={`An amount such as ${example}`}
        required={required}
        hint={hint}
        value={amount}
        onChange={(event) => onChange({ amount: event.target.value, currency })}
        fault={faultOf(error, 'usd_amount') ?? faultOf(error, 'price.amount') ?? faultOf(error, 'price')}
      />
      <CurrencySelect
        label="Currency"
        currency={currency}
        onChange={(chosen) => onChange({ amount, currency: chosen })}
        fault={faultOf(error, 'price.currency')}
      />
    </div>
  )
}

/** US dollars, or one of the currencies that a price may be in. */
export function CurrencySelect({
  label,
  currency,
  onChange,
  fault,
}: {
  label: string
  currency: Total['currency']
  onChange: (currency: Total['currency']) => void
  fault: string | null
}) {
  return (
    <Select
      label={label}
      value={currency}
      onChange={(event) => onChange(CURRENCIES.find((each) => each === event.target.value) ?? 'USD')}
      fault={fault}
    >
      <option value="USD">USD · US Dollar</option>
      {CURRENCIES.map((each) => (
        <option key={each} value={each}>
          {each} · {NAMES.of(each)}
        </option>
      ))}
    </Select>
  )
}
