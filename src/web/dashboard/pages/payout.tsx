import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { destinationsOf, eventsOf, payoutOf } from '../api/reads.ts'
import type { Payout, PayoutDestination } from '../api/types.ts'
import { useActorNames } from '../app/actors.ts'
import { useMode } from '../app/session.ts'
import { PAYOUT_LABELS, PayoutBadge } from '../parts/badge.tsx'
import { CopyField } from '../parts/copy.tsx'
import { EventSteps } from '../parts/event-steps.tsx'
import { COINS, coins } from '../parts/money.ts'
import { Note } from '../parts/note.tsx'
import { Card, Facts, Page } from '../parts/page.tsx'
import { RawCard } from '../parts/raw.tsx'
import { Read, ResourcePage } from '../parts/read.tsx'
import { formatMoment, Time } from '../parts/time.tsx'
import { Txid } from '../parts/txid.tsx'
import { PayoutDecision } from './payout-decision.tsx'

const route = getRouteApi('/inside/payouts/$id')

export function PayoutPage() {
  const { id } = route.useParams()
  const mode = useMode()
  const read = useQuery(payoutOf(mode, id))
  return (
    <ResourcePage kind="Payout" read={read}>
      {(payout) => <Shown payout={payout} />}
    </ResourcePage>
  )
}

function Shown({ payout }: { payout: Payout }) {
  const mode = useMode()
  const events = useQuery(eventsOf(mode, { resource_id: payout.id, limit: '20' }))
  const destinations = useQuery(destinationsOf(mode))
  const { id, asset, amount, status, txid, failure_code } = payout
  const destination = destinations.data?.data.find((one) => one.id === payout.destination_id)
  return (
    <Page
      title={`${coins(amount, asset)}${destination === undefined ? '' : ` to ${destination.name}`}`}
      lead={
        <>
          <PayoutBadge status={status} /> {PAYOUT_LABELS[status].next}
        </>
      }
    >
      <div className="columns">
        <div className="stack large">
          {failure_code === null ? null : (
            <Note kind="bad">
              <p>{FAILURES[failure_code] ?? `It failed: ${failure_code}.`}</p>
            </Note>
          )}
          <PayoutDecision payout={payout} destination={destination} />
          {status === 'requested' ? null : <Amount payout={payout} />}
          <Where payout={payout} destination={destination} />
          {txid === null ? null : (
            <Card title="Transaction">
              <Txid txid={txid} asset={asset} livemode={payout.livemode} />
            </Card>
          )}
        </div>
        <div className="stack large">
          <Card title="Timeline">
            <Read read={events}>
              {({ data }) => (
                <ol className="timeline">
                  <EventSteps events={data} />
                </ol>
              )}
            </Read>
          </Card>
          <Card title="Details">
            <Details payout={payout} />
          </Card>
        </div>
        <RawCard path={`/payouts/${id}`} resource={payout} />
      </div>
    </Page>
  )
}

function Amount({ payout }: { payout: Payout }) {
  const { status, asset, amount, network_fee, net_amount } = payout
  const isEstimate = status === 'approved'
  return (
    <Card title="Amount">
      <Facts
        facts={[
          ['Debited', coins(amount, asset)],
          [isEstimate ? 'Estimated network fee' : 'Network fee', coins(network_fee, asset)],
          [isEstimate ? 'Arrives, about' : 'Arrives', <strong key="net">{coins(net_amount, asset)}</strong>],
        ]}
      />
    </Card>
  )
}

function Where({ payout, destination }: { payout: Payout; destination: PayoutDestination | undefined }) {
  return (
    <Card title="Where it goes">
      <div className="stack">
        <CopyField label={`${COINS[payout.asset].name} address`} text={payout.destination} />
        <p className="quiet">
          {destination === undefined ? (
            'This address is no longer one of your destinations.'
          ) : (
            <>
              {destination.name}, added <Time at={destination.created_at} />.{' '}
              <Link to="/payouts/destinations">All destinations</Link>
            </>
          )}
        </p>
      </div>
    </Card>
  )
}

function Details({ payout }: { payout: Payout }) {
  const nameOf = useActorNames()
  const { id, requested_by, approved_by, created_at, approved_at, submitted_at, confirmed_at } = payout
  const moment = (name: string, at: string | null) => (at === null ? [] : [[name, formatMoment(at)] as const])
  return (
    <Facts
      facts={[
        ['ID', <code key="id">{id}</code>],
        ['Requested by', nameOf(requested_by)],
        ...(approved_by === null ? [] : [['Approved by', nameOf(approved_by)] as const]),
        ...moment('Requested', created_at),
        ...moment('Approved', approved_at),
        ...moment('Sent', submitted_at),
        ...moment('Completed', confirmed_at),
      ]}
    />
  )
}

/** Why a payout failed and what to do, by the code that the API gives. */
const FAILURES: { readonly [code: string]: string } = {
  approval_invalid:
    'What stands in the database is not what was approved: somebody changed it. Nobody was paid. Find out who before you ask again.',
  approval_unproved:
    'Nobody was paid: the approval was not proved by a passkey or authenticator app of an owner or admin, or whoever approved was taken out of the team. Request the payout again. If you approved it yourself, tell whoever runs this server.',
  approver_too_new:
    'Nobody was paid: a new passkey, authenticator app or approver can approve live payouts after 24 hours. Request the payout again then, or let another owner or admin approve.',
  approval_expired:
    'Nobody was paid: the code was older than 15 minutes when the signer saw it. Request the payout again and approve with a new code, or use a passkey, which does not expire.',
  destination_invalid: 'The address is none of this network. Nobody was paid.',
  destination_removed: 'The destination was removed before the payout was signed. Nobody was paid.',
  fee_above_limit: 'The network asks for more than the highest fee that was approved. Ask for it again.',
  insufficient_funds:
    'Payments that this payout needs are not on the chain any more, and what is left does not cover it. Nobody was paid. Tell whoever runs this server, and request less.',
  input_spent_elsewhere:
    'Coins of this installation were spent by a transaction that it did not make: somebody else has its keys. Tell whoever runs this server at once.',
  sweeper_missing:
    'Its network lacks what moves this token to the hot wallet. Nobody was paid. Tell whoever runs this server: the log and paylink doctor say what to do.',
  input_double_spent:
    'A payment whose coin this payout spends was double-spent in a reorganization, for good. Nobody was paid. Ask again for what is available now.',
}
