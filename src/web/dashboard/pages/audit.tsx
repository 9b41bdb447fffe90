import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { auditEntriesOf } from '../api/reads.ts'
import type { AuditEntry } from '../api/types.ts'
import { useActorNames } from '../app/actors.ts'
import { useAccount, useMode } from '../app/session.ts'
import { Badge } from '../parts/badge.tsx'
import { Snippet } from '../parts/copy.tsx'
import type { CsvColumn } from '../parts/csv.ts'
import { CsvButton } from '../parts/csv-button.tsx'
import { Page } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { hasPage, ResourceLink } from '../parts/resource-link.tsx'
import { type Column, DataTable, Empty, Narrow } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'

const route = getRouteApi('/inside/settings/audit')
const PHASES = {
  begun: { label: 'Not finished', tone: 'busy' },
  done: { label: 'Done', tone: 'good' },
  refused: { label: 'Refused', tone: 'bad' },
} as const

/** What people did here, each entry sealed to the one before. */
export function AuditPage() {
  const mode = useMode()
  const { merchantId } = useAccount()
  const position = route.useSearch()
  const entries = useQuery(auditEntriesOf(mode, pageQuery(position)))
  const nameOf = useActorNames()
  const columns: readonly Column<AuditEntry>[] = [
    { title: 'Who', cell: ({ actor }) => <span className="break">{nameOf(actor)}</span> },
    {
      title: 'What',
      cell: ({ action, created_at }) => (
        <>
          {inWords(action.replace(/[A-Z]/g, (letter) => ` ${letter}`))}
          <Narrow>
            <Time at={created_at} />
          </Narrow>
        </>
      ),
    },
    {
      title: 'Outcome',
      cell: ({ phase, code }) => (
        <>
          <Badge tone={PHASES[phase].tone}>{PHASES[phase].label}</Badge>
          {code === null ? null : <p className="quiet small-text">{inWords(code)}</p>}
        </>
      ),
    },
    {
      title: 'On',
      wide: true,
      cell: ({ resource_id }) => <About id={resource_id} nameOf={nameOf} />,
    },
    { title: 'When', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
  ]
  return (
    <Page
      title="Audit log"
      lead="What people did in this shop. Tamper-evident: each entry is sealed to the one before it."
      actions={<CsvButton name="audit-log" path="/audit-log" query={{}} columns={CSV_COLUMNS} />}
    >
      <div className="stack large">
        <DataTable
          caption="Audit log, newest first"
          columns={columns}
          read={entries}
          empty={
            <Empty title="No actions yet">
              <p>Created keys, changed rules, added endpoints and second factors are listed here.</p>
            </Empty>
          }
        />
        <Pager list={entries.data} position={position} />
        <Snippet
          label="Check the seals, on the server"
          code={`npm run -s paylink -- audit-log verify --merchant ${merchantId}`}
        />
      </div>
    </Page>
  )
}

/** What an act was on: the way to its page, a person or a key by name, else the end of its id. */
function About({ id, nameOf }: { id: string | null; nameOf: (actor: string) => string }) {
  if (id === null) return '–'
  const name = hasPage(id) ? id : nameOf(id)
  if (name !== id) return <span className="break">{name}</span>
  return (
    <ResourceLink id={id}>
      <code>…{id.slice(-8)}</code>
    </ResourceLink>
  )
}

/** `endpoint_url_refused` or `endpoint Url refused` as "Endpoint URL refused". */
function inWords(code: string): string {
  const label = code
    .toLowerCase()
    .replaceAll('_', ' ')
    .replace(/\b(url|api|id|totp)\b/g, (word) => word.toUpperCase())
  return label.charAt(0).toUpperCase() + label.slice(1)
}

const CSV_COLUMNS: readonly CsvColumn<AuditEntry>[] = [
  ['number', ({ number }) => String(number)],
  ['actor', ({ actor }) => actor],
  ['action', ({ action }) => action],
  ['phase', ({ phase }) => phase],
  ['code', ({ code }) => code],
  ['resource_id', ({ resource_id }) => resource_id],
  ['livemode', ({ livemode }) => String(livemode)],
  ['request_id', ({ request_id }) => request_id],
  ['created_at', ({ created_at }) => created_at],
  ['hash', ({ hash }) => hash],
]
