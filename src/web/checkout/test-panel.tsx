import { TEST_SCENARIOS } from '../../wire/test-payment.ts'
import type { CheckoutPage } from './checkout-page.ts'
import { formQuery } from './page-request.ts'

export type Scenario = (typeof TEST_SCENARIOS)[number]

export const isScenario = (text: unknown): text is Scenario =>
  TEST_SCENARIOS.some((scenario) => scenario === text)

/** Buttons that pay a test invoice through the sandbox chain; plain form posts, so they work without script. */
export function TestPanel({ page }: { page: CheckoutPage }) {
  const { messages } = page.language
  return (
    <details class="sandbox" id="sandbox" open={page.view.payable || page.notice === 'sandbox_failed'}>
      <summary id="sandbox-summary">{messages.sandbox_heading}</summary>
      <p>{messages.sandbox_lead}</p>
      <form method="post" action={`./${page.token}${formQuery(page, 'test-pay')}`} id="sandbox-form">
        {TEST_SCENARIOS.map((scenario) => (
          <button type="submit" name="scenario" value={scenario} id={`sandbox-${scenario}`}>
            {messages[`sandbox_${scenario}`]}
          </button>
        ))}
      </form>
      <p class="failure" id="sandbox-failure" hidden={page.notice !== 'sandbox_failed'}>
        {messages.sandbox_failed}
      </p>
    </details>
  )
}
