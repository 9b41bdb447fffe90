import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { eventsOf } from '../api/reads.ts'
import type { PaylinkEvent, RecoverEvents, Recovery } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useMode } from '../app/session.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field, Select } from '../parts/field.tsx'
import { ProblemNote } from '../parts/note.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { QueueForm, useReadyEndpoints } from '../parts/queue-form.tsx'
import { type Column, DataTable, Empty } from '../parts/table.tsx'
import { EVENT_COLUMNS } from './events.tsx'

const route = getRouteApi('/inside/developers/awaiting')
const DAY_MS = 24 * 3_600_000

/** Events that nobody was notified of: none could be, or all gave up. */
export function AwaitingPage() {
  const mode = useMode()
  const position = route.useSearch()
  const events = useQuery(eventsOf(mode, { delivery: 'awaiting', ...pageQuery(position) }))
  const [sending, setSending] = useState<PaylinkEvent | null>(null)
  const columns: readonly Column<PaylinkEvent>[] = [
    ...EVENT_COLUMNS,
    {
      title: 'Send',
      align: 'end',
      cell: (event) => (
        <Button
          onClick={() => setSending(event)}
          aria-label={`Send ${event.event_type} of ${event.resource_id}`}
        >
          Send
        </Button>
      ),
    },
  ]
  return (
    <Page
      title="Notifications awaiting delivery"
      lead="Events that found no verified endpoint, or whose endpoint was disabled, removed or failing for five days. Events that no endpoint subscribes to are listed under Events only."
    >
      <div className="stack large">
        {events.data === undefined || events.data.data.length === 0 ? null : <RecoverCard />}
        <DataTable
          caption="Events awaiting delivery, newest first"
          columns={columns}
          read={events}
          empty={
            <Empty title="Everything was delivered">
              <p>Events that an endpoint should have received, and did not, appear here.</p>
              <Link className="button plain" to="/developers/events" search={{}}>
                See all events
              </Link>
            </Empty>
          }
        />
        <Pager list={events.data} position={position} />
      </div>
      {sending === null ? null : (
        <Dialog title={`Send ${sending.event_type}`} onClose={() => setSending(null)}>
          <QueueForm eventId={sending.id} />
        </Dialog>
      )}
    </Page>
  )
}

function recoveryMessage({ queued, has_more }: Recovery): string {
  if (queued === 0) return 'Nothing to send: this endpoint subscribes to none of the events since then.'
  const sent = queued === 1 ? '1 event is on its way.' : `${queued} events are on their way.`
  return has_more ? `${sent} There are more: send again.` : sent
}

/** Everything since a time that one endpoint subscribes to, to that endpoint. */
function RecoverCard() {
  const ready = useReadyEndpoints()
  const [since, setSince] = useState(() => new Date(Date.now() - DAY_MS).toISOString().slice(0, 16))
  const [chosen, setChosen] = useState('')
  const endpointId = chosen === '' ? (ready[0]?.id ?? '') : chosen
  const recover = useChange<RecoverEvents, Recovery>((body) => ({ path: '/events/recover', body }), {
    done: recoveryMessage,
  })
  return (
    <Card title="Send all events since">
      {ready.length === 0 ? (
        <p>
          There is no verified endpoint. <Link to="/developers/webhooks">Add or verify one</Link> first.
        </p>
      ) : (
        <form
          className="row-form"
          onSubmit={(event) => {
            event.preventDefault()
            recover.mutate({ endpoint_id: endpointId, since: `${since}:00Z` })
          }}
        >
          <Field
            label="Since (UTC)"
            type="datetime-local"
            required
            value={since}
            onChange={(event) => setSince(event.target.value)}
          />
          <Select label="To" value={endpointId} onChange={(event) => setChosen(event.target.value)}>
            {ready.map(({ id, url }) => (
              <option key={id} value={id}>
                {url}
              </option>
            ))}
          </Select>
          <Button type="submit" look="primary" busy={recover.isPending}>
            Send all
          </Button>
          <ProblemNote error={recover.error} />
        </form>
      )}
    </Card>
  )
}
