import { z } from 'zod'
import { SUBSCRIBABLE_EVENT_TYPES } from '../core/endpoint/subscriptions.ts'
import { idView, text, timestamp } from './fields.ts'
import { listOf, listParameters, refuseTwoPositions } from './list.ts'

const URL_LENGTH_MAX = 2_048
const SUBSCRIPTIONS_MAX = 50
/** The format of an endpoint's bodies (docs/coming-from-elsewhere.md). */
const FORMAT_NAMES = ['paylink', 'btcpay', 'coinbase_commerce'] as const
export const endpointFormat = z.enum(FORMAT_NAMES, { error: `Must be one of ${FORMAT_NAMES.join(', ')}` })
export const GRACE_SECONDS_MAX = 86_400

/** A secret that a shop's plugin has chosen: plugins make 48 to 64 hexadecimal digits. */
const [OWN_SECRET_MIN, OWN_SECRET_MAX] = [32, 128]
const ownSecret = z
  .string()
  .regex(/^[!-~]*$/, 'Must be printable ASCII without blanks')
  .min(OWN_SECRET_MIN, `Must have at least ${OWN_SECRET_MIN} characters`)
  .max(OWN_SECRET_MAX, `Must have at most ${OWN_SECRET_MAX} characters`)
  .meta({
    description:
      'A secret that the receiver has already, in place of a new one; for the formats `btcpay` and `coinbase_commerce` alone.',
  })

const endpointUrl = text(1, URL_LENGTH_MAX).meta({
  format: 'uri',
  description: 'https, a host name, port 443 or above 1023, no credentials.',
  examples: ['https://shop.example/webhooks/paylink'],
})
const subscribedEvents = z
  .array(z.string())
  .max(SUBSCRIPTIONS_MAX, `Must have at most ${SUBSCRIPTIONS_MAX} entries`)
  .meta({
    description: 'Exact event types, or `["*"]` for all.',
    examples: [['invoice.paid', 'invoice.manual_review'], ['*']],
    type: 'array',
    minItems: 1,
    maxItems: SUBSCRIPTIONS_MAX,
    items: { type: 'string', enum: ['*', ...SUBSCRIBABLE_EVENT_TYPES] },
  })

/** `POST /webhook-endpoints`. Which URLs and event types will do, the endpoint's own rules say. */
export const createWebhookEndpointBody = z
  .strictObject({
    url: endpointUrl,
    subscribed_events: subscribedEvents,
    format: endpointFormat
      .meta({
        description:
          'The format of the bodies: Paylink’s own by default. `btcpay` and `coinbase_commerce` are for a receiver written for those services; they have invoice events only.',
      })
      .optional(),
    secret: ownSecret.optional(),
  })
  .meta({ id: 'CreateWebhookEndpoint' })

/** `PATCH /webhook-endpoints/:id`. What is left out stays as it is. */
export const updateWebhookEndpointBody = z
  .strictObject({
    url: endpointUrl
      .meta({ description: 'A new URL has to be verified before events are sent to it.' })
      .optional(),
    subscribed_events: subscribedEvents.optional(),
  })
  .meta({ id: 'UpdateWebhookEndpoint' })

const endpointFields = {
  id: idView('we'),
  object: z.literal('webhook_endpoint'),
  url: z.string(),
  subscribed_events: z.array(z.string()),
  format: endpointFormat,
  status: z.enum(['pending_verification', 'enabled', 'disabled']),
  status_reason: z.string().nullable().meta({
    description: '`merchant`: disabled on request. `receiver_gone`: the receiver answered 410.',
  }),
  requested_by: z.string().nullable().meta({
    description:
      'The API key that asked for it in live mode. Verify it only if its URL is yours. `null`: a person or a test key added it.',
  }),
  livemode: z.boolean(),
  verified_at: timestamp.nullable(),
  failing_since: timestamp.nullable().meta({
    description:
      'Since when all deliveries to it have failed, ten or more in a row: it is throttled, and each is retried at least every 12 hours until one succeeds. `null`: it is not throttled.',
  }),
  secret_rotation: z.object({
    active: z.boolean().meta({ description: 'Whether an older secret still signs beside the current one.' }),
    ends_at: timestamp.nullable(),
  }),
  created_at: timestamp,
}

export const webhookEndpointView = z.object(endpointFields).meta({ id: 'WebhookEndpoint' })

export const createdWebhookEndpointView = z
  .object({
    ...endpointFields,
    secret: z.string().meta({
      description: 'Signs every event. Shown here only; the whole string, `whsec_` included, is the key.',
      examples: ['whsec_…'],
    }),
  })
  .meta({ id: 'CreatedWebhookEndpoint' })

export const webhookEndpointList = listOf(webhookEndpointView)

/** `GET /webhook-endpoints`. */
export const listWebhookEndpointsQuery = z.strictObject(listParameters('we')).superRefine(refuseTwoPositions)

/** `POST /webhook-endpoints/:id/rotate-secret`. */
export const rotateSecretBody = z
  .strictObject({
    grace_seconds: z
      .int({ error: `Must be a whole number from 0 to ${GRACE_SECONDS_MAX}` })
      .min(0, `Must be a whole number from 0 to ${GRACE_SECONDS_MAX}`)
      .max(GRACE_SECONDS_MAX, `Must be a whole number from 0 to ${GRACE_SECONDS_MAX}`)
      .meta({
        description:
          'How long the secret before signs beside the new one; a day unless given. 0 ends every older secret at once.',
      })
      .optional(),
    secret: ownSecret.optional(),
  })
  .meta({ id: 'RotateSecret' })

export const rotatedSecretView = z
  .object({
    id: idView('we'),
    secret: z.string().meta({ description: 'The new secret, shown here only.', examples: ['whsec_…'] }),
    previous_secret_valid_until: timestamp,
  })
  .meta({ id: 'RotatedSecret' })
