import type { CheckoutPage } from './checkout-page.ts'
import { fill } from './language.ts'
import { formQuery } from './page-request.ts'

/**
 * For buyers who want the receipt by email. Without script the form has a page that does not reload, so that nobody loses
 * what they type. No page repeats the address: whoever has its URL sees it.
 */
export function ReceiptForm({ page, open = false }: { page: CheckoutPage; open?: boolean }) {
  const { receipt, language, token, langQuery, view, merchantName: merchant, isTyping } = page
  if (receipt === null) return null
  const { messages } = language
  const query = new URLSearchParams(langQuery)
  query.set('receipt', '1')
  return (
    <>
      {receipt === 'requested' && <p id="receipt-requested">{messages.receipt_email_requested}</p>}
      {!isTyping && (
        <noscript>
          <p>
            <a class="button second" id="receipt-page" href={`./${token}?${query}`}>
              {messages.receipt_email_heading}
            </a>
          </p>
        </noscript>
      )}
      <details class={isTyping ? 'fold' : 'fold scripted'} id="receipt-email" open={open || isTyping}>
        <summary id="receipt-summary">{messages.receipt_email_heading}</summary>
        <form method="post" action={`./${token}${formQuery(page, 'receipt-email')}`} id="receipt-form">
          <label class="input" for="email">
            {messages.receipt_email_label}
            <input
              type="email"
              name="email"
              id="email"
              autocomplete="email"
              dir="ltr"
              required
              maxlength={254}
            />
          </label>
          {!view.livemode && <p>{fill(messages.receipt_email_test, { merchant })}</p>}
          <button type="submit" class="button second" id="receipt-send">
            {messages.receipt_email_action}
          </button>
        </form>
      </details>
    </>
  )
}
