import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { invoicesOf } from '../api/reads.ts'
import type { Invoice } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useMode } from '../app/session.ts'
import { isWaitingForRest } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { CopyField } from '../parts/copy.tsx'
import { coins } from '../parts/money.ts'
import { Card } from '../parts/page.tsx'
import { formatMoment, useTick } from '../parts/time.tsx'

/** Whether there may be something to decide about an invoice: it may have been dismissed. */
const mayNeedDecision = ({ status, review_reason }: Invoice): boolean =>
  review_reason !== null || status === 'manual_review' || status === 'partially_paid' || status === 'overpaid'

const REASONS: { readonly [reason in NonNullable<Invoice['review_reason']>]: string } = {
  wrong_asset: 'Money came in another coin than the invoice asks for.',
  wrong_network:
    'The right token came on a network that this invoice does not take. It is yours once you accept it.',
  late: 'Money came after the deadline, when the price no longer held.',
  cancelled: 'Money came for an invoice that you had cancelled.',
  after_settlement: 'More money came after the invoice was paid.',
  too_many_payments: 'More payments came than anybody needs to pay this. What they brought waits for you.',
  reorged: 'The chain took back a payment that had been final.',
}

function reasonText({ status, review_reason, amount_remaining, asset }: Invoice): string {
  if (review_reason !== null) return REASONS[review_reason]
  if (status === 'partially_paid')
    return `${coins(amount_remaining, asset)} was still missing at the deadline. Accept what came, or send the buyer the link to pay the rest.`
  if (status === 'overpaid') return 'The buyer sent more than was asked for.'
  return 'This invoice needs a review.'
}

/** Whose turn it is on an invoice's page: the buyer's, or a person's of the shop as long as *Needs review* lists it. */
export function NextStep({ invoice }: { invoice: Invoice }) {
  const mayNeed = mayNeedDecision(invoice)
  const query = { attention: 'open', q: invoice.id, limit: '1' }
  const { data: queue, isError } = useQuery({ ...invoicesOf(useMode(), query), enabled: mayNeed })
  useTick()
  if (isWaitingForRest(invoice)) return <WaitingForRest invoice={invoice} />
  const isListed = queue?.data.some(({ id }) => id === invoice.id) === true
  if (!mayNeed || !(isListed || (isError && queue === undefined))) return null
  return (
    <Card title="Action required">
      <Resolution invoice={invoice} />
    </Card>
  )
}

const WaitingForRest = ({ invoice }: { invoice: Invoice }) => (
  <Card title="Waiting for the rest">
    <div className="stack form">
      <p>
        {coins(invoice.amount_remaining, invoice.asset)} is missing. The buyer can send it to the same address
        until {formatMoment(invoice.expires_at)}. If it does not come, you decide then.
      </p>
      <CopyField label="Link to pay the rest" text={invoice.checkout_url} />
      <details>
        <summary>Accept what came, without the rest</summary>
        <Decision invoice={invoice} mayDismiss={false} />
      </details>
    </div>
  </Card>
)

/** What waits for a decision on an invoice, and the two ways to decide. */
export const Resolution = ({ invoice }: { invoice: Invoice }) => (
  <div className="stack form">
    <p>{reasonText(invoice)}</p>
    {invoice.status === 'partially_paid' ? (
      <CopyField label="Link to pay the rest" text={invoice.checkout_url} />
    ) : null}
    <Decision invoice={invoice} mayDismiss />
  </div>
)

/** The payments that a dismissal closes: those on the page. Undefined where it shows no payment that waits, or not all. */
function shownReviews({ review_reason, payments, payments_count }: Invoice): string[] | undefined {
  const ids = payments.filter((payment) => payment.review_reason !== null).map(({ id }) => id)
  const isOther = review_reason === null || review_reason === 'reorged' || payments_count > payments.length
  return isOther || ids.length === 0 ? undefined : ids
}

function Decision({ invoice, mayDismiss }: { invoice: Invoice; mayDismiss: boolean }) {
  const [asked, setAsked] = useState<'accept' | 'dismiss' | null>(null)
  const resolve = useChange<'accept' | 'dismiss', Invoice>(
    (resolution) => ({
      path: `/invoices/${invoice.id}/resolve`,
      body: { resolution, payment_ids: resolution === 'dismiss' ? shownReviews(invoice) : undefined },
    }),
    {
      done: ({ status }) => (status === 'paid' ? 'Marked as paid' : 'Dismissed'),
    },
  )
  return (
    <div className="stack">
      <div className="actions">
        <Button look="primary" onClick={() => setAsked('accept')}>
          Accept as paid
        </Button>
        {mayDismiss ? <Button onClick={() => setAsked('dismiss')}>Dismiss</Button> : null}
      </div>
      {asked === 'accept' ? (
        <Confirm
          title="Mark as paid?"
          action="Mark as paid"
          onConfirm={() => resolve.mutateAsync('accept')}
          onClose={() => setAsked(null)}
        >
          <p>
            The invoice counts as paid with what came. Your shop gets an event, and may send the goods. It
            cannot be taken back.
          </p>
        </Confirm>
      ) : null}
      {asked === 'dismiss' ? (
        <Confirm
          title="Dismiss this payment?"
          action="Dismiss"
          onConfirm={() => resolve.mutateAsync('dismiss')}
          onClose={() => setAsked(null)}
        >
          <p>
            You keep what arrived, and the invoice keeps the status that its payments give. Your server is not
            notified. If more money arrives, the invoice is looked at anew.
          </p>
        </Confirm>
      ) : null}
    </div>
  )
}
