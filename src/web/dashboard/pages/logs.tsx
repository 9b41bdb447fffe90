import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { requestLogsOf } from '../api/reads.ts'
import type { RequestLog } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { Badge } from '../parts/badge.tsx'
import { Breakable } from '../parts/breakable.tsx'
import { Snippet } from '../parts/copy.tsx'
import { Filter } from '../parts/filter.tsx'
import { Page } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { type Column, DataTable, Empty, Narrow } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'

const route = getRouteApi('/inside/developers/logs')

export function LogsPage() {
  const mode = useMode()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const logs = useQuery(
    requestLogsOf(mode, {
      outcome: search.outcome === 'failed' ? 'failed' : undefined,
      ...pageQuery(search),
    }),
  )
  return (
    <Page title="Request logs" lead="API requests in the last 30 days. Bodies and keys are not kept.">
      <search className="filters">
        <Filter
          label="Outcome"
          all="All requests"
          value={search.outcome}
          options={[['failed', 'Failed only']]}
          onChoose={(outcome) =>
            void navigate({ search: (old) => ({ ...old, outcome, after: undefined, before: undefined }) })
          }
        />
      </search>
      <DataTable
        caption="Requests, newest first"
        columns={COLUMNS}
        read={logs}
        empty={
          <Empty title="No requests yet">
            <p>Ask the API something, and it stands here within seconds.</p>
            <Snippet
              label="For example"
              code={`curl ${window.location.origin}/api/v1/assets -H 'authorization: Bearer sk_${mode}_…'`}
            />
          </Empty>
        }
      />
      <Pager list={logs.data} position={search} />
    </Page>
  )
}

const toneOf = (status: number) => (status < 400 ? 'good' : status < 500 ? 'warn' : 'bad')

const COLUMNS: readonly Column<RequestLog>[] = [
  {
    title: 'Request',
    long: true,
    cell: ({ method, path, created_at }) => (
      <>
        <span className="break">
          <strong>{method}</strong>{' '}
          <code>
            <Breakable text={path} />
          </code>
        </span>
        <Narrow>
          <Time at={created_at} />
        </Narrow>
      </>
    ),
  },
  {
    title: 'Answer',
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
  { title: 'By', wide: true, cell: ({ caller }) => <code className="short">…{caller.slice(-8)}</code> },
  { title: 'Request ID', wide: true, cell: ({ request_id }) => <code>{request_id}</code> },
  { title: 'Duration', align: 'end', wide: true, cell: ({ duration_ms }) => `${duration_ms} ms` },
  { title: 'When', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
]
