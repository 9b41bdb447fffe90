import { ASSETS } from '../../core/assets.ts'
import type { CheckoutPage } from './checkout-page.ts'
import { fillParts } from './language.ts'
import { LocalTime, Row } from './receipt.tsx'

/** Why the page says that nothing came: what was read of the chain, from whom, and until when. */
export function WhyExpired({ page: { view, language } }: { page: CheckoutPage }) {
  const { messages } = language
  const reading = view.expiryReading
  if (reading === null) return null
  const network = <bdi>{ASSETS[view.asset].networkName}</bdi>
  const time = <LocalTime language={language} ms={reading.readAtMs} />
  return (
    <section class="why">
      <h2>{messages.why_heading}</h2>
      <p>{fillParts(messages.why_read, { network, time })}</p>
      <dl class="receipt">
        <div class="transaction">
          <dt>{messages.why_block}</dt>
          <dd>
            <bdi dir="ltr">{String(reading.tipHeight)}</bdi>
            <bdi class="txid" dir="ltr">
              {reading.tipHash}
            </bdi>
          </dd>
        </div>
        {reading.providers.length > 0 && (
          <Row term={messages.why_provider}>
            <bdi dir="ltr">{reading.providers.join(', ')}</bdi>
          </Row>
        )}
      </dl>
    </section>
  )
}
