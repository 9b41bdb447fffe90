import { useState } from 'react'
import type { Invoice } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { CopyField } from '../parts/copy.tsx'
import { Field } from '../parts/field.tsx'
import { coins } from '../parts/money.ts'
import { Card } from '../parts/page.tsx'

/** Whether there is something to decide about an invoice. */
const needsDecision = ({ status, review_reason }: Invoice): boolean =>
  review_reason !== null || status === 'manual_review' || status === 'partially_paid' || status === 'overpaid'

const REASONS: { readonly [reason in NonNullable<Invoice['review_reason']>]: string } = {
  wrong_asset: 'Money came in another coin than the invoice asks for.',
  late: 'Money came after the deadline, when the price no longer held.',
  cancelled: 'Money came for an invoice that you had cancelled.',
  after_settlement: 'More money came after the invoice was paid.',
  too_many_payments: 'More payments came than anybody needs to pay this. What they brought waits for you.',
  reorged: 'The chain took back a payment that had been final.',
}

function reasonText({ status, review_reason, amount_remaining, asset }: Invoice): string {
  if (review_reason !== null) return REASONS[review_reason]
  if (status === 'partially_paid')
    return `${coins(amount_remaining, asset)} is missing. The buyer can send the rest to the same address.`
  if (status === 'overpaid') return 'The buyer sent more than was asked for.'
  return 'Somebody has to look at this invoice.'
}

/** What waits for a decision on this invoice, and the two ways to decide. */
export function Resolution({ invoice, withTitle = true }: { invoice: Invoice; withTitle?: boolean }) {
  const [note, setNote] = useState('')
  const [asked, setAsked] = useState<'accept' | 'dismiss' | null>(null)
  const resolve = useChange<'accept' | 'dismiss', Invoice>(
    (resolution) => ({
      path: `/invoices/${invoice.id}/resolve`,
      body: { resolution, ...(note === '' ? {} : { note }) },
    }),
    {
      done: ({ status }) => (status === 'paid' ? 'Marked as paid' : 'Dismissed'),
    },
  )
  if (!needsDecision(invoice)) return null
  const body = (
    <div className="stack">
      <p>{reasonText(invoice)}</p>
      {invoice.status === 'partially_paid' ? (
        <CopyField label="Link to pay the rest" text={invoice.checkout_url} />
      ) : null}
      <Field
        label="Note for your records"
        hint="Optional."
        maxLength={1000}
        value={note}
        onChange={(event) => setNote(event.target.value)}
      />
      <div className="actions">
        <Button look="primary" onClick={() => setAsked('accept')}>
          Accept as paid
        </Button>
        <Button onClick={() => setAsked('dismiss')}>Dismiss</Button>
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
  return withTitle ? <Card title="Action required">{body}</Card> : body
}
