import { ASSET_IDS, ASSETS, type Network } from '../../core/assets.ts'
import { CARD_PROVIDER_NAMES } from '../../core/card/onramp-provider.ts'
import type { CheckoutPage } from './checkout-page.ts'
import { Deadline } from './deadline.tsx'
import { Icon } from './icons.tsx'
import { fill, fillParts } from './language.ts'
import { everyNetwork } from './network-names.ts'
import { OutcomeHead } from './outcome-head.tsx'
import { outcomeTextOf } from './outcome-text.ts'
import { LocalTime, Receipt, Row } from './receipt.tsx'

/** The way to the card providers, where there is one. */
export function CardWay({ page }: { page: CheckoutPage }) {
  if (page.cardAsset === null) return null
  const { messages } = page.language
  return (
    <div class="for-card">
      <p class="lead">{fill(messages.card_hint, { symbol: ASSETS[page.cardAsset].symbol })}</p>
      <a class="button" id="by-card" href={`./${page.token}/card${page.langQuery}`}>
        <Icon name="card" />
        {messages.card_action}
      </a>
    </div>
  )
}

/** What a provider said of the card, to a buyer who looks at the ways to pay: nothing came of it, or it pays already. */
export function CardNote({ page: { view, language } }: { page: CheckoutPage }) {
  const { messages } = language
  const update = view.card?.update ?? null
  if (view.card === null || update === null) return null
  const provider = CARD_PROVIDER_NAMES[view.card.provider]
  const [id, text] = {
    failed: ['card-declined', messages.card_declined] as const,
    abandoned: ['card-abandoned', messages.card_abandoned] as const,
    pending: ['card-twice', messages.card_twice] as const,
    completed: ['card-twice', messages.card_twice] as const,
  }[update]
  return (
    <p class="notice" id={id}>
      <Icon name="alert" />
      <span>{fill(text, { provider })}</span>
    </p>
  )
}

/** The buyer is with a provider, or was: only the chain says that they have paid. */
export function CardWaitingBody({ page, children }: { page: CheckoutPage; children?: unknown }) {
  const { view, merchantName: merchant } = page
  const text = outcomeTextOf(page)
  const { messages } = page.language
  return (
    <section class={`outcome ${text.tone}`} id="card-waiting">
      <OutcomeHead text={text} />
      {!view.payable && (
        <p class="lead" id="card-late">
          {fill(messages.expired_sent, { merchant })}
        </p>
      )}
      <Receipt page={page} />
      {view.payable && <WaysToPay page={page} />}
      {children}
    </section>
  )
}

function WaysToPay({ page }: { page: CheckoutPage }) {
  const { messages } = page.language
  const otherQuery = new URLSearchParams(page.langQuery)
  otherQuery.set('pay', 'wallet')
  return (
    <>
      <Deadline page={page} />
      <p class="links">
        {page.cardAsset !== null && (
          <a class="button second" id="card-again" href={`./${page.token}/card${page.langQuery}`}>
            {messages.card_again}
          </a>
        )}
        <a class="button second" id="pay-other" href={`./${page.token}?${otherQuery}`}>
          {messages.card_other}
        </a>
      </p>
    </>
  )
}

/** As a shopper knows the network. */
function networkTitle(network: Network): string {
  const own = ASSET_IDS.find((asset) => network.startsWith(`${ASSETS[asset].chain}-`))
  return own === undefined ? network : ASSETS[own].networkName
}

/** Why the page says that nothing came: what was read of the chain, from whom, and until when. */
export function WhyExpired({ page: { view, language } }: { page: CheckoutPage }) {
  const { messages } = language
  const reading = view.expiryReading
  if (reading === null) return null
  const network = <bdi>{everyNetwork(language, view)}</bdi>
  const time = <LocalTime language={language} ms={reading.readAtMs} />
  return (
    <details class="fold" id="why">
      <summary id="why-summary">{messages.why_heading}</summary>
      <p>{fillParts(messages.why_read, { network, time })}</p>
      <dl class="receipt">
        {[reading, ...(reading.others ?? [])].map(({ network: read, tipHeight, tipHash }) => (
          <div class="transaction">
            <dt>
              {messages.why_block}
              {view.alsoAccepts.length > 0 && ` · ${networkTitle(read)}`}
            </dt>
            <dd>
              <bdi dir="ltr">{String(tipHeight)}</bdi>
              <bdi class="txid" dir="ltr">
                {tipHash}
              </bdi>
            </dd>
          </div>
        ))}
        {reading.providers.length > 0 && (
          <Row term={messages.why_provider}>
            <bdi dir="ltr">{reading.providers.join(', ')}</bdi>
          </Row>
        )}
      </dl>
    </details>
  )
}
