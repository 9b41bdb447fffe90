import { Link } from '@tanstack/react-router'
import type { Invoice, PaylinkEvent } from '../api/types.ts'
import { eventWords } from '../parts/event-words.ts'
import { Time } from '../parts/time.tsx'

/** The invoice's events, newest first; each is what webhooks were told. */
export function Timeline({ invoice, events }: { invoice: Invoice; events: readonly PaylinkEvent[] }) {
  return (
    <ol className="timeline">
      {invoice.cancelled_at === null ? null : (
        <li>
          <strong>Cancelled</strong>
          <Time at={invoice.cancelled_at} />
        </li>
      )}
      {events.map((event) => (
        <li key={event.id}>
          <Link to="/developers/events/$id" params={{ id: event.id }}>
            {eventWords(event.event_type)}
          </Link>
          <Time at={event.created_at} />
        </li>
      ))}
      {events.some(({ event_type }) => event_type === 'invoice.created') ? null : (
        <li>
          <strong>Made</strong>
          <Time at={invoice.created_at} />
        </li>
      )}
    </ol>
  )
}
