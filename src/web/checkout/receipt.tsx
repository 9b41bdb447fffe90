import { COINS } from '../../core/assets.ts'
import type { CheckoutPayment } from '../../core/checkout/checkout-state.ts'
import { explorerUrl } from '../../core/checkout/explorer.ts'
import { coin, total, usd, utcTime } from './amounts.ts'
import type { CheckoutPage } from './checkout-page.ts'
import { fill, type Language } from './language.ts'
import { paidNetworks } from './network-names.ts'

/** The facts of the payment as rows: what it cost, what came, when, and by which transactions. */
export function Receipt({ page }: { page: CheckoutPage }) {
  const { view, language } = page
  const { messages } = language
  const showsReceived = view.received > 0n && view.received !== view.amount
  return (
    <dl class="receipt">
      <Purchase page={page} />
      <Total page={page} />
      <Row term={view.usdCents === null ? messages.total : messages.amount_label}>
        <bdi dir="ltr">{coin(view.asset, view.amount)}</bdi>
      </Row>
      {showsReceived && (
        <Row term={messages.received}>
          <bdi dir="ltr">{coin(view.asset, view.received)}</bdi>
        </Row>
      )}
      <Row term={messages.network_label}>{paidNetworks(language, view)}</Row>
      {view.paidAtMs !== null && (
        <Row term={messages.paid_at}>
          <LocalTime language={language} ms={view.paidAtMs} />
        </Row>
      )}
      {view.payments.map((payment) => (
        <PaymentRow page={page} payment={payment} />
      ))}
    </dl>
  )
}

/** What was paid for, where the shop said so. */
export function Purchase({ page: { item, order, language } }: { page: CheckoutPage }) {
  return (
    <>
      {item !== null && (
        <Row term={language.messages.item}>
          <bdi>{item}</bdi>
        </Row>
      )}
      {order !== null && (
        <Row term={language.messages.order}>
          <bdi>{order}</bdi>
        </Row>
      )}
    </>
  )
}

/** The price, the shop's own currency first. */
export function Total({ page: { view, language } }: { page: CheckoutPage }) {
  const price = total(language, view)
  if (price === null) return null
  return (
    <Row term={language.messages.total}>
      <strong>{price}</strong>
      {view.price !== null && view.usdCents !== null && ` · ${usd(language, view.usdCents)}`}
    </Row>
  )
}

export function Row({ term, children }: { term: string; children?: unknown }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  )
}

export function LocalTime({ language, ms }: { language: Language; ms: number }) {
  return (
    <time dateTime={new Date(ms).toISOString()} data-style="day">
      {utcTime(language, ms, 'day')}
    </time>
  )
}

function PaymentRow({ page, payment }: { page: CheckoutPage; payment: CheckoutPayment }) {
  const { language } = page
  return (
    <div class="transaction">
      <dt>{language.messages.transaction}</dt>
      <dd>
        <span>
          <bdi dir="ltr">{coin(payment.asset, payment.amount)}</bdi>
          <OnNetwork page={page} payment={payment} /> · {paymentStatus(language, payment)}
        </span>
        <TransactionId page={page} payment={payment} />
      </dd>
    </div>
  )
}

/** Where a payment came, on an invoice that takes several networks. */
export function OnNetwork({ page, payment }: { page: CheckoutPage; payment: CheckoutPayment }) {
  const { view, language } = page
  if (view.alsoAccepts.length === 0) return null
  const network = COINS[payment.asset].networkName
  return <> {fill(language.messages.open_network, { network })}</>
}

/** A transaction's id, which an explorer opens where there is one. */
export function TransactionId({ page, payment }: { page: CheckoutPage; payment: CheckoutPayment }) {
  const { asset, txid } = payment
  const id = (
    <bdi class="txid" dir="ltr">
      {txid}
    </bdi>
  )
  if (!page.isExplored) return id
  return (
    <a href={explorerUrl(asset, txid)} target="_blank" rel="noreferrer">
      {id}
    </a>
  )
}

export function paymentStatus({ messages }: Language, payment: CheckoutPayment): string {
  if (payment.reviewReason !== null) return messages.payment_review
  if (payment.status === 'detected') return messages.payment_detected
  if (payment.status === 'confirmed') return messages.payment_confirmed
  const { reached, required } = payment.confirmations
  if (required === null) return messages.payment_finalising
  return fill(messages.payment_confirming, { reached: String(reached), required: String(required) })
}
