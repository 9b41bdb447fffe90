import { Link } from '@tanstack/react-router'
import type { PaylinkEvent } from '../api/types.ts'
import { eventLabel } from './event-labels.ts'
import { Time } from './time.tsx'

/** The steps of a timeline that webhooks reported. */
export function EventSteps({ events }: { events: readonly PaylinkEvent[] }) {
  return events.map((event) => (
    <li key={event.id}>
      <Link to="/developers/events/$id" params={{ id: event.id }}>
        {eventLabel(event.event_type)}
      </Link>
      <Time at={event.created_at} />
    </li>
  ))
}
