import type { WebhookEndpoint } from '../api/types.ts'
import { Badge } from './badge.tsx'

export function EndpointBadge({ endpoint }: { endpoint: WebhookEndpoint }) {
  if (endpoint.status === 'enabled') {
    return endpoint.failing_since === null ? (
      <Badge tone="good">Enabled</Badge>
    ) : (
      <Badge tone="bad">Failing – retrying slowly</Badge>
    )
  }
  if (endpoint.status === 'pending_verification') {
    return (
      <Badge tone="warn">{endpoint.requested_by === null ? 'Not verified' : 'Requested by API key'}</Badge>
    )
  }
  return (
    <Badge tone="bad">
      {endpoint.status_reason === 'receiver_gone' ? 'Disabled: answered 410' : 'Disabled'}
    </Badge>
  )
}

export const FORMAT_LABELS: { readonly [format in WebhookEndpoint['format']]: string } = {
  paylink: 'Paylink',
  btcpay: 'BTCPay Server',
  coinbase_commerce: 'Coinbase Commerce',
}

export const subscriptionLabel = ({ subscribed_events: events }: WebhookEndpoint): string =>
  events.includes('*')
    ? 'All events'
    : events.length === 1
      ? (events[0] ?? '')
      : `${events.length} event types`
