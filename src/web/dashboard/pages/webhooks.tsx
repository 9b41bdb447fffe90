import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { endpointsOf, merchantOf } from '../api/reads.ts'
import type { CreatedWebhookEndpoint, CreateWebhookEndpoint, WebhookEndpoint } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useMode } from '../app/session.ts'
import { Breakable } from '../parts/breakable.tsx'
import { Button } from '../parts/button.tsx'
import { Snippet } from '../parts/copy.tsx'
import { DialogForm } from '../parts/dialog-form.tsx'
import { EndpointBadge, FORMAT_WORDS, subscriptionWords } from '../parts/endpoint-badge.tsx'
import { EVENT_TYPES, EVENT_WORDS } from '../parts/event-words.ts'
import { Checkbox, Field, Select } from '../parts/field.tsx'
import { faultOf } from '../parts/note.tsx'
import { Page } from '../parts/page.tsx'
import { SecretDialog } from '../parts/secret.tsx'
import { type Column, DataTable, Empty } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'

export function WebhooksPage() {
  const mode = useMode()
  const navigate = useNavigate()
  const endpoints = useQuery(endpointsOf(mode))
  const [isMaking, setIsMaking] = useState(false)
  const [made, setMade] = useState<CreatedWebhookEndpoint | null>(null)
  const makeButton = (
    <Button look="primary" icon="plus" onClick={() => setIsMaking(true)}>
      Add an endpoint
    </Button>
  )
  return (
    <Page
      title="Webhooks"
      lead="Where Paylink tells your servers what happened, signed, for five days until they have heard."
      actions={makeButton}
    >
      <DataTable
        caption="Webhook endpoints"
        columns={COLUMNS}
        read={endpoints}
        empty={
          <Empty title="No endpoints yet">
            <p>Give the address of your server that should hear of payments.</p>
            {makeButton}
            {mode === 'test' ? (
              <Snippet
                label="Or, for your own machine, without an endpoint"
                code="npm run -s paylink -- listen --forward-to http://localhost:4000/webhooks"
              />
            ) : null}
          </Empty>
        }
      />
      {isMaking ? <NewEndpointDialog onClose={() => setIsMaking(false)} onMade={setMade} /> : null}
      {made === null ? null : (
        <SecretDialog
          title="The endpoint's signing secret"
          label={made.url}
          secret={made.secret}
          onClose={() => {
            setMade(null)
            void navigate({ to: '/developers/webhooks/$id', params: { id: made.id } })
          }}
        >
          <p>
            Your receiver checks every event's signature with it. Then verify the endpoint, and events flow.
          </p>
        </SecretDialog>
      )}
    </Page>
  )
}

const COLUMNS: readonly Column<WebhookEndpoint>[] = [
  {
    title: 'Address',
    long: true,
    cell: ({ id, url }) => (
      <Link to="/developers/webhooks/$id" params={{ id }} className="row-link" preload="intent">
        <Breakable text={url} />
      </Link>
    ),
  },
  { title: 'State', cell: (endpoint) => <EndpointBadge endpoint={endpoint} /> },
  { title: 'Hears', wide: true, cell: subscriptionWords },
  { title: 'Added', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
]

function NewEndpointDialog({
  onClose,
  onMade,
}: {
  onClose: () => void
  onMade: (made: CreatedWebhookEndpoint) => void
}) {
  const { data: merchant } = useQuery(merchantOf(useMode()))
  const formats = merchant?.webhook_formats ?? ['paylink' as const]
  const [url, setUrl] = useState('')
  const [format, setFormat] = useState<WebhookEndpoint['format']>('paylink')
  const [isAll, setIsAll] = useState(true)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(
    new Set(['invoice.paid', 'invoice.manual_review']),
  )
  // Older services' receivers know of invoices alone.
  const types = EVENT_TYPES.filter((type) => format === 'paylink' || type.startsWith('invoice.'))
  const make = useChange<CreateWebhookEndpoint, CreatedWebhookEndpoint>(
    (body) => ({ path: '/webhook-endpoints', body }),
    {
      onDone: (endpoint) => {
        onClose()
        onMade(endpoint)
      },
    },
  )
  const toggle = (type: string) =>
    setChosen((old) => new Set(old.has(type) ? [...old].filter((one) => one !== type) : [...old, type]))
  return (
    <DialogForm
      title="Add a webhook endpoint"
      action="Add the endpoint"
      change={make}
      faults={['url']}
      onClose={onClose}
      onSubmit={() => {
        make.mutate({
          url: url.trim(),
          subscribed_events: isAll ? ['*'] : types.filter((type) => chosen.has(type)),
          ...(format === 'paylink' ? {} : { format }),
        })
      }}
    >
      <Field
        label="Address of your receiver"
        type="url"
        placeholder="https://shop.example/webhooks/paylink"
        required
        maxLength={2048}
        value={url}
        onChange={(event) => setUrl(event.target.value)}
        fault={faultOf(make.error, 'url')}
      />
      {formats.length === 1 ? null : (
        <Select
          label="What it was written for"
          value={format}
          onChange={(event) => setFormat(formats.find((one) => one === event.target.value) ?? 'paylink')}
        >
          {formats.map((one) => (
            <option key={one} value={one}>
              {FORMAT_WORDS[one]}
            </option>
          ))}
        </Select>
      )}
      <fieldset>
        <legend>What it hears of</legend>
        <Checkbox
          type="radio"
          name="events"
          label="Everything"
          checked={isAll}
          onChange={() => setIsAll(true)}
        />
        <Checkbox
          type="radio"
          name="events"
          label="Only some events"
          checked={!isAll}
          onChange={() => setIsAll(false)}
        />
        {isAll ? null : (
          <div className="scopes">
            {types.map((type) => (
              <Checkbox
                key={type}
                label={type}
                hint={EVENT_WORDS[type]}
                checked={chosen.has(type)}
                onChange={() => toggle(type)}
              />
            ))}
          </div>
        )}
      </fieldset>
    </DialogForm>
  )
}
