import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { endpointAttemptsOf, eventsOf } from '../api/reads.ts'
import type { Attempt, QueuedDelivery, WebhookEndpoint } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useMode } from '../app/session.ts'
import { attemptBadge, attemptText, attemptTone } from '../parts/attempt-text.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { eventLabel } from '../parts/event-labels.ts'
import { Select } from '../parts/field.tsx'
import { Filter } from '../parts/filter.tsx'
import { ProblemNote } from '../parts/note.tsx'
import { Card } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { type Column, DataTable } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'

const route = getRouteApi('/inside/developers/webhooks/$id')

/** Every attempt to deliver something to this endpoint: what was sent, and what the server answered. */
export function EndpointDeliveries({ endpoint }: { endpoint: WebhookEndpoint }) {
  const mode = useMode()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const attempts = useQuery(
    endpointAttemptsOf(mode, endpoint.id, {
      outcome: search.outcome === 'failed' ? 'failed' : undefined,
      ...pageQuery(search),
    }),
  )
  return (
    <Card title="Deliveries">
      <div className="stack">
        <TestEvent endpoint={endpoint} />
        <search className="filters">
          <Filter
            label="Outcome"
            all="All deliveries"
            value={search.outcome}
            options={[['failed', 'Failed only']]}
            onChoose={(outcome) =>
              void navigate({ search: (old) => ({ ...old, outcome, after: undefined, before: undefined }) })
            }
          />
        </search>
        <DataTable
          caption="Deliveries to this endpoint, newest first"
          columns={COLUMNS}
          read={attempts}
          empty={
            <p className="quiet">
              {search.outcome === 'failed' ? 'No delivery failed.' : 'Nothing was sent yet.'} Deliveries are
              listed for 30 days.
            </p>
          }
        />
        <Pager list={attempts.data} position={search} />
      </div>
    </Card>
  )
}

const COLUMNS: readonly Column<Attempt>[] = [
  {
    title: 'Request',
    cell: ({ event_id, event_type }) => (
      <Link to="/developers/events/$id" params={{ id: event_id }} className="row-link" preload="intent">
        {event_type ?? `…${event_id.slice(-8)}`}
      </Link>
    ),
  },
  {
    title: 'Response',
    long: true,
    cell: (attempt) => (
      <>
        <Badge tone={attemptTone(attempt.code)}>{attemptBadge(attempt)}</Badge>
        {attempt.code === 'ok' ? null : <p className="quiet small-text">{attemptText(attempt)}</p>}
      </>
    ),
  },
  { title: 'Attempt', align: 'end', wide: true, cell: ({ number }) => number },
  { title: 'Duration', align: 'end', wide: true, cell: ({ duration_ms }) => `${duration_ms} ms` },
  { title: 'When', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
]

/**
 * Sends the latest event of a kind to this endpoint again: what arrives is what a real one looks like, and its id, which
 * a receiver may know already, keeps it from doing anything twice.
 */
function TestEvent({ endpoint }: { endpoint: WebhookEndpoint }) {
  const mode = useMode()
  const events = useQuery(eventsOf(mode, { limit: '100' }))
  const latest = [
    ...new Map((events.data?.data ?? []).toReversed().map((one) => [one.event_type, one])).values(),
  ]
  const [chosen, setChosen] = useState('')
  const event = latest.find(({ event_type }) => event_type === chosen) ?? latest.at(-1)
  const send = useChange<string, QueuedDelivery>(
    (id) => ({ path: `/events/${id}/queue`, body: { endpoint_id: endpoint.id } }),
    { done: 'The test event is on its way.' },
  )
  if (endpoint.status !== 'enabled')
    return (
      <div className="actions">
        <Button disabled aria-describedby="why-no-test">
          Send test event
        </Button>
        <span id="why-no-test" className="quiet">
          Verify the endpoint first. Only a verified endpoint receives events.
        </span>
      </div>
    )
  if (event === undefined)
    return <p className="quiet">Create an invoice to have an event that can be sent as a test.</p>
  return (
    <div className="row-form">
      <Select
        label="Test event"
        hint="The latest of its kind, with its own ID, so that nothing is done twice."
        value={event.event_type}
        onChange={(change) => setChosen(change.target.value)}
      >
        {latest.map(({ event_type }) => (
          <option key={event_type} value={event_type}>
            {event_type} ({eventLabel(event_type)})
          </option>
        ))}
      </Select>
      <Button busy={send.isPending} onClick={() => send.mutate(event.id)}>
        Send test event
      </Button>
      <ProblemNote error={send.error} />
    </div>
  )
}
