import type { Invoice, PaylinkEvent } from '../api/types.ts'
import { EventSteps } from '../parts/event-steps.tsx'
import { Time } from '../parts/time.tsx'

/** The invoice's events, newest first; each is what webhooks were told. Old ones are forgotten: it was made all the same. */
export function Timeline({ invoice, events }: { invoice: Invoice; events: readonly PaylinkEvent[] }) {
  return (
    <ol className="timeline">
      {invoice.cancelled_at === null ? null : (
        <li>
          <strong>Cancelled</strong>
          <Time at={invoice.cancelled_at} />
        </li>
      )}
      <EventSteps events={events} />
      {events.some(({ event_type }) => event_type === 'invoice.created') ? null : (
        <li>
          <strong>Made</strong>
          <Time at={invoice.created_at} />
        </li>
      )}
    </ol>
  )
}
