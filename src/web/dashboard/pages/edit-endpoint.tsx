import { useState } from 'react'
import type { UpdateWebhookEndpoint, WebhookEndpoint } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { DialogForm } from '../parts/dialog-form.tsx'
import { EventChoice, eventTypesOf, FIRST_CHOICE } from '../parts/event-choice.tsx'
import { Field } from '../parts/field.tsx'
import { faultOf, Note } from '../parts/note.tsx'

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
