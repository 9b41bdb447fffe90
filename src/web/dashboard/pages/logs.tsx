import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { apiKeysOf, requestLogsOf } from '../api/reads.ts'
import type { RequestLog } from '../api/types.ts'
import { useActorNames } from '../app/actors.ts'
import { useAccount, useMode } from '../app/session.ts'
import { Badge } from '../parts/badge.tsx'
import { Breakable } from '../parts/breakable.tsx'
import { Snippet } from '../parts/copy.tsx'
import type { CsvColumn } from '../parts/csv.ts'
import { CsvButton } from '../parts/csv-button.tsx'
import { DAY_MS, DayFilter, dayEdge, Filter } from '../parts/filter.tsx'
import { Page } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { SavedViews } from '../parts/saved-views.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { type Column, DataTable, Empty, Narrow } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'

const route = getRouteApi('/inside/developers/logs')
type Search = ReturnType<typeof route.useSearch>

export function LogsPage() {
  const mode = useMode()
  const search = route.useSearch()
  const { outcome, path, caller, from, to } = search
  const filter = {
    outcome: outcome === 'failed' ? 'failed' : undefined,
    path,
    caller,
    created_after: from === undefined ? undefined : dayEdge(from, -1),
    created_before: to === undefined ? undefined : dayEdge(to, DAY_MS),
  }
  const nameOf = useActorNames()
  const logs = useQuery(requestLogsOf(mode, { ...filter, ...pageQuery(search) }))
  const isFiltered = [outcome, path, caller, from, to].some((value) => value !== undefined)
  return (
    <Page
      title="Request logs"
      lead="API requests in the last 30 days. Bodies and keys are not kept."
      actions={<CsvButton name="request-logs" path="/request-logs" query={filter} columns={CSV_COLUMNS} />}
    >
      <SavedViews list="request_logs" search={search} />
      <Filters search={search} />
      <DataTable
        caption="Requests, newest first"
        columns={columnsOf(nameOf)}
        read={logs}
        empty={isFiltered ? <NothingFound /> : <NothingYet />}
      />
      <Pager list={logs.data} position={search} />
    </Page>
  )
}

function Filters({ search }: { search: Search }) {
  const mode = useMode()
  const navigate = route.useNavigate()
  const keys = useQuery(apiKeysOf(mode, { limit: '100' }))
  const { person } = useAccount()
  const apply = (change: Partial<Search>) =>
    void navigate({ search: (old) => ({ ...old, ...change, after: undefined, before: undefined }) })
  const callers = [
    ...(keys.data?.data ?? []).map(({ id, name }) => [id, name ?? `Key …${id.slice(-8)}`] as const),
    [person.id, 'You, in the dashboard'] as const,
  ]
  return (
    <search className="filters">
      <SearchBox
        label="Path begins with"
        placeholder="/api/v1/invoices"
        value={search.path}
        onSearch={(path) => apply({ path })}
      />
      <Filter
        label="Outcome"
        all="All requests"
        value={search.outcome}
        options={[['failed', 'Failed only']]}
        onChoose={(outcome) => apply({ outcome })}
      />
      <Filter
        label="API key"
        all="All keys"
        value={search.caller}
        options={callers}
        onChoose={(caller) => apply({ caller })}
      />
      <div className="day-filters">
        <DayFilter label="After" value={search.from} onChoose={(from) => apply({ from })} />
        <DayFilter label="Before" value={search.to} onChoose={(to) => apply({ to })} />
      </div>
    </search>
  )
}

const NothingFound = () => (
  <Empty title="Nothing matches">
    <p>Remove a filter, or choose other days.</p>
    <Link className="button plain" to="/developers/logs" search={(old) => ({ mode: old.mode })}>
      Show all requests
    </Link>
  </Empty>
)

function NothingYet() {
  const mode = useMode()
  return (
    <Empty title="No requests yet">
      <p>Each API request is listed here within seconds.</p>
      <Snippet
        label="For example"
        code={`curl ${window.location.origin}/api/v1/assets -H 'authorization: Bearer sk_${mode}_…'`}
      />
    </Empty>
  )
}

export const toneOf = (status: number) => (status < 400 ? 'good' : status < 500 ? 'warn' : 'bad')

const columnsOf = (nameOf: (caller: string) => string): readonly Column<RequestLog>[] => [
  {
    title: 'Request',
    long: true,
    cell: ({ id, method, path, created_at }) => (
      <>
        <Link to="/developers/logs/$id" params={{ id }} className="row-link" preload="intent">
          {method}{' '}
          <code>
            <Breakable text={path} />
          </code>
        </Link>
        <Narrow>
          <Time at={created_at} />
        </Narrow>
      </>
    ),
  },
  {
    title: 'Response',
    cell: ({ status, error_code }) => (
      <>
        <Badge tone={toneOf(status)}>{String(status)}</Badge>{' '}
        {error_code === null ? null : (
          <span className="small-text">
            <Breakable text={error_code} />
          </span>
        )}
      </>
    ),
  },
  {
    title: 'By',
    roomy: true,
    cell: ({ caller }) => {
      const name = nameOf(caller)
      return <span className={name.startsWith('API key …') ? 'short' : 'break'}>{name}</span>
    },
  },
  { title: 'Duration', align: 'end', wide: true, cell: ({ duration_ms }) => `${duration_ms} ms` },
  { title: 'When', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
]

const CSV_COLUMNS: readonly CsvColumn<RequestLog>[] = [
  ['id', ({ id }) => id],
  ['request_id', ({ request_id }) => request_id],
  ['method', ({ method }) => method],
  ['path', ({ path }) => path],
  ['status', ({ status }) => String(status)],
  ['error_code', ({ error_code }) => error_code],
  ['duration_ms', ({ duration_ms }) => String(duration_ms)],
  ['caller', ({ caller }) => caller],
  ['created_at', ({ created_at }) => created_at],
]
