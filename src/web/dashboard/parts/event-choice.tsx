import type { WebhookEndpoint } from '../api/types.ts'
import { EVENT_LABELS, EVENT_TYPES, type EventType } from './event-labels.ts'
import { Checkbox } from './field.tsx'

/** What most shops want to know of, to begin with. */
export const FIRST_CHOICE: ReadonlySet<string> = new Set(['invoice.paid', 'invoice.manual_review'])

/** Older services' receivers know of invoices alone. */
export const eventTypesOf = (format: WebhookEndpoint['format']): readonly EventType[] =>
  EVENT_TYPES.filter((type) => format === 'paylink' || type.startsWith('invoice.'))

/** Every event, those of later versions too, or the chosen ones. */
export function EventChoice({
  types,
  isAll,
  onAll,
  chosen,
  onChoose,
  fault,
}: {
  types: readonly EventType[]
  isAll: boolean
  onAll: (isAll: boolean) => void
  chosen: ReadonlySet<string>
  onChoose: (chosen: ReadonlySet<string>) => void
  fault: string | null
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
              hint={EVENT_LABELS[type]}
              checked={chosen.has(type)}
              onChange={() => toggle(type)}
            />
          ))}
        </div>
      )}
      {fault === null ? null : (
        <p className="fault" role="alert">
          {fault}
        </p>
      )}
    </fieldset>
  )
}
