import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { passkeysQuery, people, readSession, sessionQuery } from '../api/people.ts'
import { onSecondFactorNeeded, onSignInNeeded } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { ProblemNote } from '../parts/note.tsx'
import { Skeleton } from '../parts/table.tsx'
import { SecondFactorForm } from './second-factor.tsx'
import { useAccount } from './session.ts'
import { SignInForm } from './sign-in-form.tsx'
import { useProof } from './use-proof.ts'

/** Whoever is still signed in was refused for another reason: a new sign-in would not help. */
const isSignedIn = async (): Promise<boolean> => (await readSession()) !== null

/**
 * The window that opens where the session ended below an open page. The page and what was typed on it stay; the
 * requests that were refused are repeated once the same person has signed in again.
 */
export function SignInAgain() {
  const { person, merchantId } = useAccount()
  const queries = useQueryClient()
  const { isNeeded, settle } = useProof(onSignInNeeded, isSignedIn)
  const [needsCode, setNeedsCode] = useState(false)
  const goOn = useMutation({
    mutationFn: async () => {
      const session = await readSession()
      const isSame = session?.user.id === person.id
      if (isSame) await people.chooseOrganization(merchantId)
      return isSame
    },
    onSuccess: async (isSame) => {
      // Of somebody else nothing that is open here may stay.
      if (!isSame) return window.location.assign('/dashboard/')
      setNeedsCode(false)
      settle(true)
      await queries.invalidateQueries({ queryKey: ['people'] })
    },
  })
  if (!isNeeded) return null
  return (
    <Dialog title="Your session expired: sign in to continue" onClose={null}>
      <p className="quiet">This page stays as it is. What you were doing goes on afterwards.</p>
      {needsCode ? (
        <SecondFactorForm hasTotp onProved={() => goOn.mutate()} />
      ) : (
        <SignInForm
          email={person.email}
          stays
          onSignedIn={() => goOn.mutate()}
          onCodeNeeded={() => setNeedsCode(true)}
        />
      )}
      <ProblemNote error={goOn.error} />
      <div className="actions">
        <Button look="quiet" onClick={() => settle(false)}>
          Leave this page
        </Button>
      </div>
    </Dialog>
  )
}

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
