import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { SCOPE_AREAS, SCOPES, type Scope } from '../../../wire/scopes.ts'
import { apiKeysOf } from '../api/reads.ts'
import type { ApiKey, CreateApiKey, CreatedApiKey } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useAccount, useMode } from '../app/session.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Snippet } from '../parts/copy.tsx'
import type { CsvColumn } from '../parts/csv.ts'
import { CsvButton } from '../parts/csv-button.tsx'
import { DialogForm } from '../parts/dialog-form.tsx'
import { Checkbox, Field } from '../parts/field.tsx'
import { faultOf } from '../parts/note.tsx'
import { Page } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { SecretDialog } from '../parts/secret.tsx'
import { type Column, DataTable, Empty, NothingFound } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'

const route = getRouteApi('/inside/developers/keys')

export function KeysPage() {
  const mode = useMode()
  const { isManager } = useAccount()
  const search = route.useSearch()
  const { q } = search
  const navigate = route.useNavigate()
  const keys = useQuery(apiKeysOf(mode, { q, ...pageQuery(search) }))
  const [isMaking, setIsMaking] = useState(false)
  const [created, setCreated] = useState<CreatedApiKey | null>(null)
  const [ending, setEnding] = useState<ApiKey | null>(null)
  const revoke = useChange<string, ApiKey>((id) => ({ path: `/api-keys/${id}/revoke` }), {
    done: 'Key revoked',
  })
  const makeButton = isManager ? (
    <Button look="primary" icon="plus" onClick={() => setIsMaking(true)}>
      New key
    </Button>
  ) : undefined
  return (
    <Page
      title="API keys"
      lead="Used to authenticate API requests. Each belongs to one mode."
      actions={
        <>
          <CsvButton name="api-keys" path="/api-keys" query={{ q }} columns={CSV_COLUMNS} />
          {makeButton}
        </>
      }
    >
      <search className="filters">
        <SearchBox
          label="Search API keys"
          placeholder="Name, ID, or last characters"
          value={q}
          onSearch={(wanted) => void navigate({ search: ({ mode }) => ({ mode, q: wanted }) })}
        />
      </search>
      <DataTable
        caption="API keys, newest first"
        columns={columnsOf(isManager ? setEnding : null)}
        read={keys}
        empty={
          q !== undefined ? (
            <NothingFound>
              <p>No key has this in its name or id.</p>
            </NothingFound>
          ) : (
            <Empty title="No keys yet">
              <p>A key lets your shop's server make invoices and read what became of them.</p>
              {makeButton ?? <p>Ask an owner or admin for one.</p>}
              <Snippet
                label="How it is used"
                code={`curl ${window.location.origin}/api/v1/assets -H 'authorization: Bearer sk_${mode}_…'`}
              />
            </Empty>
          )
        }
      />
      <Pager list={keys.data} position={search} />
      {isMaking ? <NewKeyDialog onClose={() => setIsMaking(false)} onCreated={setCreated} /> : null}
      {created === null ? null : (
        <SecretDialog
          title="Your new key"
          label={created.name ?? 'Key'}
          secret={created.key}
          onClose={() => setCreated(null)}
        />
      )}
      {ending === null ? null : (
        <Confirm
          title={`Revoke ${ending.name ?? 'this key'}?`}
          action="Revoke it"
          danger
          onConfirm={() => revoke.mutateAsync(ending.id)}
          onClose={() => setEnding(null)}
        >
          <p>
            Whatever uses it stops working at once, and it cannot be brought back. Create another key first.
          </p>
        </Confirm>
      )}
    </Page>
  )
}

/** `onRevoke`: null for whoever may not. */
const columnsOf = (onRevoke: ((key: ApiKey) => void) | null): readonly Column<ApiKey>[] => [
  {
    title: 'Name',
    cell: ({ name, last_characters }) => (
      <>
        <strong>{name ?? 'Made by command'}</strong>
        <br />
        <code className="quiet">{last_characters === null ? '' : `…${last_characters}`}</code>
      </>
    ),
  },
  { title: 'Permissions', wide: true, cell: ({ scopes }) => scopesLabel(scopes) },
  { title: 'Created', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
  {
    title: 'Status',
    align: 'end',
    cell: (key) =>
      key.revoked_at !== null ? (
        <Badge tone="quiet">Revoked</Badge>
      ) : onRevoke !== null ? (
        <Button look="danger" onClick={() => onRevoke(key)} aria-label={`Revoke ${key.name ?? key.id}`}>
          Revoke
        </Button>
      ) : (
        <Badge tone="good">Works</Badge>
      ),
  },
]

/** `Everything`, or the areas with what may be done there. */
function scopesLabel(scopes: readonly string[]): string {
  if (SCOPES.every((scope) => scopes.includes(scope))) return 'Everything'
  return SCOPE_AREAS.flatMap((area) => {
    const can = [
      scopes.includes(`${area}:read`) ? 'read' : '',
      scopes.includes(`${area}:write`) ? 'write' : '',
    ]
    const label = can.filter(Boolean).join(' and ')
    return label === '' ? [] : [`${area.replaceAll('_', ' ')} (${label})`]
  }).join(', ')
}

/** What a server is usually for, each with what it takes and no more. */
const PRESETS = {
  shop: {
    label: 'Accept payments',
    hint: 'For a shop’s server: create invoices, links and checkouts, and read what became of them.',
    scopes: [
      'invoices:read',
      'invoices:write',
      'payment_links:read',
      'payment_links:write',
      'checkout_sessions:read',
      'checkout_sessions:write',
      'events:read',
    ],
  },
  books: {
    label: 'Read only',
    hint: 'For bookkeeping and reports: read everything, change nothing.',
    scopes: SCOPES.filter((scope) => scope.endsWith(':read')),
  },
  payouts: {
    label: 'Payouts',
    hint: 'Request payouts and read balances. In live mode a person still approves each.',
    scopes: ['balances:read', 'payouts:read', 'payouts:write'],
  },
  custom: { label: 'Custom', hint: 'Choose each permission.', scopes: [] },
} as const satisfies {
  readonly [preset: string]: { label: string; hint: string; scopes: readonly Scope[] }
}
type Preset = keyof typeof PRESETS
const PRESET_NAMES = Object.keys(PRESETS) as Preset[]

function NewKeyDialog({
  onClose,
  onCreated,
}: {
  onClose: () => void
  onCreated: (key: CreatedApiKey) => void
}) {
  const [name, setName] = useState('')
  const [preset, setPreset] = useState<Preset>('shop')
  const [scopes, setScopes] = useState<ReadonlySet<Scope>>(new Set(PRESETS.shop.scopes))
  const make = useChange<CreateApiKey, CreatedApiKey>((body) => ({ path: '/api-keys', body }), {
    onDone: (key) => {
      onClose()
      onCreated(key)
    },
  })
  const choose = (chosen: Preset) => {
    setPreset(chosen)
    // Custom begins with what was chosen before.
    if (chosen !== 'custom') setScopes(new Set(PRESETS[chosen].scopes))
  }
  return (
    <DialogForm
      title="New API key"
      action="Create key"
      change={make}
      faults={['name', 'scopes']}
      onClose={onClose}
      onSubmit={() => make.mutate({ name: name.trim(), scopes: SCOPES.filter((scope) => scopes.has(scope)) })}
    >
      <Field
        label="Name"
        hint="Where it will be used, to find it again."
        required
        maxLength={120}
        placeholder="Shop server"
        value={name}
        onChange={(event) => setName(event.target.value)}
        fault={faultOf(make.error, 'name')}
      />
      <fieldset>
        <legend>Permissions</legend>
        {PRESET_NAMES.map((one) => (
          <Checkbox
            key={one}
            type="radio"
            name="preset"
            label={PRESETS[one].label}
            hint={PRESETS[one].hint}
            checked={preset === one}
            onChange={() => choose(one)}
          />
        ))}
        {preset === 'custom' ? <ScopeChoice scopes={scopes} onChange={setScopes} /> : null}
        {faultOf(make.error, 'scopes') === null ? null : (
          <p className="fault" role="alert">
            Choose at least one permission.
          </p>
        )}
      </fieldset>
    </DialogForm>
  )
}

function ScopeChoice({
  scopes,
  onChange,
}: {
  scopes: ReadonlySet<Scope>
  onChange: (scopes: ReadonlySet<Scope>) => void
}) {
  const toggle = (scope: Scope) =>
    onChange(new Set(scopes.has(scope) ? [...scopes].filter((one) => one !== scope) : [...scopes, scope]))
  return (
    <div className="scopes">
      {SCOPES.map((scope) => (
        <Checkbox
          key={scope}
          label={scope.replaceAll('_', ' ').replace(':', ', ')}
          checked={scopes.has(scope)}
          onChange={() => toggle(scope)}
        />
      ))}
    </div>
  )
}

const CSV_COLUMNS: readonly CsvColumn<ApiKey>[] = [
  ['id', ({ id }) => id],
  ['name', ({ name }) => name],
  ['last_characters', ({ last_characters }) => last_characters],
  ['scopes', ({ scopes }) => scopes.join(' ')],
  ['created_at', ({ created_at }) => created_at],
  ['revoked_at', ({ revoked_at }) => revoked_at],
]
