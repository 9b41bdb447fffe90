import { suggestedCharge } from '../../core/checkout/buyer-amount.ts'
import { USD_CENTS_MAX, USD_CENTS_MIN } from '../../core/invoice/quote.ts'
import { parseUsd } from '../../core/money.ts'
import { CURRENCIES, type Currency } from '../../core/rates/currencies.ts'
import { usd as dollars, fiat } from './amounts.ts'
import type { AmountPage } from './checkout-page.ts'
import { fill } from './language.ts'
import { LocalPrice } from './local-price.tsx'
import { NoticeBox, Shop } from './shop.tsx'

/** A payment link whose buyer says how much to pay. */
export function AmountMain({ page }: { page: AmountPage }) {
  const { messages } = page.language
  return (
    <main id="checkout">
      <div class="card">
        <Shop page={page} />
        <section class="open">
          <h1 id="heading">{messages.amount_ask}</h1>
          <p class="lead">
            <bdi>{page.linkName}</bdi>
          </p>
          <NoticeBox page={page} />
          <SuggestedAmounts page={page} chosen={null} />
          <AmountForm page={page} {...requestedOf(page)} main />
        </section>
      </div>
    </main>
  )
}

/** What cannot be paid is asked for again in its own currency: the same digits of another are another amount. */
function requestedOf({ requested: { usd, amount = '', currency: named }, buyerAmount }: AmountPage) {
  const asked = usd === undefined ? (named ?? buyerAmount?.currency) : undefined
  const currency = CURRENCIES.find((each) => each === asked)
  return currency === undefined ? { currency: null, value: usd ?? '' } : { currency, value: amount }
}

/** What the link suggests, each a link to the page with that amount: one press, with script or without. */
export function SuggestedAmounts({ page, chosen }: { page: AmountPage; chosen: string | null }) {
  const { language, langQuery, slug, buyerAmount } = page
  if (buyerAmount === null || buyerAmount.suggested.length === 0) return null
  const { currency, suggested } = buyerAmount
  const pathOf = (amount: string): string => {
    const query = new URLSearchParams({ ...suggestedCharge(amount, currency) })
    for (const [name, value] of new URLSearchParams(langQuery)) query.set(name, value)
    return `./${slug}?${query}`
  }
  return (
    <ul class="suggested" aria-label={language.messages.amount_suggested}>
      {suggested.map((amount) => (
        <li>
          <a
            class="button second"
            href={pathOf(amount)}
            {...(amount === chosen ? { 'aria-current': 'true' } : {})}
          >
            {sum(language, amount, currency)}
          </a>
        </li>
      ))}
    </ul>
  )
}

/** `€5.00`, `$5.00`. */
function sum(language: AmountPage['language'], amount: string, currency: Currency | 'USD'): string {
  return currency === 'USD' ? dollars(language, parseUsd(amount) ?? 0n) : fiat(language, { amount, currency })
}

/**
 * Asks for the amount and opens the link's page with it: a GET, so that the URL can be sent on. `currency`: null for
 * dollars. `main`: the page asks for nothing else.
 */
export function AmountForm({
  page,
  currency,
  value,
  main = false,
}: {
  page: AmountPage
  currency: Currency | null
  value: string
  main?: boolean
}) {
  const { language, langQuery, slug, buyerAmount } = page
  const { messages } = language
  const [minimum, maximum] = [buyerAmount?.minimum ?? null, buyerAmount?.maximum ?? null]
  const own = buyerAmount?.currency ?? 'USD'
  const limits = {
    min: minimum === null ? dollars(language, USD_CENTS_MIN) : sum(language, minimum, own),
    max: maximum === null ? dollars(language, USD_CENTS_MAX) : sum(language, maximum, own),
  }
  return (
    <form method="get" action={`./${slug}`} id="amount-form">
      {[...new URLSearchParams(langQuery)].map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      {currency === null ? (
        <label class="input" for="usd">
          {messages.amount_field}
          <AmountInput name="usd" value={value} />
        </label>
      ) : (
        <label class="input" for="amount">
          {fill(messages.amount_field_in, { currency })}
          <AmountInput name="amount" value={value} />
          <input type="hidden" name="currency" value={currency} />
        </label>
      )}
      <p class="rate" id="usd-limits">
        {fill(messages.amount_limits, limits)}
      </p>
      {currency === null && <LocalPrice id="local-usd" dollarsPerCurrency={page.dollarsPerCurrency} />}
      <button type="submit" class={main ? 'button' : 'button second'} id="set-amount">
        {messages.amount_action}
      </button>
    </form>
  )
}

/**
 * Text: a field for numbers leaves out a comma that is not the browser's own sign, so that `12,50` became 1250. The server
 * says whether an amount is within the limits.
 */
function AmountInput({ name, value }: { name: 'usd' | 'amount'; value: string }) {
  return (
    <input
      type="text"
      id={name}
      name={name}
      inputmode="decimal"
      autocomplete="off"
      required
      value={value}
      aria-describedby="usd-limits"
    />
  )
}
