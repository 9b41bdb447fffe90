import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { endpointOf } from '../api/reads.ts'
import type { RotatedSecret, WebhookEndpoint } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useMode } from '../app/session.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { EndpointBadge, FORMAT_LABELS } from '../parts/endpoint-badge.tsx'
import { Select } from '../parts/field.tsx'
import { Note, ProblemNote } from '../parts/note.tsx'
import { Card, Facts, Page } from '../parts/page.tsx'
import { ResourcePage } from '../parts/read.tsx'
import { SecretDialog } from '../parts/secret.tsx'
import { formatMoment, Time } from '../parts/time.tsx'
import { EndpointDeliveries } from './endpoint-deliveries.tsx'
import { EditEndpointDialog } from './endpoint-dialogs.tsx'

const route = getRouteApi('/inside/developers/webhooks/$id')

export function WebhookPage() {
  const { id } = route.useParams()
  const mode = useMode()
  const read = useQuery(endpointOf(mode, id))
  return (
    <ResourcePage kind="Webhook endpoint" read={read}>
      {(endpoint) => <Shown endpoint={endpoint} />}
    </ResourcePage>
  )
}

function Shown({ endpoint }: { endpoint: WebhookEndpoint }) {
  const [isEditing, setIsEditing] = useState(false)
  return (
    <Page
      title={endpoint.url}
      lead={<EndpointBadge endpoint={endpoint} />}
      actions={<Button onClick={() => setIsEditing(true)}>Edit</Button>}
    >
      <div className="stack large">
        <Failing endpoint={endpoint} />
        <Verification endpoint={endpoint} />
        <Card title="Details">
          <Facts
            facts={[
              ['ID', <code key="id">{endpoint.id}</code>],
              [
                'Events',
                endpoint.subscribed_events.includes('*')
                  ? 'All events'
                  : endpoint.subscribed_events.join(', '),
              ],
              ['Payload format', FORMAT_LABELS[endpoint.format]],
              [
                'Verified',
                endpoint.verified_at === null ? 'No' : <Time key="at" at={endpoint.verified_at} />,
              ],
              ['Created', <Time key="created" at={endpoint.created_at} />],
            ]}
          />
        </Card>
        <EndpointDeliveries endpoint={endpoint} />
        <Rotation endpoint={endpoint} />
        <Ending endpoint={endpoint} />
      </div>
      {isEditing ? <EditEndpointDialog endpoint={endpoint} onClose={() => setIsEditing(false)} /> : null}
    </Page>
  )
}

/** A server that is down looks enabled and well otherwise. */
function Failing({ endpoint }: { endpoint: WebhookEndpoint }) {
  if (endpoint.failing_since === null || endpoint.status !== 'enabled') return null
  return (
    <Note kind="bad">
      <p>
        Every delivery has failed since {formatMoment(endpoint.failing_since)}. Each is retried at least every
        12 hours for five days. Once your server answers again, choose Verify again to send all that wait now.
      </p>
    </Note>
  )
}

function Verification({ endpoint }: { endpoint: WebhookEndpoint }) {
  const verify = useChange<void, WebhookEndpoint>(
    () => ({ path: `/webhook-endpoints/${endpoint.id}/verify` }),
    {
      done: 'Endpoint verified',
    },
  )
  const isEnabled = endpoint.status === 'enabled'
  return (
    <Card title={isEnabled ? 'Test the connection' : 'Verify endpoint'}>
      <div className="stack">
        <p className="quiet">
          {endpoint.format === 'paylink'
            ? 'Paylink sends a signed challenge, and your server answers with it. This confirms that the server is yours, can be reached and checks signatures.'
            : `${endpoint.requested_by === null ? 'Give your shop the signing secret first. ' : ''}Paylink sends a test event of ${FORMAT_LABELS[endpoint.format]}'s, once signed with it and twice with another, and the receiver must take the one and refuse the others.`}
        </p>
        {endpoint.requested_by === null || endpoint.verified_at !== null ? null : (
          <Note kind="warn">
            <p>
              Your shop requested this endpoint with the API key <code>{endpoint.requested_by}</code>. Verify
              it only if the URL is your shop’s. Otherwise remove it and revoke the key.
            </p>
          </Note>
        )}
        <ProblemNote error={verify.error} />
        <div className="actions">
          <Button
            look={isEnabled ? 'plain' : 'primary'}
            busy={verify.isPending}
            onClick={() => verify.mutate()}
          >
            {isEnabled ? 'Verify again' : endpoint.requested_by === null ? 'Verify' : 'Approve and verify'}
          </Button>
        </div>
      </div>
    </Card>
  )
}

function Rotation({ endpoint }: { endpoint: WebhookEndpoint }) {
  const [grace, setGrace] = useState('86400')
  const [isAsking, setIsAsking] = useState(false)
  const [created, setCreated] = useState<RotatedSecret | null>(null)
  const rotate = useChange<number, RotatedSecret>(
    (grace_seconds) => ({ path: `/webhook-endpoints/${endpoint.id}/rotate-secret`, body: { grace_seconds } }),
    {
      onDone: (rotated) => {
        // In one step: a window that opens above another gives focus back to a button that is gone.
        setIsAsking(false)
        setCreated(rotated)
      },
    },
  )
  const { active, ends_at } = endpoint.secret_rotation
  return (
    <Card title="Signing secret">
      <div className="stack form">
        {active && ends_at !== null ? (
          <p>
            Two secrets sign {endpoint.format === 'paylink' ? 'every event' : 'in turns'} until{' '}
            {formatMoment(ends_at)}. Update your server before then.
          </p>
        ) : (
          <p className="quiet">Signs every event. Roll it if it may have leaked.</p>
        )}
        <Select label="Old secret" value={grace} onChange={(event) => setGrace(event.target.value)}>
          <option value="86400">Expire old secret in 24 hours</option>
          <option value="3600">Expire old secret in 1 hour</option>
          <option value="0">Expire old secret now</option>
        </Select>
        <div className="actions">
          <Button onClick={() => setIsAsking(true)}>Roll secret</Button>
        </div>
      </div>
      {isAsking ? (
        <Confirm
          title="Roll the signing secret?"
          action="Roll secret now"
          danger={grace === '0'}
          onConfirm={() => rotate.mutateAsync(Number(grace))}
          onClose={() => setIsAsking(false)}
        >
          <p className="break">{endpoint.url}</p>
          <p>
            {grace === '0'
              ? 'The old secret stops at once: until your server has the new one, it refuses every event.'
              : 'You get a new secret, shown once. Give it to your server before the old one expires.'}
          </p>
        </Confirm>
      ) : null}
      {created === null ? null : (
        <SecretDialog
          title="New signing secret"
          label={endpoint.url}
          secret={created.secret}
          onClose={() => setCreated(null)}
        >
          <p>
            {grace === '0'
              ? 'The old secret has expired.'
              : `The old secret expires ${formatMoment(created.previous_secret_valid_until)}.`}
          </p>
        </SecretDialog>
      )}
    </Card>
  )
}

function Ending({ endpoint }: { endpoint: WebhookEndpoint }) {
  const navigate = useNavigate()
  const [dialog, setDialog] = useState<'disable' | 'remove' | null>(null)
  const disable = useChange<void, WebhookEndpoint>(
    () => ({ path: `/webhook-endpoints/${endpoint.id}/disable` }),
    {
      done: 'Endpoint disabled',
    },
  )
  const remove = useChange<void, null>(
    () => ({ method: 'DELETE', path: `/webhook-endpoints/${endpoint.id}` }),
    {
      done: 'Endpoint removed',
      onDone: () => void navigate({ to: '/developers/webhooks' }),
    },
  )
  return (
    <Card title="Danger zone">
      <div className="actions">
        {endpoint.status === 'disabled' ? null : (
          <Button onClick={() => setDialog('disable')}>Disable</Button>
        )}
        <Button look="danger" onClick={() => setDialog('remove')}>
          Remove
        </Button>
      </div>
      {dialog === 'disable' ? (
        <Confirm
          title="Disable this endpoint?"
          action="Disable endpoint"
          onConfirm={() => disable.mutateAsync()}
          onClose={() => setDialog(null)}
        >
          <p>
            It receives no more events. Events created meanwhile are kept under Notifications awaiting
            delivery. Verify the endpoint to enable it again.
          </p>
        </Confirm>
      ) : null}
      {dialog === 'remove' ? (
        <Confirm
          title="Remove this endpoint?"
          action="Remove endpoint"
          danger
          onConfirm={() => remove.mutateAsync()}
          onClose={() => setDialog(null)}
        >
          <p>This can't be undone. Undelivered events are kept under Notifications awaiting delivery.</p>
        </Confirm>
      ) : null}
    </Card>
  )
}
