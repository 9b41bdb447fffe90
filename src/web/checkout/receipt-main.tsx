import { ASSETS, COINS } from '../../core/assets.ts'
import { sellerLines } from '../../core/receipt/seller.ts'
import { coin, usdPrice } from './amounts.ts'
import type { CheckoutPage } from './checkout-page.ts'
import { fill } from './language.ts'
import { paidNetworks } from './network-names.ts'
import { LocalTime, OnNetwork, Purchase, paymentStatus, Row, Total, TransactionId } from './receipt.tsx'
import { Shop } from './shop.tsx'

/** The whole receipt: what was paid, to whom, when, at which price, and where it stands on the chain. */
export function ReceiptMain({ page }: { page: CheckoutPage }) {
  const { view, language, token, langQuery } = page
  const { messages } = language
  // After a reorganisation there is no signed receipt until the payment is back.
  const isSigned = view.state === 'paid' || view.state === 'overpaid'
  return (
    <main id="checkout">
      <div class="card">
        <Shop page={page} />
        <section class="paper">
          <h1 id="heading">
            {messages.receipt_heading}
            {!view.livemode && (
              <>
                {' '}
                <span class="test">TEST</span>
              </>
            )}
          </h1>
          <dl class="receipt">
            <SellerRows page={page} />
            <Purchase page={page} />
            <Total page={page} />
            <Row term={messages.amount_label}>
              <bdi dir="ltr">{coin(view.asset, view.amount)}</bdi>
            </Row>
            {view.received !== view.amount && (
              <Row term={messages.received}>
                <bdi dir="ltr">{coin(view.asset, view.received)}</bdi>
              </Row>
            )}
            {view.price !== null && (
              <RateRow
                page={page}
                of={view.price.currency}
                is={usdPrice(language, view.price.usdPerUnit, 'currency')}
              />
            )}
            {ratesOf(view).map(([ticker, usdPerUnit]) => (
              <RateRow page={page} of={ticker} is={usdPrice(language, usdPerUnit)} />
            ))}
            <Row term={messages.network_label}>{paidNetworks(language, view)}</Row>
            {view.paidAtMs !== null && (
              <Row term={messages.paid_at}>
                <LocalTime language={language} ms={view.paidAtMs} />
              </Row>
            )}
            {addressesOf(view).map((address) => (
              <LongRow term={messages.receipt_address} text={address} />
            ))}
            <LongRow term={messages.receipt_number} text={page.invoiceId} />
            {view.payments.map((payment) => (
              <>
                <div class="transaction">
                  <dt>{messages.transaction}</dt>
                  <dd>
                    <bdi dir="ltr">{coin(payment.asset, payment.amount)}</bdi>
                    <OnNetwork page={page} payment={payment} /> · {paymentStatus(language, payment)}
                    <TransactionId page={page} payment={payment} />
                  </dd>
                </div>
                {payment.blockHash !== null && (
                  <LongRow term={messages.receipt_block} text={payment.blockHash} />
                )}
              </>
            ))}
          </dl>
          <p class="links">
            <button type="button" class="button scripted" id="print">
              {messages.receipt_print}
            </button>
            {isSigned && (
              <a class="button second" id="signed-receipt" href={signedPath(page)} download>
                {messages.receipt_signed}
              </a>
            )}
            <a class="button second" href={`../${token}${langQuery}`}>
              {messages.receipt_back}
            </a>
          </p>
          {isSigned && <p class="keep">{messages.receipt_signed_lead}</p>}
        </section>
      </div>
    </main>
  )
}

/** The invoice's own rate; where dollars were asked for, those of the tokens that came. */
function ratesOf({ asset, usdPerUnit, tokenRates, payments }: CheckoutPage['view']) {
  if (usdPerUnit === null) return []
  const own: readonly [string, string] = [ASSETS[asset].symbol, usdPerUnit]
  if (tokenRates === null) return [own]
  const came = new Set(payments.map((payment) => COINS[payment.asset].symbol))
  const rates = Object.entries(tokenRates).filter(([ticker]) => came.has(ticker))
  return rates.length === 0 ? [own] : rates
}

/** Where its money came; its own where none did. */
function addressesOf({ address, payments }: CheckoutPage['view']): readonly string[] {
  const paid = new Set(payments.map(({ paidTo }) => paidTo).filter((to) => to !== ''))
  return paid.size === 0 ? [address] : [...paid]
}

/** Of the buyer's page, whose token it is; a till's pages are four levels deep. */
const signedPath = ({ token, tillSlug }: CheckoutPage): string =>
  tillSlug === null ? `../${token}/receipt.json` : `../../../../i/${token}/receipt.json`

/** Who sold, where the shop said so. */
function SellerRows({ page: { branding, merchantName, language } }: { page: CheckoutPage }) {
  const { seller } = branding
  const lines = sellerLines(seller, merchantName)
  return (
    <>
      {lines.length > 0 && (
        <Row term={language.messages.seller}>
          <bdi class="lines">{lines.join('\n')}</bdi>
        </Row>
      )}
      {seller.taxNumber !== null && (
        <Row term={language.messages.tax_number}>
          <bdi>{seller.taxNumber}</bdi>
        </Row>
      )}
    </>
  )
}

/** `1 LTC = $84.37` */
function RateRow({ page: { language }, of, is }: { page: CheckoutPage; of: string; is: string }) {
  const { rate, receipt_rate: term } = language.messages
  return (
    <Row term={term}>
      <bdi dir="ltr">{fill(rate, { symbol: of, usd: is })}</bdi>
    </Row>
  )
}

function LongRow({ term, text }: { term: string; text: string }) {
  return (
    <div class="transaction">
      <dt>{term}</dt>
      <dd>
        <bdi class="txid" dir="ltr">
          {text}
        </bdi>
      </dd>
    </div>
  )
}
