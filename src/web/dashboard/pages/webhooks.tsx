import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { endpointsOf } from '../api/reads.ts'
import type { CreatedWebhookEndpoint, WebhookEndpoint } from '../api/types.ts'
import { listenCommand } from '../app/first-steps.ts'
import { useAccount, useMode } from '../app/session.ts'
import { Breakable } from '../parts/breakable.tsx'
import { Button } from '../parts/button.tsx'
import { Snippet } from '../parts/copy.tsx'
import type { CsvColumn } from '../parts/csv.ts'
import { CsvButton } from '../parts/csv-button.tsx'
import { EndpointBadge, subscriptionLabel } from '../parts/endpoint-badge.tsx'
import { Page } from '../parts/page.tsx'
import { SecretDialog } from '../parts/secret.tsx'
import { type Column, DataTable, Empty } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { NewEndpointDialog } from './endpoint-dialogs.tsx'

export function WebhooksPage() {
  const mode = useMode()
  const { merchantId } = useAccount()
  const navigate = useNavigate()
  const endpoints = useQuery(endpointsOf(mode))
  const [isMaking, setIsMaking] = useState(false)
  const [created, setCreated] = useState<CreatedWebhookEndpoint | null>(null)
  const makeButton = (
    <Button look="primary" icon="plus" onClick={() => setIsMaking(true)}>
      Add endpoint
    </Button>
  )
  return (
    <Page
      title="Webhooks"
      lead="Receive signed events, retried for five days."
      actions={
        <>
          <CsvButton name="webhook-endpoints" path="/webhook-endpoints" query={{}} columns={CSV_COLUMNS} />
          {makeButton}
        </>
      }
    >
      <DataTable
        caption="Webhook endpoints"
        columns={COLUMNS}
        read={endpoints}
        empty={
          <Empty title="No endpoints yet">
            <p>Add the URL of your server to receive payment events.</p>
            {makeButton}
            {mode === 'test' ? (
              <Snippet label="Or forward events to your own machine" code={listenCommand(merchantId)} />
            ) : null}
          </Empty>
        }
      />
      {isMaking ? <NewEndpointDialog onClose={() => setIsMaking(false)} onCreated={setCreated} /> : null}
      {created === null ? null : (
        <SecretDialog
          title="Signing secret"
          label={created.url}
          secret={created.secret}
          onClose={() => {
            setCreated(null)
            void navigate({ to: '/developers/webhooks/$id', params: { id: created.id } })
          }}
        >
          <p>
            Your server verifies the signature of every event with it. Verify the endpoint next: no events are
            sent before.
          </p>
        </SecretDialog>
      )}
    </Page>
  )
}

const CSV_COLUMNS: readonly CsvColumn<WebhookEndpoint>[] = [
  ['id', ({ id }) => id],
  ['url', ({ url }) => url],
  ['status', ({ status }) => status],
  ['subscribed_events', ({ subscribed_events }) => subscribed_events.join(' ')],
  ['format', ({ format }) => format],
  ['verified_at', ({ verified_at }) => verified_at],
  ['created_at', ({ created_at }) => created_at],
]

const COLUMNS: readonly Column<WebhookEndpoint>[] = [
  {
    title: 'Endpoint URL',
    long: true,
    cell: ({ id, url }) => (
      <Link to="/developers/webhooks/$id" params={{ id }} className="row-link" preload="intent">
        <Breakable text={url} />
      </Link>
    ),
  },
  { title: 'Status', cell: (endpoint) => <EndpointBadge endpoint={endpoint} /> },
  { title: 'Events', wide: true, cell: subscriptionLabel },
  { title: 'Created', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
]
