import { useMutation } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { people } from '../api/people.ts'
import { useEnter } from '../app/enter.ts'
import { Button } from '../parts/button.tsx'
import { Door } from '../parts/door.tsx'
import { Note, ProblemNote } from '../parts/note.tsx'

const route = getRouteApi('/outside/verify-email')

/** By a button: mail scanners open links, and must not confirm for anybody. */
export function VerifyEmailPage() {
  const { token } = route.useSearch()
  const enter = useEnter()
  const verify = useMutation({ mutationFn: () => people.verifyEmail(token ?? '') })
  return (
    <Door title="Confirm your e-mail address">
      {verify.isSuccess ? (
        <div className="stack">
          <Note kind="good">
            <p>Your address is confirmed.</p>
          </Note>
          <Button look="primary" onClick={() => void enter()}>
            Go to the dashboard
          </Button>
        </div>
      ) : (
        <div className="stack">
          <p>Press the button, and this address is yours here.</p>
          <ProblemNote error={verify.error} />
          <Button look="primary" busy={verify.isPending} onClick={() => verify.mutate()}>
            Confirm my address
          </Button>
        </div>
      )}
    </Door>
  )
}
