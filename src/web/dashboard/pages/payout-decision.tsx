import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { signWithPasskey } from '../api/passkeys.ts'
import { membersQuery, people } from '../api/people.ts'
import { approvalOf } from '../api/reads.ts'
import type { ApprovePayout, Payout, PayoutApproval, PayoutDestination } from '../api/types.ts'
import { useActorNames } from '../app/actors.ts'
import { useChange } from '../app/changes.ts'
import { useAccount, useMode } from '../app/session.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { DialogForm } from '../parts/dialog-form.tsx'
import { Field } from '../parts/field.tsx'
import { COINS, coins } from '../parts/money.ts'
import { Note } from '../parts/note.tsx'
import { Card, Facts } from '../parts/page.tsx'
import { Read } from '../parts/read.tsx'
import { Time } from '../parts/time.tsx'
import { Worth } from '../parts/worth.tsx'

/** Yes or no to a payout that waits: all that is decided about stands here whole. */
export function PayoutDecision({
  payout,
  destination,
}: {
  payout: Payout
  destination: PayoutDestination | undefined
}) {
  const nameOf = useActorNames()
  const [dialog, setDialog] = useState<'approve' | 'reject' | null>(null)
  const reject = useChange<void, Payout>(() => ({ path: `/payouts/${payout.id}/reject` }), {
    done: 'Rejected. The money is back in your balance.',
  })
  const mayNot = useWhyNot(payout)
  if (payout.status !== 'requested') return null
  const { asset, amount, network_fee, net_amount } = payout
  const facts = [
    ['Requested by', nameOf(payout.requested_by)],
    ['Debited', <Worth key="amount" amount={amount} asset={asset} />],
    ['Estimated network fee', <Worth key="fee" amount={network_fee} asset={asset} />],
    ['Arrives, about', <Worth key="net" amount={net_amount} asset={asset} />],
    [`To this ${COINS[asset].name} address`, <code key="to">{payout.destination}</code>],
    [
      'Address added',
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
            <Button look="primary" onClick={() => setDialog('approve')}>
              Approve
            </Button>
          ) : null}
          {mayNot.reject ? null : (
            <Button look="danger" onClick={() => setDialog('reject')}>
              Reject
            </Button>
          )}
        </div>
      </div>
      {dialog === 'approve' ? <ApproveDialog payout={payout} onClose={() => setDialog(null)} /> : null}
      {dialog === 'reject' ? (
        <Confirm
          title="Reject this payout?"
          action="Reject it"
          danger
          onConfirm={() => reject.mutateAsync()}
          onClose={() => setDialog(null)}
        >
          <p>Nothing is sent, and {coins(amount, asset)} return to your balance at once.</p>
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
    return { approve: 'You requested it: another owner or admin of this shop approves it.', reject: false }
  }
  return { approve: null, reject: false }
}

/** The last look at a payout, and in live mode the passkey or code that approves exactly this one. */
function ApproveDialog({ payout, onClose }: { payout: Payout; onClose: () => void }) {
  const read = useQuery(approvalOf(useMode(), payout.id))
  if (read.data === undefined)
    return (
      <Dialog title="Approve payout" onClose={onClose}>
        <Read read={read}>{() => null}</Read>
      </Dialog>
    )
  if (read.data.method === 'not_ready')
    return (
      <Dialog title="You can't approve payouts yet" onClose={onClose}>
        <NotReady approval={read.data} />
      </Dialog>
    )
  return <ApproveForm payout={payout} approval={read.data} onClose={onClose} />
}

function ApproveForm({
  payout,
  approval,
  onClose,
}: {
  payout: Payout
  approval: PayoutApproval
  onClose: () => void
}) {
  const { asset, amount, net_amount, destination } = payout
  const { method } = approval
  const [code, setCode] = useState('')
  const approve = useChange<ApprovePayout, Payout>(
    (body) => ({ path: `/payouts/${payout.id}/approve`, body }),
    {
      done: 'Approved. It is sent as soon as it is signed.',
    },
  )
  const work = useMutation({
    mutationFn: async () => approve.mutateAsync(await proofOf(approval, code.replaceAll(' ', ''))),
    onSuccess: onClose,
  })
  return (
    <DialogForm
      title={`Send ${coins(amount, asset)}?`}
      action={method === 'passkey' ? 'Approve with passkey' : 'Approve and send'}
      change={work}
      onSubmit={() => work.mutate()}
      onClose={onClose}
    >
      <p>Compare the whole address once more. A sent payout can't be reversed.</p>
      <Facts
        facts={[
          ['Debited', <Worth key="amount" amount={amount} asset={asset} />],
          ['Arrives, about', <Worth key="net" amount={net_amount} asset={asset} />],
          [
            `${COINS[asset].name} address`,
            <code key="to" className="break">
              {destination}
            </code>,
          ],
        ]}
      />
      {method === 'code' ? (
        <Field
          label="6-digit code"
          hint="From your authenticator app. Backup codes don't approve payouts."
          name="code"
          value={code}
          onChange={(event) => setCode(event.target.value)}
          inputMode="numeric"
          autoComplete="one-time-code"
          pattern="[0-9 ]{6,7}"
          required
          autoFocus
        />
      ) : null}
    </DialogForm>
  )
}

/** Asks for the passkey; a code the sign-in looks at first, so that a wrong one shows here. */
async function proofOf(
  { method, challenge, passkeys }: PayoutApproval,
  code: string,
): Promise<ApprovePayout> {
  if (method === 'passkey') return { passkey: await signWithPasskey(challenge, passkeys) }
  if (method === 'none') return {}
  await people.verifyTotp(code)
  return { code }
}

const NotReady = ({ approval }: { approval: PayoutApproval }): ReactNode => (
  <div className="stack">
    <Note kind="warn">
      <p>
        {approval.ready_at === null ? (
          'To approve live payouts, add a passkey or set up your authenticator app. You can approve 24 hours after that. If you removed a passkey, set up your authenticator app again.'
        ) : (
          <>
            You can approve live payouts from <Time at={approval.ready_at} />: 24 hours after your passkey,
            authenticator app or role was added.
          </>
        )}
      </p>
    </Note>
    <p>Need it sooner? Ask another owner or admin to approve.</p>
    <Link className="button plain" to="/settings/security">
      Security settings
    </Link>
  </div>
)
