import type { InvoiceStatus, Payment, PayoutStatus } from '../api/types.ts'

type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'quiet'

export function Badge({ tone, children }: { tone: Tone; children: string }) {
  return <span className={`badge ${tone}`}>{children}</span>
}

/** Every status an invoice can have, in a shopkeeper's words. */
export const STATUS_WORDS: { readonly [status in InvoiceStatus]: { words: string; tone: Tone } } = {
  awaiting_payment: { words: 'Awaiting payment', tone: 'quiet' },
  payment_detected: { words: 'Payment detected', tone: 'busy' },
  confirming: { words: 'Confirming', tone: 'busy' },
  partially_paid: { words: 'Partially paid', tone: 'warn' },
  paid: { words: 'Paid', tone: 'good' },
  overpaid: { words: 'Overpaid', tone: 'warn' },
  expired: { words: 'Expired', tone: 'quiet' },
  cancelled: { words: 'Cancelled', tone: 'quiet' },
  manual_review: { words: 'Needs review', tone: 'bad' },
}

export function StatusBadge({ status }: { status: InvoiceStatus }) {
  const { words, tone } = STATUS_WORDS[status]
  return <Badge tone={tone}>{words}</Badge>
}

export const PAYMENT_WORDS: { readonly [status in Payment['status']]: { words: string; tone: Tone } } = {
  detected: { words: 'Detected', tone: 'busy' },
  confirming: { words: 'Confirming', tone: 'busy' },
  confirmed: { words: 'Confirmed', tone: 'good' },
  replaced: { words: 'Replaced', tone: 'bad' },
  reorged: { words: 'Reorganized out', tone: 'bad' },
}

/** Every state of a payout; `next` says what it waits for. */
export const PAYOUT_WORDS: {
  readonly [status in PayoutStatus]: { words: string; tone: Tone; next: string }
} = {
  requested: { words: 'Pending approval', tone: 'warn', next: 'Nothing is sent before it is approved.' },
  approved: { words: 'Approved', tone: 'busy', next: 'It is being signed, and sent as soon as it is.' },
  submitted: { words: 'Sent', tone: 'busy', next: 'It is on the network and waits for its confirmations.' },
  confirmed: { words: 'Completed', tone: 'good', next: 'It is final.' },
  rejected: {
    words: 'Rejected',
    tone: 'quiet',
    next: 'Nothing was sent. The money is back in your balance.',
  },
  failed: { words: 'Failed', tone: 'bad', next: 'The money is back in your balance.' },
}

export function PayoutBadge({ status }: { status: PayoutStatus }) {
  const { words, tone } = PAYOUT_WORDS[status]
  return <Badge tone={tone}>{words}</Badge>
}
