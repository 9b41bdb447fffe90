import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { merchantOf } from '../api/reads.ts'
import type { CreatedWebhookEndpoint, CreateWebhookEndpoint, WebhookEndpoint } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useMode } from '../app/session.ts'
import { DialogForm } from '../parts/dialog-form.tsx'
import { FORMAT_WORDS } from '../parts/endpoint-badge.tsx'
import { EVENT_TYPES, EVENT_WORDS, type EventType } from '../parts/event-labels.ts'
import { Checkbox, Field, Select } from '../parts/field.tsx'
import { faultOf } from '../parts/note.tsx'

/** Asks for an endpoint's URL, format and events; the answer brings its signing secret, shown once. */
export function NewEndpointDialog({
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
  return (
    <DialogForm
      title="Add endpoint"
      action="Create endpoint"
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
        >
          {formats.map((one) => (
            <option key={one} value={one}>
              {FORMAT_WORDS[one]}
            </option>
          ))}
        </Select>
      )}
      <EventChoice types={types} isAll={isAll} onAll={setIsAll} chosen={chosen} onChoose={setChosen} />
    </DialogForm>
  )
}

/** Every event, those of later versions too, or the chosen ones. */
function EventChoice({
  types,
  isAll,
  onAll,
  chosen,
  onChoose,
}: {
  types: readonly EventType[]
  isAll: boolean
  onAll: (isAll: boolean) => void
  chosen: ReadonlySet<string>
  onChoose: (chosen: ReadonlySet<string>) => void
}) {
  const toggle = (type: string) =>
    onChoose(new Set(chosen.has(type) ? [...chosen].filter((one) => one !== type) : [...chosen, type]))
  return (
    <fieldset>
      <legend>Events</legend>
      <Checkbox type="radio" name="events" label="All events" checked={isAll} onChange={() => onAll(true)} />
      <Checkbox
        type="radio"
        name="events"
        label="Selected events"
        checked={!isAll}
        onChange={() => onAll(false)}
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
  )
}
