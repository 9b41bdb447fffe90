import { ASSETS } from '../../core/assets.ts'
import { coin, nearDue, total, usdPrice } from './amounts.ts'
import { CardNote, CardWaitingBody, CardWay, WhyExpired } from './card-parts.tsx'
import { type CheckoutPage, methodsOf } from './checkout-page.ts'
import { CoinCards } from './coin-cards.tsx'
import { Deadline } from './deadline.tsx'
import { Icon } from './icons.tsx'
import { fill } from './language.ts'
import { LocalPrice } from './local-price.tsx'
import { NetworkChoice, NetworkWarning } from './network-choice.tsx'
import { OutcomeHead } from './outcome-head.tsx'
import { isWaitingForCard, milestoneOf, notesOf, outcomeTextOf, stepsDone } from './outcome-text.ts'
import { formQuery } from './page-request.ts'
import { CopyFields, FromExchange, OpenWallet, QrCodes } from './payment-form.tsx'
import { Receipt } from './receipt.tsx'
import { ReceiptForm } from './receipt-form.tsx'
import { NoticeBox, Shop, WhatFor } from './shop.tsx'
import { TestPanel } from './test-panel.tsx'

/**
 * The part of the page that changes. The script replaces all of it, so that the page has the same markup, from the same
 * function, with and without script.
 */
export function CheckoutMain({ page }: { page: CheckoutPage }) {
  const { view } = page
  const isPayable = view.payable && !isWaitingForCard(page)
  return (
    <main
      id="checkout"
      data-state={view.state}
      data-version={view.version}
      data-milestone={milestoneOf(view)}
      data-deadline={view.payable ? String(view.deadlineMs) : ''}
    >
      <div class={isPayable ? 'card wide' : 'card'}>
        <Shop page={page} />
        <Steps page={page} />
        <NoticeBox page={page} />
        <Body page={page} />
      </div>
      {page.sandbox && <TestPanel page={page} />}
    </main>
  )
}

function Body({ page }: { page: CheckoutPage }) {
  if (isWaitingForCard(page))
    return (
      <CardWaitingBody page={page}>
        <Notes page={page} />
        {!page.view.payable && <WaysOn page={page} />}
      </CardWaitingBody>
    )
  return page.view.payable ? <PayableBody page={page} /> : <SettledBody page={page} />
}

function Steps({ page }: { page: CheckoutPage }) {
  const { messages } = page.language
  const done = stepsDone(page.view)
  if (done === null) return null
  const names = [messages.step_send, messages.step_detected, messages.step_confirmed]
  return (
    <ol class="steps" aria-label={messages.step_label}>
      {names.map((name, index) => (
        <li
          class={index < done ? 'done' : index === done ? 'now' : ''}
          {...(index === done ? { 'aria-current': 'step' } : {})}
        >
          {index < done ? (
            <>
              <span aria-hidden="true">{name}</span>
              <span class="unseen">{fill(messages.step_done, { step: name })}</span>
            </>
          ) : (
            name
          )}
        </li>
      ))}
    </ol>
  )
}

/** Ether has eighteen decimals: from so many characters on a heading is set smaller, so that a phone breaks it less. */
const LONG_HEADING = 18

/**
 * Awaiting, or short with time left: what to send, by when, and how. Columns on a wide screen, so that the order of the
 * markup is the order in which both a phone and a screen show it.
 */
function PayableBody({ page }: { page: CheckoutPage }) {
  const { view } = page
  const text = outcomeTextOf(page)
  return (
    <div class="columns">
      <div>
        <div id="announce">
          <h1 id="heading" tabindex={-1} class={text.heading.length > LONG_HEADING ? 'long' : ''}>
            {text.heading}
          </h1>
          <p class="lead">{text.lead}</p>
        </div>
        <Due page={page} />
        <WhatFor page={page} />
        {view.state === 'underpaid' && <Price page={page} />}
        <Progress page={page} />
        <Notes page={page} />
        <CardNote page={page} />
        <Deadline page={page} />
        <Rate page={page} />
      </div>
      <div>
        <Methods page={page} />
        <CoinSwitch page={page} />
        <ReceiptForm page={page} />
      </div>
    </div>
  )
}

/**
 * The ways to pay, one at a time. Each is a link to the page that shows it; the script makes tabs of them. Wallets and
 * exchanges need the same address and amount, so both are shown what the panel holds but for a few words.
 */
function Methods({ page }: { page: CheckoutPage }) {
  const { messages } = page.language
  const methods = methodsOf(page)
  // Who comes back from a card provider with nothing looks for the card again.
  const usual = page.view.card?.update != null && methods.includes('card') ? 'card' : 'wallet'
  const shown = methods.find((method) => method === page.method) ?? usual
  return (
    <>
      <nav class="methods" id="methods" aria-label={messages.method_label}>
        {methods.map((method) => {
          const query = new URLSearchParams(page.langQuery)
          query.set('pay', method)
          return (
            <a
              id={`method-${method}`}
              href={`./${page.token}?${query}`}
              data-method={method}
              {...(method === shown ? { 'aria-current': 'true' } : {})}
            >
              {messages[`method_${method}`]}
            </a>
          )
        })}
      </nav>
      <div id="method" data-method={shown}>
        <NetworkChoice page={page} />
        <FromExchange page={page} />
        <div class="transfer">
          <div>
            <OpenWallet page={page} />
            <NetworkWarning page={page} />
            <CopyFields page={page} />
          </div>
          <QrCodes page={page} />
        </div>
        <CardWay page={page} />
      </div>
    </>
  )
}

/**
 * About how much is still to pay, where the heading does not say so: in US dollars where the price is in another
 * currency or only a part of it is due, and in the buyer's own.
 */
function Due({ page: { view, language, dollarsPerCurrency } }: { page: CheckoutPage }) {
  if (view.usdCents === null) return null
  const cents = (view.usdCents * view.remaining) / view.amount
  const others = new Map([...dollarsPerCurrency].filter(([currency]) => currency !== view.price?.currency))
  return (
    <>
      {(view.state === 'underpaid' || view.price !== null) && <p class="price">{nearDue(language, view)}</p>}
      <LocalPrice cents={cents} dollarsPerCurrency={others} />
    </>
  )
}

/** Keeps the price in sight while the page asks for only a part of it. */
function Price({ page: { view, language } }: { page: CheckoutPage }) {
  const price = total(language, view)
  return (
    <p class="price">
      {language.messages.total}: {price !== null && `${price} · `}
      <bdi dir="ltr">{coin(view.asset, view.amount)}</bdi>
    </p>
  )
}

function Rate({ page: { view, language } }: { page: CheckoutPage }) {
  if (view.usdCents === null || view.usdPerUnit === null) return null
  const { symbol } = ASSETS[view.asset]
  return (
    <p class="rate">
      <bdi dir="ltr">
        {fill(language.messages.rate, { symbol, usd: usdPrice(language, view.usdPerUnit) })}
      </bdi>
    </p>
  )
}

function Notes({ page }: { page: CheckoutPage }) {
  return (
    <>
      {notesOf(page).map((note) => (
        <p class="notice">
          <Icon name="alert" />
          <span>{note}</span>
        </p>
      ))}
    </>
  )
}

/** Every other state: what happened, how far it is, and the facts. */
function SettledBody({ page }: { page: CheckoutPage }) {
  const { view } = page
  const text = outcomeTextOf(page)
  return (
    <section class={`outcome ${text.tone}`}>
      <OutcomeHead text={text} />
      <Progress page={page} />
      {view.state === 'expired' && <AfterExpiry page={page} />}
      <Notes page={page} />
      {(view.state === 'detected' || view.state === 'confirming') && <ReceiptForm page={page} open />}
      <Receipt page={page} />
      <WhyExpired page={page} />
      <WaysOn page={page} />
    </section>
  )
}

/** The receipt and the way back to the shop, which comes second where the buyer answers first, or is to wait. */
function WaysOn({ page }: { page: CheckoutPage }) {
  const { returnUrl, view, merchantName: merchant, token, langQuery, language } = page
  if (returnUrl === null && view.paidAtMs === null) return null
  const isSecond = view.state === 'expired' || view.state === 'checking'
  return (
    <p class="links">
      {returnUrl !== null && (
        <a class={isSecond ? 'button second' : 'button'} id="shop-back" href={returnUrl}>
          {fill(language.messages.shop_back, { merchant })}
        </a>
      )}
      {view.paidAtMs !== null && (
        <a class="button second" id="receipt" href={`./${token}/receipt${langQuery}`}>
          {language.messages.receipt_heading}
        </a>
      )}
    </p>
  )
}

function Progress({ page: { view, language } }: { page: CheckoutPage }) {
  if (view.progress === null) return null
  const { reached, required } = view.progress
  if (required === null) return <p class="progress">{language.messages.finalising}</p>
  const text = fill(language.messages.confirmations, { reached: String(reached), required: String(required) })
  return (
    <div class="progress">
      <label for="confirmations">{text}</label>
      <progress id="confirmations" value={reached} max={required}>
        {text}
      </progress>
    </div>
  )
}

/** Two separate answers: a buyer who has not paid must not use the old address, one who has must not pay twice. */
function AfterExpiry({ page }: { page: CheckoutPage }) {
  const { language, merchantName: merchant, token, langQuery } = page
  const { messages } = language
  if (page.watching) {
    return (
      <div class="choices">
        <section id="watching">
          <h2>{messages.watching_heading}</h2>
          <p>{fill(messages.expired_sent, { merchant })}</p>
        </section>
      </div>
    )
  }
  const watchQuery = new URLSearchParams(langQuery)
  watchQuery.set('watch', '1')
  return (
    <div class="choices">
      <section>
        <h2>{messages.expired_unpaid_heading}</h2>
        {page.reopenable ? (
          <form method="post" action={`./${token}${formQuery(page, 'reopen')}`} id="reopen-form">
            <p>{messages.reopen_lead}</p>
            <button type="submit" class="button" id="reopen">
              {messages.reopen_action}
            </button>
          </form>
        ) : (
          <p>{fill(messages.expired_unpaid, { merchant })}</p>
        )}
      </section>
      <section>
        <h2>{messages.expired_sent_heading}</h2>
        <p>{fill(messages.expired_sent, { merchant })}</p>
        <a class="button second" id="watch" href={`./${token}?${watchQuery}`}>
          {messages.watch_action}
        </a>
      </section>
    </div>
  )
}

/** Another coin, while nothing has been paid: a form, so that it works without script. */
function CoinSwitch({ page }: { page: CheckoutPage }) {
  if (page.otherCoins.length === 0) return null
  const { messages } = page.language
  return (
    <details class="fold" id="switch" open={page.notice === 'open_coin_failed'}>
      <summary id="switch-summary">{messages.switch_heading}</summary>
      <form method="post" action={`./${page.token}${formQuery(page, 'switch')}`} id="switch-form">
        <p>{messages.switch_lead}</p>
        <CoinCards page={page} coins={page.otherCoins} chosen={null} legend={messages.open_coin} />
        {page.otherCoins.some(({ available }) => available) && (
          <button type="submit" class="button second" id="switch-coin">
            {messages.switch_action}
          </button>
        )}
      </form>
    </details>
  )
}
