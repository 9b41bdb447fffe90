import type { CheckoutPage } from './checkout-page.ts'
import { fill } from './language.ts'

/** For buyers who want the receipt by e-mail. The page never repeats the address: whoever has its URL sees the page. */
export function ReceiptForm({ page, open = false }: { page: CheckoutPage; open?: boolean }) {
  const { receipt, language, token, langQuery, view, merchantName: merchant, notice } = page
  if (receipt === null) return null
  const { messages } = language
  const isOpen = open || notice === 'receipt_email_refused' || notice === 'receipt_email_limit'
  return (
    <details class="fold" id="receipt-email" open={isOpen}>
      <summary id="receipt-summary">{messages.receipt_email_heading}</summary>
      {receipt === 'requested' && <p id="receipt-requested">{messages.receipt_email_requested}</p>}
      <form method="post" action={`./${token}/receipt-email${langQuery}`} id="receipt-form">
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
  )
}
