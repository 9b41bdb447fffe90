import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { signWithPasskey } from '../api/passkeys.ts'
import { people } from '../api/people.ts'
import { approvalOf } from '../api/reads.ts'
import type { ApprovePayout, Payout, PayoutApproval } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useMode } from '../app/session.ts'
import { Dialog } from '../parts/dialog.tsx'
import { DialogForm } from '../parts/dialog-form.tsx'
import { Field } from '../parts/field.tsx'
import { COINS, coins } from '../parts/money.ts'
import { Note } from '../parts/note.tsx'
import { Facts } from '../parts/page.tsx'
import { Read } from '../parts/read.tsx'
import { Time } from '../parts/time.tsx'

/** The last look at a payout, and in live mode the passkey or code that approves exactly this one. */
export function ApproveDialog({ payout, onClose }: { payout: Payout; onClose: () => void }) {
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
          ['Debited', coins(amount, asset)],
          ['Arrives, about', coins(net_amount, asset)],
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

/** Asks for the passkey; a code the sign-in looks at first, so that a wrong one is told here. */
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
