import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { eventsOf } from '../api/reads.ts'
import type { PaylinkEvent } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { Breakable } from '../parts/breakable.tsx'
import type { CsvColumn } from '../parts/csv.ts'
import { CsvButton } from '../parts/csv-button.tsx'
import { EVENT_TYPES, eventLabel } from '../parts/event-labels.ts'
import { Filter } from '../parts/filter.tsx'
import { Page } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { SavedViews } from '../parts/saved-views.tsx'
import { type Column, DataTable, Empty, Narrow } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'

const route = getRouteApi('/inside/developers/events')

export function EventsPage() {
  const mode = useMode()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const filter = { event_type: search.type, resource_id: search.resource }
  const events = useQuery(eventsOf(mode, { ...filter, ...pageQuery(search) }))
  return (
    <Page
      title="Events"
      lead="Everything that happened, as it is sent to your webhook endpoints."
      actions={<CsvButton name="events" path="/events" query={filter} columns={CSV_COLUMNS} />}
    >
      <SavedViews list="events" search={search} />
      <search className="filters">
        <Filter
          label="Event type"
          all="All event types"
          value={search.type}
          options={EVENT_TYPES.map((type) => [type, type])}
          onChoose={(type) =>
            void navigate({ search: (old) => ({ ...old, type, after: undefined, before: undefined }) })
          }
        />
        {search.resource === undefined ? null : (
          <Link
            className="button plain"
            to="."
            search={(old) => ({ ...old, resource: undefined, after: undefined, before: undefined })}
          >
            Only …{search.resource.slice(-8)} · show all
          </Link>
        )}
      </search>
      <DataTable
        caption="Events, newest first"
        columns={EVENT_COLUMNS}
        read={events}
        empty={
          <Empty title="No events here">
            <p>They appear here as soon as an invoice is created.</p>
            <Link className="button primary" to="/invoices">
              Go to the invoices
            </Link>
          </Empty>
        }
      />
      <Pager list={events.data} position={search} />
    </Page>
  )
}

const Of = ({ resourceId }: { resourceId: string }) => <code className="short">…{resourceId.slice(-8)}</code>

export const EVENT_COLUMNS: readonly Column<PaylinkEvent>[] = [
  {
    title: 'Event',
    cell: ({ id, event_type, resource_id, created_at }) => (
      <>
        <Link to="/developers/events/$id" params={{ id }} className="row-link" preload="intent">
          <Breakable text={event_type} />
        </Link>
        <Narrow>
          <Time at={created_at} /> <Of resourceId={resource_id} />
        </Narrow>
      </>
    ),
  },
  { title: 'Description', wide: true, cell: ({ event_type }) => eventLabel(event_type) },
  {
    title: 'Resource',
    wide: true,
    cell: ({ resource_id }) => <Of resourceId={resource_id} />,
  },
  { title: 'When', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
]

const CSV_COLUMNS: readonly CsvColumn<PaylinkEvent>[] = [
  ['id', ({ id }) => id],
  ['event_type', ({ event_type }) => event_type],
  ['resource_id', ({ resource_id }) => resource_id],
  ['sequence', ({ sequence }) => String(sequence)],
  ['request_id', ({ request_id }) => request_id],
  ['created_at', ({ created_at }) => created_at],
]
