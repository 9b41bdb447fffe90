import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { merchantOf } from '../api/reads.ts'
import type {
  CreatedWebhookEndpoint,
  CreateWebhookEndpoint,
  UpdateWebhookEndpoint,
  WebhookEndpoint,
} from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useMode } from '../app/session.ts'
import { DialogForm } from '../parts/dialog-form.tsx'
import { FORMAT_LABELS } from '../parts/endpoint-badge.tsx'
import { EventChoice, eventTypesOf, FIRST_CHOICE } from '../parts/event-choice.tsx'
import { Field, Select } from '../parts/field.tsx'
import { faultOf, Note } from '../parts/note.tsx'

/** Asks for an endpoint's URL, format and events; the answer brings its signing secret, shown once. */
export function NewEndpointDialog({
  onClose,
  onCreated,
}: {
  onClose: () => void
  onCreated: (created: CreatedWebhookEndpoint) => void
}) {
  const { data: merchant } = useQuery(merchantOf(useMode()))
  const formats = merchant?.webhook_formats ?? ['paylink' as const]
  const [url, setUrl] = useState('')
  const [format, setFormat] = useState<WebhookEndpoint['format']>('paylink')
  const [isAll, setIsAll] = useState(true)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(FIRST_CHOICE)
  const types = eventTypesOf(format)
  const make = useChange<CreateWebhookEndpoint, CreatedWebhookEndpoint>(
    (body) => ({ path: '/webhook-endpoints', body }),
    {
      onDone: (endpoint) => {
        onClose()
        onCreated(endpoint)
      },
    },
  )
  return (
    <DialogForm
      title="Add endpoint"
      action="Create endpoint"
      change={make}
      faults={['url', 'format', 'subscribed_events']}
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
        label="Endpoint URL"
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
          label="Payload format"
          value={format}
          onChange={(event) => setFormat(formats.find((one) => one === event.target.value) ?? 'paylink')}
          fault={faultOf(make.error, 'format')}
        >
          {formats.map((one) => (
            <option key={one} value={one}>
              {FORMAT_LABELS[one]}
            </option>
          ))}
        </Select>
      )}
      <EventChoice
        types={types}
        isAll={isAll}
        onAll={setIsAll}
        chosen={chosen}
        onChoose={setChosen}
        fault={faultOf(make.error, 'subscribed_events')}
      />
    </DialogForm>
  )
}

/** Where an endpoint's events go, and which they are. */
export function EditEndpointDialog({
  endpoint,
  onClose,
}: {
  endpoint: WebhookEndpoint
  onClose: () => void
}) {
  const wasAll = endpoint.subscribed_events.includes('*')
  const [url, setUrl] = useState(endpoint.url)
  const [isAll, setIsAll] = useState(wasAll)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(
    wasAll ? FIRST_CHOICE : new Set(endpoint.subscribed_events),
  )
  const types = eventTypesOf(endpoint.format)
  const save = useChange<UpdateWebhookEndpoint, WebhookEndpoint>(
    (body) => ({ method: 'PATCH', path: `/webhook-endpoints/${endpoint.id}`, body }),
    { done: 'Endpoint updated', onDone: onClose },
  )
  const isMoved = url.trim() !== endpoint.url
  return (
    <DialogForm
      title="Edit endpoint"
      action="Save"
      change={save}
      faults={['url', 'subscribed_events']}
      onClose={onClose}
      onSubmit={() =>
        save.mutate({
          ...(isMoved ? { url: url.trim() } : {}),
          subscribed_events: isAll ? ['*'] : types.filter((type) => chosen.has(type)),
        })
      }
    >
      <Field
        label="Endpoint URL"
        type="url"
        required
        maxLength={2048}
        value={url}
        onChange={(event) => setUrl(event.target.value)}
        fault={faultOf(save.error, 'url')}
      />
      {isMoved ? (
        <Note kind="warn">
          <p>
            A new URL has to be verified. Until then no events are sent; they are kept under Notifications
            awaiting delivery. The signing secret stays the same.
          </p>
        </Note>
      ) : null}
      <EventChoice
        types={types}
        isAll={isAll}
        onAll={setIsAll}
        chosen={chosen}
        onChoose={setChosen}
        fault={faultOf(save.error, 'subscribed_events')}
      />
    </DialogForm>
  )
}
