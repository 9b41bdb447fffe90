import { USD_CENTS_MAX, USD_CENTS_MIN } from '../../core/invoice/quote.ts'
import { formatUsd } from '../../core/money.ts'
import { usd as dollars } from './amounts.ts'
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
          <AmountForm page={page} usd={page.usd ?? ''} main />
        </section>
      </div>
    </main>
  )
}

/**
 * Asks for the amount and opens the link's page with it: a GET, so that the URL can be sent on. `main`: the page asks for
 * nothing else.
 */
export function AmountForm({ page, usd, main = false }: { page: AmountPage; usd: string; main?: boolean }) {
  const { language, langQuery, slug } = page
  const { messages } = language
  const limits = { min: dollars(language, USD_CENTS_MIN), max: dollars(language, USD_CENTS_MAX) }
  return (
    <form method="get" action={`./${slug}`} id="amount-form">
      {[...new URLSearchParams(langQuery)].map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <label class="input" for="usd">
        {messages.amount_field}
        <input
          type="number"
          id="usd"
          name="usd"
          inputmode="decimal"
          min={formatUsd(USD_CENTS_MIN)}
          max={formatUsd(USD_CENTS_MAX)}
          step="0.01"
          required
          value={usd}
          aria-describedby="usd-limits"
        />
      </label>
      <p class="rate" id="usd-limits">
        {fill(messages.amount_limits, limits)}
      </p>
      <LocalPrice id="local-usd" dollarsPerCurrency={page.dollarsPerCurrency} />
      <button type="submit" class={main ? 'button' : 'button second'} id="set-amount">
        {messages.amount_action}
      </button>
    </form>
  )
}
