import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { membersQuery } from '../api/people.ts'
import type { Payout, PayoutDestination } from '../api/types.ts'
import { useActorNames } from '../app/actors.ts'
import { useChange } from '../app/changes.ts'
import { useAccount } from '../app/session.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { COINS, coins } from '../parts/money.ts'
import { Note } from '../parts/note.tsx'
import { Card, Facts } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { ApproveDialog } from './payout-approval.tsx'

/** Yes or no to a payout that waits: all that is decided about stands here whole. */
export function PayoutDecision({
  payout,
  destination,
}: {
  payout: Payout
  destination: PayoutDestination | undefined
}) {
  const nameOf = useActorNames()
  const [asked, setAsked] = useState<'approve' | 'reject' | null>(null)
  const reject = useChange<void, Payout>(() => ({ path: `/payouts/${payout.id}/reject` }), {
    done: 'Rejected. The money is back in your balance.',
  })
  const mayNot = useWhyNot(payout)
  if (payout.status !== 'requested') return null
  const { asset, amount, network_fee, net_amount } = payout
  const facts = [
    ['Asked for by', nameOf(payout.requested_by)],
    ['Leaves your balance', coins(amount, asset)],
    ['The network takes about', coins(network_fee, asset)],
    ['Arrives, about', coins(net_amount, asset)],
    [`To this ${COINS[asset].name} address`, <code key="to">{payout.destination}</code>],
    [
      'On your list',
      destination === undefined ? 'No longer' : <Time key="since" at={destination.created_at} />,
    ],
  ] as const
  return (
    <Card title="Approve this payout?">
      <div className="stack">
        <Facts facts={facts} />
        <WhatApprovalMeans />
        {mayNot.approve === null ? null : <Note kind="warn">{mayNot.approve}</Note>}
        <div className="actions">
          {mayNot.approve === null ? (
            <Button look="primary" onClick={() => setAsked('approve')}>
              Approve
            </Button>
          ) : null}
          {mayNot.reject ? null : (
            <Button look="danger" onClick={() => setAsked('reject')}>
              Reject
            </Button>
          )}
        </div>
      </div>
      {asked === 'approve' ? <ApproveDialog payout={payout} onClose={() => setAsked(null)} /> : null}
      {asked === 'reject' ? (
        <Confirm
          title="Reject this payout?"
          action="Reject it"
          danger
          onConfirm={() => reject.mutateAsync()}
          onClose={() => setAsked(null)}
        >
          <p>Nothing is sent, and {coins(amount, asset)} are back in your balance at once.</p>
        </Confirm>
      ) : null}
    </Card>
  )
}

const WhatApprovalMeans = () => (
  <details>
    <summary>Approval details</summary>
    <p className="quiet">
      Exactly this payout: this coin, this amount, this whole address, and a fee of at most three times the
      one shown, never more than half of the amount. In live mode your passkey signs it, or you confirm it
      with a code from your authenticator app. The signer, a separate process that holds the keys, checks this
      before it signs. If anything was changed, even in the database itself, nothing is sent, the payout
      fails, and the money returns to your balance.
    </p>
  </details>
)

/** Why this person cannot decide, as the server would refuse it. */
function useWhyNot(payout: Payout): { approve: string | null; reject: boolean } {
  const { person, merchantId, isManager, mayWrite } = useAccount()
  const members = useQuery(membersQuery(merchantId))
  if (!mayWrite || (payout.livemode && !isManager)) {
    return { approve: 'An owner or admin of this shop decides about it.', reject: true }
  }
  const managers = (members.data ?? []).filter(({ role }) => role === 'owner' || role === 'admin').length
  if (payout.requested_by === person.id && managers > 1) {
    return { approve: 'You asked for it: another owner or admin of this shop approves it.', reject: false }
  }
  return { approve: null, reject: false }
}
