import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { endpointOf } from '../api/reads.ts'
import type { RotatedSecret, WebhookEndpoint } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useMode } from '../app/session.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { EndpointBadge, FORMAT_WORDS } from '../parts/endpoint-badge.tsx'
import { Select } from '../parts/field.tsx'
import { ProblemNote } from '../parts/note.tsx'
import { Card, Facts, Page } from '../parts/page.tsx'
import { ResourcePage } from '../parts/read.tsx'
import { SecretDialog } from '../parts/secret.tsx'
import { momentWords, Time } from '../parts/time.tsx'

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
  return (
    <Page title={endpoint.url} lead={<EndpointBadge endpoint={endpoint} />}>
      <div className="stack large">
        <Verification endpoint={endpoint} />
        <Card title="Details">
          <Facts
            facts={[
              ['Id', <code key="id">{endpoint.id}</code>],
              [
                'Hears of',
                endpoint.subscribed_events.includes('*')
                  ? 'Everything'
                  : endpoint.subscribed_events.join(', '),
              ],
              ['Written for', FORMAT_WORDS[endpoint.format]],
              [
                'Verified',
                endpoint.verified_at === null ? 'Not yet' : <Time key="at" at={endpoint.verified_at} />,
              ],
              ['Added', <Time key="added" at={endpoint.created_at} />],
            ]}
          />
        </Card>
        <Rotation endpoint={endpoint} />
        <Ending endpoint={endpoint} />
      </div>
    </Page>
  )
}

function Verification({ endpoint }: { endpoint: WebhookEndpoint }) {
  const verify = useChange<void, WebhookEndpoint>(
    () => ({ path: `/webhook-endpoints/${endpoint.id}/verify` }),
    {
      done: 'Verified: events flow.',
    },
  )
  const isEnabled = endpoint.status === 'enabled'
  return (
    <Card title={isEnabled ? 'Test the connection' : 'Verify it'}>
      <div className="stack">
        <p className="quiet">
          {endpoint.format === 'paylink'
            ? 'Paylink sends a signed challenge; the receiver answers with it. It proves that the server is yours, that it can be reached, and that it checks signatures.'
            : `Give your shop the signing secret first. Paylink then sends a test event of ${FORMAT_WORDS[endpoint.format]}'s, once signed with it and twice with another, and the receiver must take the one and refuse the others.`}
        </p>
        <ProblemNote error={verify.error} />
        <div className="actions">
          <Button
            look={isEnabled ? 'plain' : 'primary'}
            busy={verify.isPending}
            onClick={() => verify.mutate()}
          >
            {isEnabled ? 'Verify again' : 'Verify now'}
          </Button>
        </div>
      </div>
    </Card>
  )
}

function Rotation({ endpoint }: { endpoint: WebhookEndpoint }) {
  const [grace, setGrace] = useState('86400')
  const [made, setMade] = useState<RotatedSecret | null>(null)
  const rotate = useChange<number, RotatedSecret>(
    (grace_seconds) => ({ path: `/webhook-endpoints/${endpoint.id}/rotate-secret`, body: { grace_seconds } }),
    { onDone: setMade },
  )
  const { active, ends_at } = endpoint.secret_rotation
  return (
    <Card title="Signing secret">
      <div className="stack">
        {active && ends_at !== null ? (
          <p>
            Two secrets sign {endpoint.format === 'paylink' ? 'beside each other' : 'in turns'} until{' '}
            {momentWords(ends_at)}. Give your receiver the new one before that.
          </p>
        ) : (
          <p className="quiet">One secret signs every event. Change it when somebody may have seen it.</p>
        )}
        <Select label="The old secret" value={grace} onChange={(event) => setGrace(event.target.value)}>
          <option value="86400">signs on for a day beside the new one</option>
          <option value="3600">signs on for an hour</option>
          <option value="0">ends at once: it has leaked</option>
        </Select>
        <ProblemNote error={rotate.error} />
        <div className="actions">
          <Button busy={rotate.isPending} onClick={() => rotate.mutate(Number(grace))}>
            Make a new secret
          </Button>
        </div>
      </div>
      {made === null ? null : (
        <SecretDialog
          title="The new signing secret"
          label={endpoint.url}
          secret={made.secret}
          onClose={() => setMade(null)}
        >
          <p>
            {grace === '0'
              ? 'The old one signs nothing any more.'
              : `The old one signs until ${momentWords(made.previous_secret_valid_until)}.`}
          </p>
        </SecretDialog>
      )}
    </Card>
  )
}

function Ending({ endpoint }: { endpoint: WebhookEndpoint }) {
  const navigate = useNavigate()
  const [asked, setAsked] = useState<'disable' | 'remove' | null>(null)
  const disable = useChange<void, WebhookEndpoint>(
    () => ({ path: `/webhook-endpoints/${endpoint.id}/disable` }),
    {
      done: 'Disabled. Verify it to start again.',
    },
  )
  const remove = useChange<void, null>(
    () => ({ method: 'DELETE', path: `/webhook-endpoints/${endpoint.id}` }),
    {
      done: 'The endpoint is removed.',
      onDone: () => void navigate({ to: '/developers/webhooks' }),
    },
  )
  return (
    <Card title="Stop">
      <div className="actions">
        {endpoint.status === 'disabled' ? null : <Button onClick={() => setAsked('disable')}>Disable</Button>}
        <Button look="danger" onClick={() => setAsked('remove')}>
          Remove
        </Button>
      </div>
      {asked === 'disable' ? (
        <Confirm
          title="Disable this endpoint?"
          action="Disable it"
          onConfirm={() => disable.mutateAsync()}
          onClose={() => setAsked(null)}
        >
          <p>
            It gets no more events. What happens meanwhile is kept under Notifications awaiting delivery;
            verifying it enables it again.
          </p>
        </Confirm>
      ) : null}
      {asked === 'remove' ? (
        <Confirm
          title="Remove this endpoint?"
          action="Remove it"
          danger
          onConfirm={() => remove.mutateAsync()}
          onClose={() => setAsked(null)}
        >
          <p>
            Its secret is gone for good. Events that it has not received are kept under Notifications awaiting
            delivery.
          </p>
        </Confirm>
      ) : null}
    </Card>
  )
}
