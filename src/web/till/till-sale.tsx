import { total } from '../checkout/amounts.ts'
import type { CheckoutPage } from '../checkout/checkout-page.ts'
import { Icon } from '../checkout/icons.tsx'

/** What a till adds to the page of a sale: the total, the way back, and what fills the screen once it is paid. */
export function TillSale({ page }: { page: CheckoutPage }) {
  const { language, tillSlug, token, langQuery, view } = page
  const { messages } = language
  const back = `../../${tillSlug}${langQuery}`
  return (
    <>
      <nav class="till-head" aria-label={messages.till_back}>
        <strong>{total(language, view)}</strong>
        <a class="button second" id="new-sale" href={back}>
          {messages.till_new_sale}
        </a>
      </nav>
      <dialog id="till-done" aria-labelledby="till-done-heading">
        <Icon name="check" />
        <h2 id="till-done-heading">{messages.till_status_paid}</h2>
        <p>{total(language, view)}</p>
        <a class="button" id="next-customer" href={back}>
          {messages.till_next}
        </a>
        <a class="button second" id="till-receipt" href={`./${token}/receipt${langQuery}`}>
          {messages.receipt_heading}
        </a>
      </dialog>
    </>
  )
}
