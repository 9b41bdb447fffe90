import { z } from 'zod'
import { id, idView, instant, text, timestamp } from './fields.ts'
import { listOf, listParameters, refuseTwoPositions } from './list.ts'

/** The envelope of spec §2.6, as it is stored, signed and sent, and as `GET /events` gives it. */
export const eventView = z
  .looseObject({
    id: idView('evt').meta({ description: 'Stable: the same in every delivery. Deduplicate by it.' }),
    schema_version: z.int().meta({ examples: [1] }),
    event_type: z.string().meta({ examples: ['invoice.paid'] }),
    merchant_id: idView('mer'),
    resource_id: idView('inv'),
    livemode: z.boolean(),
    created_at: timestamp,
    sequence: z.int().meta({ description: '1, 2, 3… for each resource.' }),
    request_id: z.string().nullable().meta({ description: 'The API request that caused it, if one did.' }),
    data: z
      .record(z.string(), z.unknown())
      .meta({ description: 'The resource as the API showed it at that moment; has `id` and `status`.' }),
  })
  .meta({ id: 'Event' })

export const eventList = listOf(eventView)

/** `GET /events`. */
export const listEventsQuery = z
  .strictObject({
    ...listParameters('evt'),
    event_type: text(1, 64).meta({ description: 'Only events of this type.' }).optional(),
    resource_id: text(1, 64).meta({ description: 'Only events of this resource.' }).optional(),
    delivery: z
      .enum(['awaiting'], { error: 'Must be awaiting' })
      .meta({
        description:
          'Only events that await recovery: no endpoint was eligible, or it was disabled, removed or given up. Those that no endpoint subscribed to are not among them.',
      })
      .optional(),
  })
  .superRefine(refuseTwoPositions)

/** How one delivery attempt ended. */
export const ATTEMPT_CODE_NAMES = [
  'ok',
  'http_status',
  'redirect',
  'timeout',
  'dns',
  'address_refused',
  'connect',
  'tls',
  'tls_expired',
  'tls_wrong_host',
  'tls_untrusted',
  'reset',
  'malformed_response',
  'unknown_outcome',
  'superseded',
  'internal',
] as const

export const attemptView = z
  .object({
    id: idView('att'),
    object: z.literal('attempt'),
    event_id: idView('evt'),
    endpoint_id: idView('we'),
    event_type: z.string().nullable().meta({ description: 'Null once the event itself is no longer kept.' }),
    number: z.int().meta({ description: '1, 2, 3… for each delivery.' }),
    http_status: z.int().nullable(),
    code: z.enum(ATTEMPT_CODE_NAMES).meta({
      description: `How it ended. \`unknown_outcome\`: the sender stopped before it could record an answer; the event may have been sent or not. \`superseded\`: not sent, because a later event of the invoice is all that a receiver in an older service’s format has to know.`,
    }),
    duration_ms: z.int(),
    created_at: timestamp,
  })
  .meta({ id: 'Attempt' })

export const attemptList = listOf(attemptView)

/** `GET /events/:id/attempts`. */
export const listAttemptsQuery = z.strictObject(listParameters('att')).superRefine(refuseTwoPositions)

/** `GET /webhook-endpoints/:id/attempts`. */
export const listEndpointAttemptsQuery = z
  .strictObject({
    ...listParameters('att'),
    outcome: z
      .literal('failed', { error: 'Must be failed' })
      .meta({ description: 'Only those that failed.' })
      .optional(),
  })
  .superRefine(refuseTwoPositions)

/** `POST /events/:id/queue`. */
export const queueEventBody = z
  .strictObject({
    endpoint_id: id('we').meta({ description: 'A verified, enabled endpoint of the same mode.' }),
  })
  .meta({ id: 'QueueEvent' })

export const queuedDeliveryView = z
  .object({
    id: idView('dlv'),
    object: z.literal('delivery'),
    event_id: idView('evt'),
    endpoint_id: idView('we'),
    livemode: z.boolean(),
    created_at: timestamp,
  })
  .meta({ id: 'QueuedDelivery' })

/** `POST /events/recover`. */
export const recoverEventsBody = z
  .strictObject({
    endpoint_id: id('we').meta({ description: 'A verified, enabled endpoint of the same mode.' }),
    since: instant.meta({ description: 'Events made at this time or later.' }),
  })
  .meta({ id: 'RecoverEvents' })

export const recoveryView = z
  .object({
    object: z.literal('event_recovery'),
    endpoint_id: idView('we'),
    since: timestamp,
    queued: z.int().meta({ description: 'Events queued by this request, oldest first.' }),
    limit: z.int().meta({ description: 'The most one request queues.' }),
    has_more: z.boolean().meta({ description: 'Whether more of them still await recovery: ask again.' }),
  })
  .meta({ id: 'EventRecovery' })
