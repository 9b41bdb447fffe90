import type { Invoice, InvoiceStatus, Payment, PayoutStatus } from '../api/types.ts'
import { useTick } from './time.tsx'

type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'quiet'

export function Badge({ tone, children }: { tone: Tone; children: string }) {
  return <span className={`badge ${tone}`}>{children}</span>
}

/** Every status an invoice can have, in a shopkeeper's words. */
export const STATUS_LABELS: { readonly [status in InvoiceStatus]: { label: string; tone: Tone } } = {
  awaiting_payment: { label: 'Awaiting payment', tone: 'quiet' },
  payment_detected: { label: 'Payment detected', tone: 'busy' },
  confirming: { label: 'Confirming', tone: 'busy' },
  partially_paid: { label: 'Partially paid', tone: 'warn' },
  paid: { label: 'Paid', tone: 'good' },
  overpaid: { label: 'Overpaid', tone: 'warn' },
  expired: { label: 'Expired', tone: 'quiet' },
  cancelled: { label: 'Cancelled', tone: 'quiet' },
  manual_review: { label: 'Needs review', tone: 'bad' },
}

/** Whether it is the buyer's turn: a part came, and until the deadline the rest can. Afterwards a person decides. */
export const isWaitingForRest = ({ status, review_reason, expires_at }: Invoice): boolean =>
  status === 'partially_paid' && review_reason === null && Date.parse(expires_at) > Date.now()

export function StatusBadge({ invoice }: { invoice: Invoice }) {
  useTick()
  if (isWaitingForRest(invoice)) return <Badge tone="busy">Waiting for the rest</Badge>
  const { label, tone } = STATUS_LABELS[invoice.status]
  return <Badge tone={tone}>{label}</Badge>
}

export const PAYMENT_LABELS: { readonly [status in Payment['status']]: { label: string; tone: Tone } } = {
  detected: { label: 'Detected', tone: 'busy' },
  confirming: { label: 'Confirming', tone: 'busy' },
  confirmed: { label: 'Confirmed', tone: 'good' },
  replaced: { label: 'Replaced', tone: 'bad' },
  reorged: { label: 'Reorganized out', tone: 'bad' },
}

/** Every state of a payout; `next` says what it waits for. */
export const PAYOUT_LABELS: {
  readonly [status in PayoutStatus]: { label: string; tone: Tone; next: string }
} = {
  requested: { label: 'Pending approval', tone: 'warn', next: 'Nothing is sent before it is approved.' },
  approved: { label: 'Approved', tone: 'busy', next: 'It is being signed, and sent as soon as it is.' },
  submitted: { label: 'Sent', tone: 'busy', next: 'It is on the network and waits for its confirmations.' },
  confirmed: { label: 'Completed', tone: 'good', next: 'It can no longer be reversed.' },
  rejected: {
    label: 'Rejected',
    tone: 'quiet',
    next: 'Nothing was sent. The money is back in your balance.',
  },
  failed: { label: 'Failed', tone: 'bad', next: 'The money is back in your balance.' },
}

export function PayoutBadge({ status }: { status: PayoutStatus }) {
  const { label, tone } = PAYOUT_LABELS[status]
  return <Badge tone={tone}>{label}</Badge>
}
