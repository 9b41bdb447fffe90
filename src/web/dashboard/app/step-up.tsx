import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { onSecondFactorNeeded } from '../api/ask.ts'
import { passkeysQuery, sessionQuery } from '../api/people.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Skeleton } from '../parts/table.tsx'
import { SecondFactorForm } from './second-factor.tsx'
import { useProof } from './use-proof.ts'

/** The window that opens whenever a request needs a second factor proved in the last five minutes. */
export function StepUp() {
  const queries = useQueryClient()
  const { isNeeded, settle } = useProof(onSecondFactorNeeded)
  if (!isNeeded) return null
  const leave = (proved: boolean) => {
    settle(proved)
    void queries.invalidateQueries({ queryKey: ['people'] })
  }
  return (
    <Dialog title="Confirm that it is you" onClose={() => leave(false)}>
      <StepUpForm onProved={() => leave(true)} onLeave={() => leave(false)} />
    </Dialog>
  )
}

function StepUpForm({ onProved, onLeave }: { onProved: () => void; onLeave: () => void }) {
  const session = useQuery(sessionQuery)
  const passkeys = useQuery(passkeysQuery)
  if (session.data === undefined || passkeys.data === undefined) return <Skeleton lines={2} />
  const hasTotp = session.data?.user.twoFactorEnabled === true
  if (!hasTotp && passkeys.data.length === 0) {
    return (
      <div className="stack">
        <p>
          What touches live money, keys or rules needs a second factor, so that a stolen password is not
          enough. You have none yet. It takes a minute with an authenticator app or a passkey.
        </p>
        <Link className="button primary" to="/settings/security" onClick={onLeave}>
          Set up a second factor
        </Link>
      </div>
    )
  }
  return (
    <div className="stack">
      <p>This needs your second factor, proved in the last five minutes.</p>
      <SecondFactorForm hasTotp={hasTotp} onProved={onProved} />
    </div>
  )
}
