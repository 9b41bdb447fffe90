import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { onSignInNeeded } from '../api/ask.ts'
import { people, readSession } from '../api/people.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { ProblemNote } from '../parts/note.tsx'
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
