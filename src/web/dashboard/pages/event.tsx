import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { attemptsOf, endpointsOf, eventOf } from '../api/reads.ts'
import type { Attempt, PaylinkEvent } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { attemptBadge, attemptText, attemptTone } from '../parts/attempt-text.ts'
import { Badge } from '../parts/badge.tsx'
import { Snippet } from '../parts/copy.tsx'
import { eventLabel } from '../parts/event-labels.ts'
import { Card, Facts, Page } from '../parts/page.tsx'
import { QueueForm } from '../parts/queue-form.tsx'
import { ResourcePage } from '../parts/read.tsx'
import { type Column, DataTable } from '../parts/table.tsx'
import { formatMoment, Time } from '../parts/time.tsx'

const route = getRouteApi('/inside/developers/events/$id')
const DAY_MS = 24 * 3_600_000
/** Spec §6.6. */
const ATTEMPTS_KEPT_DAYS = 30

export function EventPage() {
  const { id } = route.useParams()
  const mode = useMode()
  const read = useQuery(eventOf(mode, id))
  return (
    <ResourcePage kind="Event" read={read}>
      {(event) => <Inspector event={event} />}
    </ResourcePage>
  )
}

function Inspector({ event }: { event: PaylinkEvent }) {
  const { id, event_type, resource_id, sequence, request_id, created_at } = event
  return (
    <Page title={event_type} lead={eventLabel(event_type)}>
      <div className="stack large">
        <Card title="Details">
          <Facts
            facts={[
              ['ID', <code key="id">{id}</code>],
              ['When', formatMoment(created_at)],
              [
                'Resource',
                resource_id.startsWith('inv_') ? (
                  <Link key="of" to="/invoices/$id" params={{ id: resource_id }}>
                    {resource_id}
                  </Link>
                ) : resource_id.startsWith('po_') ? (
                  <Link key="of" to="/payouts/$id" params={{ id: resource_id }}>
                    {resource_id}
                  </Link>
                ) : (
                  resource_id
                ),
              ],
              ['Sequence', `${sequence} of this resource`],
              ['Caused by', request_id === null ? 'System' : <code key="request">{request_id}</code>],
            ]}
          />
        </Card>
        <Attempts event={event} />
        <Card title="Send it again">
          <p className="quiet">
            Under the same id, so that a receiver which has it already can tell. Its subscriptions do not
            matter.
          </p>
          <QueueForm eventId={id} />
        </Card>
        <Card title="Payload">
          <Snippet label="The body of the POST" code={JSON.stringify(event, null, 2)} />
        </Card>
        <Signature event={event} />
      </div>
    </Page>
  )
}

function Attempts({ event }: { event: PaylinkEvent }) {
  const mode = useMode()
  const attempts = useQuery(attemptsOf(mode, event.id))
  const endpoints = useQuery(endpointsOf(mode))
  const urlOf = (id: string): string =>
    endpoints.data?.data.find((endpoint) => endpoint.id === id)?.url ?? 'an endpoint that was removed'
  const columns: readonly Column<Attempt>[] = [
    { title: 'Try', cell: ({ number }) => number },
    { title: 'To', cell: ({ endpoint_id }) => <span className="break">{urlOf(endpoint_id)}</span> },
    {
      title: 'Outcome',
      cell: ({ code, http_status }) => (
        <>
          <Badge tone={attemptTone(code)}>{attemptBadge({ code, http_status })}</Badge>
          {code === 'ok' ? null : <p className="quiet small-text">{attemptText({ code, http_status })}</p>}
        </>
      ),
    },
    { title: 'Duration', align: 'end', wide: true, cell: ({ duration_ms }) => `${duration_ms} ms` },
    { title: 'When', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
  ]
  return (
    <Card title="Deliveries">
      <DataTable
        caption="Attempts to deliver it, newest first"
        columns={columns}
        read={attempts}
        empty={<p className="quiet">{whyNoAttempts(event)}</p>}
      />
    </Card>
  )
}

function whyNoAttempts({ created_at }: PaylinkEvent): string {
  if (Date.now() - Date.parse(created_at) > ATTEMPTS_KEPT_DAYS * DAY_MS) {
    return `Attempts are kept for ${ATTEMPTS_KEPT_DAYS} days, and this event is older: what became of them is no longer listed.`
  }
  return 'No attempt yet: no verified endpoint subscribed to it then, or its turn is still to come.'
}

/** What every attempt is sent with, besides its body. */
const HEADERS = [
  ['content-type', 'application/json'],
  ['user-agent', 'Paylink-Webhooks/1'],
  ['paylink-event-id', 'The id of the event, the same on every attempt.'],
  ['paylink-version', 'The version of the body, as its schema_version.'],
  ['paylink-signature', 'When it was signed, and the signature, as above.'],
  ['webhook-id', 'Standard Webhooks: the id of the event again.'],
  ['webhook-timestamp', 'Standard Webhooks: when it was signed, in seconds.'],
  [
    'webhook-signature',
    'Standard Webhooks: v1, and HMAC-SHA-256 in Base64 over id, time and body, joined by full stops, keyed with what the secret after whsec_ decodes to. One for each secret.',
  ],
] as const

/** How a receiver checks it (spec §6.4), with this event's own bytes, and where two secrets sign just now. */
function Signature({ event }: { event: PaylinkEvent }) {
  const seconds = Math.floor(Date.parse(event.created_at) / 1_000)
  const body = JSON.stringify(event)
  const endpoints = useQuery(endpointsOf(useMode()))
  const rotating = endpoints.data?.data.filter(({ secret_rotation }) => secret_rotation.active) ?? []
  return (
    <Card title="How it is signed">
      <div className="stack">
        <p>
          Each attempt is signed anew. The header <code>paylink-signature</code> says when, in seconds, and
          the signature: HMAC-SHA-256 in hexadecimal, keyed with the endpoint's whole secret,{' '}
          <code>whsec_</code> included, over the time, a full stop, and the body exactly as it came. While a
          secret rotates there is one <code>v1</code> for each.
        </p>
        {rotating.map(({ id, url, secret_rotation: { ends_at } }) => (
          <p key={id} className="break">
            Two secrets sign for {url} now
            {ends_at === null ? '' : `, until ${formatMoment(ends_at)}`}.
          </p>
        ))}
        <dl className="facts">
          {HEADERS.map(([name, meaning]) => (
            <div key={name}>
              <dt>
                <code>{name}</code>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
        <Snippet label="Header" code={`paylink-signature: t=${seconds},v1=<64 hexadecimal digits>`} />
        <Snippet label="What is signed, with this event's time" code={`${seconds}.${body}`} />
        <p className="quiet">
          Compare in constant time, refuse what is older than five minutes, and remember{' '}
          <code>paylink-event-id</code> so that a repeat does nothing twice. An endpoint with another payload
          format gets the headers of that format instead.
        </p>
      </div>
    </Card>
  )
}
