import { raw } from 'hono/html'
import { ASSETS } from '../../core/assets.ts'
import type { CardPurchase } from '../../core/card/card-purchase.ts'
import {
  CARD_PROVIDER_NAMES,
  type CardAnswer,
  type CardProviderId,
  type FiatAmount,
} from '../../core/card/onramp-provider.ts'
import { TEST_CARD_OUTCOMES, TEST_CARDS } from '../../core/card/test-cards.ts'
import { coin, fiat, total } from './amounts.ts'
import type { CardPage, CheckoutPage, TestCardPage } from './checkout-page.ts'
import { Deadline } from './deadline.tsx'
import { documentOf } from './document.tsx'
import { Icon } from './icons.tsx'
import { SCRIPT } from './inline-files.ts'
import { fill, type Language } from './language.ts'
import { TITLE_NAME_MAX } from './outcome-text.ts'
import { placesIn } from './places.ts'
import { Languages, NoticeBox, Shop, WhatFor } from './shop.tsx'

/**
 * Shown between our page and the provider's, to which it goes on by itself. A redirect in answer to our form would be
 * bound by the `form-action` policy, and so would every redirect that the provider makes.
 */
function LeaveMain(props: { page: CheckoutPage; provider: CardProviderId; url: string }) {
  const { page, url } = props
  const provider = CARD_PROVIDER_NAMES[props.provider]
  const { messages } = page.language
  return (
    <main id="checkout">
      <div class="card">
        <Shop page={page} />
        <section class="outcome waiting">
          <span class="badge" aria-hidden="true">
            <Icon name="card" />
          </span>
          <h1 id="heading">{fill(messages.card_leaving, { provider })}</h1>
          <p class="links">
            <a class="button" id="card-go" href={url}>
              {fill(messages.card_leave, { provider })}
            </a>
          </p>
        </section>
      </div>
    </main>
  )
}

/** The sandbox's own card page, instead of a provider's. */
function TestCardMain({ page }: { page: TestCardPage }) {
  const { language, purchase } = page
  const { messages } = language
  const charged =
    purchase.answer?.kind === 'offered' && purchase.answer.quote !== null
      ? fiat(language, purchase.answer.quote.total)
      : coin(purchase.asset, purchase.amount)
  return (
    <main id="checkout">
      <div class="card">
        <Shop
          page={{
            ...page,
            merchantName: CARD_PROVIDER_NAMES.sandbox,
            branding: { ...page.branding, logo: null },
          }}
        />
        <section class="open">
          <h1 id="heading">{messages.sandbox_card_heading}</h1>
          <p class="lead">{messages.sandbox_card_lead}</p>
          <WhatFor page={page} />
          <NoticeBox page={page} />
          {page.notice === 'sandbox_failed' && (
            <p class="notice" role="alert">
              <Icon name="alert" />
              <span>{messages.sandbox_failed}</span>
            </p>
          )}
          <form method="post" action={`./test${page.langQuery}`} id="test-card-form">
            <input type="hidden" name="purchase" value={purchase.id} />
            <label class="input" for="number">
              <span>{messages.sandbox_card_number}</span>
              <input
                id="number"
                name="number"
                inputmode="numeric"
                autocomplete="off"
                required
                maxlength={23}
                dir="ltr"
                value={grouped(TEST_CARDS.approved)}
              />
            </label>
            <button type="submit" class="button" id="test-card-pay">
              {fill(messages.sandbox_card_pay, { total: charged })}
            </button>
          </form>
          <h2>{messages.sandbox_card_numbers}</h2>
          <dl class="receipt">
            {TEST_CARD_OUTCOMES.map((outcome) => (
              <div>
                <dt>
                  <bdi dir="ltr">{grouped(TEST_CARDS[outcome])}</bdi>
                </dt>
                <dd>{messages[`sandbox_card_${outcome}`]}</dd>
              </div>
            ))}
          </dl>
        </section>
      </div>
    </main>
  )
}

/** In groups of four digits, as on a card. */
const grouped = (number: string): string => number.replace(/(.{4})(?=.)/g, '$1 ')

/** While a provider is being asked by an earlier press, its answer is a moment away. */
const ASKING_RELOAD_SECONDS = 2

/** The providers' offers. While one is still being asked the page looks again by itself. */
export function renderCardDocument(page: CardPage, isAsking: boolean): string {
  const { messages } = page.language
  return shopDocument(page, {
    state: messages.card_action,
    main: <CardMain page={page} />,
    ...(isAsking ? { refresh: String(ASKING_RELOAD_SECONDS) } : {}),
  })
}

/** On the way to a provider's page. */
export function renderLeaveDocument(page: CheckoutPage, provider: CardProviderId, url: string): string {
  const name = CARD_PROVIDER_NAMES[provider]
  return shopDocument(page, {
    state: fill(page.language.messages.card_leaving, { provider: name }),
    main: <LeaveMain page={page} provider={provider} url={url} />,
    refresh: `0;url=${url}`,
    isPassing: true,
  })
}

/** The sandbox's card page. */
export function renderTestCardDocument(page: TestCardPage): string {
  const { messages } = page.language
  return shopDocument(page, { state: messages.sandbox_card_heading, main: <TestCardMain page={page} /> })
}

function shopDocument(
  page: CheckoutPage,
  parts: { state: string; main: unknown; refresh?: string; isPassing?: boolean },
): string {
  const { language, branding, merchantName } = page
  const { messages } = language
  const body = (
    <body data-locale={language.locale}>
      {!page.view.livemode && <header class="banner">{messages.test_banner}</header>}
      {parts.main}
      {parts.isPassing !== true && (
        <footer>
          <Languages page={page} query={purchaseQuery(page)} />
        </footer>
      )}
      <script>{raw(SCRIPT)}</script>
    </body>
  )
  const merchant = merchantName.slice(0, TITLE_NAME_MAX)
  const title = fill(messages.title_state, { state: parts.state, merchant })
  const { refresh } = parts
  return documentOf({
    language,
    branding,
    title,
    body,
    reload: refresh === undefined ? 'never' : 'always',
    refresh,
  })
}

/** The query that keeps the sandbox's card page on its purchase when the language is changed. */
const purchaseQuery = (page: CheckoutPage | TestCardPage): URLSearchParams =>
  new URLSearchParams('purchase' in page ? { purchase: page.purchase.id } : {})

/** Who sells the coins for a card, for how much, and from what amount on: all of it before the buyer leaves. */
function CardMain({ page }: { page: CardPage }) {
  const { language, view, cardAsset, merchantName: merchant } = page
  const { messages } = language
  const asset = cardAsset ?? view.asset
  // Another coin's amount is set when the buyer asks for offers.
  const amount = asset === view.asset ? coin(asset, view.remaining) : ASSETS[asset].symbol
  const network = ASSETS[asset].networkName
  const price = total(language, view)
  return (
    <main id="checkout">
      <div class="card">
        <Shop page={page} />
        <section class="open">
          <h1 id="heading">{messages.card_action}</h1>
          {price !== null && <p class="lead">{fill(messages.awaiting_lead, { usd: price, merchant })}</p>}
          <WhatFor page={page} />
          <p class="price">{fill(messages.card_lead, { amount, network, merchant })}</p>
          <Deadline page={page} still />
          <NoticeBox page={page} />
          <Offers page={page} />
          <form method="post" action={`./card${page.langQuery}`} id="card-form">
            <label class="input" for="place">
              <span>{messages.card_place}</span>
              <select id="place" name="place" required autocomplete="country">
                <option value="">{messages.card_place_choose}</option>
                {placesIn(language).map(({ code, name }) => (
                  <option value={code} selected={code === page.place}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
            <button type="submit" class={page.offers.length === 0 ? 'button' : 'button second'} id="card-ask">
              {messages.card_ask}
            </button>
          </form>
          <p class="links">
            <a id="card-back" href={`../${page.token}${page.langQuery}`}>
              {messages.receipt_back}
            </a>
          </p>
        </section>
      </div>
    </main>
  )
}

function Offers({ page }: { page: CardPage }) {
  const { messages } = page.language
  if (page.offers.length === 0) return null
  const isNone = page.offers.every(({ answer }) => answer !== null && answer.kind !== 'offered')
  return (
    <section class="offers" aria-label={messages.card_offers} id="offers">
      {page.offers.map((offer) => (
        <Offer page={page} offer={offer} />
      ))}
      {isNone && (
        <p class="notice" role="status" id="card-none">
          <Icon name="alert" />
          <span>{messages.card_none}</span>
        </p>
      )}
    </section>
  )
}

function Offer({ page, offer }: { page: CardPage; offer: CardPurchase }) {
  const { language } = page
  const { messages } = language
  const provider = CARD_PROVIDER_NAMES[offer.provider]
  const { answer } = offer
  return (
    <section class={answer?.kind === 'offered' ? 'offer' : 'offer closed'} id={`offer-${offer.provider}`}>
      <h2>
        <bdi>{provider}</bdi>
      </h2>
      {linesOf(language, answer, offer).map((line) => (
        <p>{line}</p>
      ))}
      {answer?.kind === 'offered' && (
        <form method="post" action={`./card/leave${page.langQuery}`}>
          <input type="hidden" name="purchase" value={offer.id} />
          <button type="submit" class="button" id={`leave-${offer.provider}`}>
            {fill(messages.card_leave, { provider })}
          </button>
        </form>
      )}
    </section>
  )
}

function linesOf(language: Language, answer: CardAnswer | null, { asset }: CardPurchase): string[] {
  const { messages } = language
  switch (answer?.kind) {
    case undefined:
      return [messages.card_asking]
    case 'failed':
      return [messages.card_failed]
    case 'refused':
      return refusalOf(language, answer)
    case 'offered': {
      const { quote, minimum, amount } = answer
      return [
        ...(quote === null
          ? [messages.card_no_quote]
          : [
              fill(messages.card_total, { total: fiat(language, quote.total) }),
              fill(messages.card_fees, { fees: fiat(language, quote.fees) }),
            ]),
        fill(messages.card_sends, { amount: coin(asset, amount) }),
        ...minimumOf(language, minimum),
      ]
    }
  }
}

const minimumOf = (language: Language, minimum: FiatAmount | null): string[] =>
  minimum === null ? [] : [fill(language.messages.card_minimum, { minimum: fiat(language, minimum) })]

function refusalOf(
  language: Language,
  { reason, minimum }: Extract<CardAnswer, { kind: 'refused' }>,
): string[] {
  const { messages } = language
  switch (reason) {
    case 'region':
      return [messages.card_refused_region]
    case 'below_minimum':
      return [messages.card_refused_minimum, ...minimumOf(language, minimum)]
    case 'above_maximum':
      return [messages.card_refused_maximum]
    case 'not_offered':
      return [messages.card_refused]
  }
}
