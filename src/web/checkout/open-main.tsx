import { formatUsd } from '../../core/money.ts'
import { AmountForm, SuggestedAmounts } from './amount-main.tsx'
import { deadlineStyle, duration, total, usd, utcTime } from './amounts.ts'
import type { OpenPage } from './checkout-page.ts'
import { CoinCards, chosenCoin } from './coin-cards.tsx'
import { Icon } from './icons.tsx'
import { fill, fillParts } from './language.ts'
import { LocalPrice } from './local-price.tsx'
import { NoticeBox, Shop, WhatFor } from './shop.tsx'

/** The query of an open page besides its language. */
export function openQuery(page: OpenPage): URLSearchParams {
  const query = new URLSearchParams()
  if (page.checkoutToken !== undefined) query.set('checkout_token', page.checkoutToken)
  for (const [name, value] of Object.entries(page.requested)) if (value !== undefined) query.set(name, value)
  return query
}

/** The page's own URL: what stands there when its form could not be answered, and is loaded again, is the same page. */
function openPath(page: OpenPage): string {
  const query = openQuery(page)
  for (const [name, value] of new URLSearchParams(page.langQuery)) query.set(name, value)
  return query.size === 0 ? `./${page.slug}` : `./${page.slug}?${query}`
}

/** A payment link before the buyer continues: what it costs, and with which coin to pay it. */
export function OpenMain({ page, nowMs }: { page: OpenPage; nowMs: number }) {
  const { language, merchantName: merchant } = page
  const { messages } = language
  const isPayable = page.coins.some(({ available }) => available)
  return (
    <main id="checkout">
      <div class="card wide">
        <Shop page={page} />
        <section class="open columns">
          <div>
            <h1 id="heading">{total(language, page)}</h1>
            <InOtherCurrency page={page} />
            <p class="lead">
              <bdi>{page.linkName}</bdi>
            </p>
            <WhatFor page={{ item: null, order: page.order, language }} />
            {page.takesAmount && <SuggestedAmounts page={page} chosen={amountOf(page)} />}
            {page.takesAmount && (
              <details class="fold" id="other-amount">
                <summary>{messages.amount_other}</summary>
                <AmountForm page={page} currency={page.price?.currency ?? null} value={amountOf(page)} />
              </details>
            )}
          </div>
          <div>
            <NoticeBox page={page} />
            <form method="post" action={openPath(page)} id="open-form">
              {[...openQuery(page)].map(([name, value]) => (
                <input type="hidden" name={name} value={value} />
              ))}
              {page.checkoutToken === undefined && <input type="hidden" name="visit" value={page.visit} />}
              <CoinCards page={page} coins={page.coins} chosen={page.chosen} legend={messages.open_heading} />
              {isPayable ? (
                <>
                  <Window page={page} nowMs={nowMs} />
                  <button type="submit" class="button" id="continue">
                    {messages.open_continue}
                  </button>
                  <ByCard page={page} />
                </>
              ) : (
                <p class="notice" role="status">
                  <Icon name="alert" />
                  <span>{fill(messages.open_none, { merchant })}</span>
                </p>
              )}
            </form>
          </div>
        </section>
      </div>
    </main>
  )
}

/** A price of the shop's own is about so many dollars; dollars are about so much of the buyer's own currency. */
function InOtherCurrency({ page }: { page: OpenPage }) {
  const { language, price, usdCents, dollarsPerCurrency } = page
  if (usdCents === null) return null
  if (price === null) return <LocalPrice cents={usdCents} dollarsPerCurrency={dollarsPerCurrency} />
  return <p class="price">≈ {usd(language, usdCents)}</p>
}

const amountOf = ({ price, usdCents }: OpenPage): string =>
  price !== null ? price.amount : usdCents === null ? '' : formatUsd(usdCents)

/** The form sends along which coin was chosen when the page was drawn: one that the buyer left as it was is not their choice. */
function ByCard({ page: { language, byCard, coins, chosen } }: { page: OpenPage }) {
  const shown = chosenCoin(coins, chosen)
  return (
    <>
      {shown !== undefined && <input type="hidden" name="shown" value={shown.asset} />}
      {byCard && (
        <button type="submit" class="button second" id="by-card" name="by" value="card">
          <Icon name="card" />
          {language.messages.card_action}
        </button>
      )}
    </>
  )
}

function Window({ page, nowMs }: { page: OpenPage; nowMs: number }) {
  const { language, expiresAtMs } = page
  const { messages } = language
  if (expiresAtMs === null) {
    return (
      <p class="rate">{fill(messages.open_lock, { duration: duration(language, page.durationMinutes) })}</p>
    )
  }
  const style = deadlineStyle(nowMs, expiresAtMs)
  const time = (
    <time dateTime={new Date(expiresAtMs).toISOString()} data-style={style}>
      {utcTime(language, expiresAtMs, style)}
    </time>
  )
  return <p class="rate">{fillParts(messages.pay_by, { time })}</p>
}
