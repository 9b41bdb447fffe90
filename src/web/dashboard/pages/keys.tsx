import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { SCOPE_AREAS, SCOPES } from '../../../wire/scopes.ts'
import { apiKeysOf } from '../api/reads.ts'
import type { ApiKey, CreatedApiKey } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useAccount, useMode } from '../app/session.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Snippet } from '../parts/copy.tsx'
import { Page } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { SecretDialog } from '../parts/secret.tsx'
import { type Column, DataTable, Empty } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { NewKeyDialog } from './new-key.tsx'

const route = getRouteApi('/inside/developers/keys')

export function KeysPage() {
  const mode = useMode()
  const { isManager } = useAccount()
  const position = route.useSearch()
  const keys = useQuery(apiKeysOf(mode, pageQuery(position)))
  const [isMaking, setIsMaking] = useState(false)
  const [made, setMade] = useState<CreatedApiKey | null>(null)
  const [ending, setEnding] = useState<ApiKey | null>(null)
  const revoke = useChange<string, ApiKey>((id) => ({ path: `/api-keys/${id}/revoke` }), {
    done: 'Key revoked',
  })
  const columns: readonly Column<ApiKey>[] = [
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
      title: 'State',
      align: 'end',
      cell: (key) =>
        key.revoked_at !== null ? (
          <Badge tone="quiet">Revoked</Badge>
        ) : isManager ? (
          <Button look="danger" onClick={() => setEnding(key)} aria-label={`Revoke ${key.name ?? key.id}`}>
            Revoke
          </Button>
        ) : (
          <Badge tone="good">Works</Badge>
        ),
    },
  ]
  const makeButton = isManager ? (
    <Button look="primary" icon="plus" onClick={() => setIsMaking(true)}>
      New key
    </Button>
  ) : undefined
  return (
    <Page
      title="API keys"
      lead="Used to authenticate API requests. Each belongs to one mode."
      actions={makeButton}
    >
      <DataTable
        caption="API keys, newest first"
        columns={columns}
        read={keys}
        empty={
          <Empty title="No keys yet">
            <p>A key lets your shop's server make invoices and read what became of them.</p>
            {makeButton ?? <p>Ask an owner or admin for one.</p>}
            <Snippet
              label="How it is used"
              code={`curl ${window.location.origin}/api/v1/assets -H 'authorization: Bearer sk_${mode}_…'`}
            />
          </Empty>
        }
      />
      <Pager list={keys.data} position={position} />
      {isMaking ? <NewKeyDialog onClose={() => setIsMaking(false)} onMade={setMade} /> : null}
      {made === null ? null : (
        <SecretDialog
          title="Your new key"
          label={made.name ?? 'Key'}
          secret={made.key}
          onClose={() => setMade(null)}
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
