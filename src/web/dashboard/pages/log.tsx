import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { requestLogOf } from '../api/reads.ts'
import type { RequestLog } from '../api/types.ts'
import { useActorNames } from '../app/actors.ts'
import { useMode } from '../app/session.ts'
import { Badge } from '../parts/badge.tsx'
import { CopyButton } from '../parts/copy.tsx'
import { Card, Facts, Page } from '../parts/page.tsx'
import { ResourcePage } from '../parts/read.tsx'
import { ResourceLink } from '../parts/resource-link.tsx'
import { formatMoment } from '../parts/time.tsx'
import { toneOf } from './logs.tsx'

const route = getRouteApi('/inside/developers/logs/$id')

/** One request of the shop's server, with the ways to what it was about. */
export function LogPage() {
  const { id } = route.useParams()
  const mode = useMode()
  const read = useQuery(requestLogOf(mode, id))
  return (
    <ResourcePage kind="Request" read={read}>
      {(request) => <Shown request={request} />}
    </ResourcePage>
  )
}

function Shown({ request }: { request: RequestLog }) {
  const nameOf = useActorNames()
  const {
    method,
    path,
    status,
    error_code,
    request_id,
    caller,
    route: pattern,
    duration_ms,
    created_at,
  } = request
  return (
    <Page
      title={`${method} ${path}`}
      lead={
        <Badge tone={toneOf(status)}>
          {error_code === null ? String(status) : `${status} ${error_code}`}
        </Badge>
      }
    >
      <div className="stack large">
        <Card title="Request">
          <Facts
            facts={[
              ['When', formatMoment(created_at)],
              ['Route', <code key="route">{`${method} ${pattern}`}</code>],
              ['Resource', <NamedResource key="of" path={path} />],
              ['By', nameOf(caller)],
              ['Duration', `${duration_ms} ms`],
              [
                'Request ID',
                <span key="id" className="actions">
                  <code>{request_id}</code>
                  <CopyButton text={request_id} />
                </span>,
              ],
              ...(error_code === null
                ? []
                : [
                    [
                      'What to do',
                      <a key="docs" href={`/docs/errors#${error_code}`} target="_blank" rel="noopener">
                        {error_code} in the API reference
                      </a>,
                    ] as const,
                  ]),
            ]}
          />
        </Card>
        <div className="actions">
          <Link
            className="button plain"
            to="/developers/logs"
            search={(old) => ({ mode: old.mode, path: pattern.split('/:')[0] })}
          >
            Similar requests
          </Link>
          <Link className="button plain" to="/developers/logs" search={(old) => ({ mode: old.mode, caller })}>
            Requests of the same key
          </Link>
        </div>
      </div>
    </Page>
  )
}

/** What the path names, where it has a page. */
function NamedResource({ path }: { path: string }) {
  const [id] = /(?:inv|po|plink|we|evt)_[0-9a-z]{26}/.exec(path) ?? []
  if (id === undefined) return '–'
  return <ResourceLink id={id}>{id}</ResourceLink>
}
