import type { z } from 'zod'
import { checkEndpointUrl, type EndpointUrlRefusal } from '../../core/endpoint/endpoint-url.ts'
import { checkSubscriptions, type EndpointFormat } from '../../core/endpoint/subscriptions.ts'
import type { WebhookEndpoint } from '../../db/delivery/endpoints.ts'
import type { webhookEndpointView } from '../../wire/webhook-endpoint.ts'
import { ApiProblem } from '../api/problem.ts'

/** An endpoint as the API shows it: never its secrets. */
export function endpointViewOf(endpoint: WebhookEndpoint): z.output<typeof webhookEndpointView> {
  return {
    id: endpoint.id,
    object: 'webhook_endpoint',
    url: endpoint.url,
    subscribed_events: [...endpoint.subscribedEvents],
    format: endpoint.format,
    status: endpoint.status,
    status_reason: endpoint.statusReason,
    requested_by: endpoint.requestedBy,
    livemode: endpoint.livemode,
    verified_at: endpoint.verifiedAt?.toISOString() ?? null,
    failing_since: endpoint.failingSince?.toISOString() ?? null,
    secret_rotation: {
      active: endpoint.rotationEndsAt !== null,
      ends_at: endpoint.rotationEndsAt?.toISOString() ?? null,
    },
    created_at: endpoint.createdAt.toISOString(),
  }
}

const URL_REFUSALS: { readonly [reason in EndpointUrlRefusal]: string } = {
  malformed: 'The URL is not one that every program would read alike.',
  too_long: 'The URL must have at most 2,048 characters.',
  scheme: 'The URL must begin with https://.',
  credentials: 'The URL must carry no user name or password.',
  ip_literal: 'The URL must name a host, not an IP address.',
  port: 'The URL’s port must be 443 or above 1023.',
}

/** Throws the 400 for a URL that events may not be sent to. */
export function refuseEndpointUrl(url: string, allowPrivate: boolean): void {
  const check = checkEndpointUrl(url, { allowPrivate })
  if (check.kind === 'accepted') return
  throw new ApiProblem('endpoint_url_refused', { param: 'url', message: URL_REFUSALS[check.reason] })
}

/** Our own format always, an older service's where its translation is switched on. */
export const isOffered = (format: EndpointFormat, offered: readonly string[]): boolean =>
  format === 'paylink' || offered.includes(format)

/** Throws the 400 for a format that is not offered. */
export function refuseFormat(format: EndpointFormat, offered: readonly string[]): void {
  if (isOffered(format, offered)) return
  throw new ApiProblem('parameter_invalid', {
    param: 'format',
    message: `The format ${format} is not switched on here (COMPAT_APIS).`,
  })
}

/** Throws the 400 for a secret of the caller's own: our own format has none, so that every secret is a strong one. */
export function refuseOwnSecret(secret: string | undefined, format: EndpointFormat): void {
  if (secret === undefined || format !== 'paylink') return
  throw new ApiProblem('parameter_invalid', {
    param: 'secret',
    message: 'Only an endpoint in an older service’s format takes a secret of yours. Leave it out.',
  })
}

/** The event types to store; throws the 400 for those that cannot be subscribed to, and names the first. */
export function subscriptionsOf(eventTypes: readonly string[], format: EndpointFormat): readonly string[] {
  const param = 'subscribed_events'
  const check = checkSubscriptions(eventTypes, format)
  if (check.kind === 'accepted') return check.eventTypes
  if (check.kind === 'empty') {
    throw new ApiProblem('parameter_invalid', {
      param,
      message: 'Name at least one event type, or use ["*"].',
    })
  }
  const name = JSON.stringify(check.eventType.slice(0, EVENT_TYPE_SHOWN_MAX))
  switch (check.kind) {
    case 'unknown':
      throw new ApiProblem('event_type_unknown', { param, message: `There is no event type ${name}.` })
    case 'historical':
      throw new ApiProblem('event_type_not_selectable', {
        param,
        message: `${name} is an event type of the past: it stays in delivery logs and cannot be selected.`,
      })
    case 'verification':
      throw new ApiProblem('event_type_not_selectable', {
        param,
        message: `${name} is sent whenever an endpoint is verified and cannot be selected.`,
      })
    case 'untellable':
      throw new ApiProblem('event_type_not_selectable', {
        param,
        message: `${name} does not exist in the format ${format}, which has invoice events only.`,
      })
    case 'redundant':
      throw new ApiProblem('parameter_invalid', {
        param,
        message: `${name} is given beside what already covers it.`,
      })
  }
}

const EVENT_TYPE_SHOWN_MAX = 64
