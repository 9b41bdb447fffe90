import { ASSETS } from '../../core/assets.ts'
import type { CardPurchase } from '../../core/card/card-purchase.ts'
import { CARD_PROVIDER_NAMES, type CardAnswer, type FiatAmount } from '../../core/card/onramp-provider.ts'
import { coin, fiat } from './amounts.ts'
import type { CardPage } from './checkout-page.ts'
import { Deadline } from './deadline.tsx'
import { Icon } from './icons.tsx'
import { fill, type Language } from './language.ts'
import { placesIn } from './places.ts'
import { NoticeBox, Shop } from './shop.tsx'

/** Who sells the coins for a card, for how much, and from what amount on: all of it before the buyer leaves. */
export function CardMain({ page }: { page: CardPage }) {
  const { language, view, cardAsset, merchantName: merchant } = page
  const { messages } = language
  const asset = cardAsset ?? view.asset
  // Another coin's amount is set when the buyer asks for offers.
  const amount = asset === view.asset ? coin(asset, view.remaining) : ASSETS[asset].symbol
  const network = ASSETS[asset].networkName
  return (
    <main id="checkout">
      <div class="card">
        <Shop page={page} />
        <section class="open">
          <h1 id="heading">{messages.card_action}</h1>
          <p class="lead">{fill(messages.card_lead, { amount, network, merchant })}</p>
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
      return [refusalOf(language, answer)]
    case 'offered': {
      const { quote, minimum, amount } = answer
      const total = quote === null ? null : fiat(language, quote.total)
      return [
        fill(messages.card_sends, { amount: coin(asset, amount) }),
        total === null ? messages.card_no_quote : fill(messages.card_total, { total }),
        ...(quote === null ? [] : [fill(messages.card_fees, { fees: fiat(language, quote.fees) })]),
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
): string {
  const { messages } = language
  switch (reason) {
    case 'region':
      return messages.card_refused_region
    case 'below_minimum':
      return [messages.card_refused_minimum, ...minimumOf(language, minimum)].join(' ')
    case 'above_maximum':
      return messages.card_refused_maximum
    case 'not_offered':
      return messages.card_refused
  }
}
