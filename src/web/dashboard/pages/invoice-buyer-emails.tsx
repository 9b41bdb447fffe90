import { useQuery } from '@tanstack/react-query'
import { buyerEmailsOf } from '../api/reads.ts'
import type { BuyerEmails } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { Card, Facts } from '../parts/page.tsx'
import { formatMoment } from '../parts/time.tsx'

type Sent = BuyerEmails['data'][number]

const KINDS: { readonly [kind in Sent['kind']]: string } = {
  link: 'Link',
  reminder: 'Reminder',
  receipt: 'Receipt',
}
const REASONS: { readonly [reason in NonNullable<Sent['reason']>]: string } = {
  switched_off: 'switched off under Payment rules',
  no_mail_server: 'this server sends no emails',
  invalid_address: 'nothing can be sent to this address',
  test_mode: 'in test mode only confirmed addresses of your team get emails',
  unsubscribed: 'the buyer unsubscribed',
  recipient_limit: 'this address gets no more emails today',
  shop_limit: 'your daily limit is reached',
  not_payable: 'paid, cancelled or expired before',
  mail_server: 'the mail server did not take it',
  unreadable: 'an error on this server',
}

/** What holds for this address, whichever email it is. */
const LASTING: ReadonlySet<Sent['reason']> = new Set(['invalid_address', 'test_mode', 'unsubscribed'])

/** What the buyer was emailed, and why not; nothing where nothing was to be. */
export function BuyerEmailsCard({ invoiceId }: { invoiceId: string }) {
  const { data } = useQuery(buyerEmailsOf(useMode(), invoiceId))
  if (data === undefined || data.data.length === 0) return null
  const barred = data.data.find(({ reason }) => LASTING.has(reason))?.reason ?? null
  return (
    <Card title="Emails to the buyer">
      <Facts facts={data.data.map((email) => [KINDS[email.kind], stateOf(email, barred)] as const)} />
    </Card>
  )
}

function stateOf({ status, reason, at }: Sent, barred: Sent['reason']): string {
  if (status === 'not_sent')
    return `Not sent: ${reason === null ? 'the server says no more' : REASONS[reason]}`
  if (status === 'sent') return at === null ? 'Sent' : `Sent ${formatMoment(at)}`
  if (barred !== null) return `Will not be sent: ${REASONS[barred]}`
  return at === null ? 'Sent once it is paid' : `Due ${formatMoment(at)}`
}
