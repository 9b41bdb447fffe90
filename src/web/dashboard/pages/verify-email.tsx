import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { people, sessionQuery } from '../api/people.ts'
import { useEnter } from '../app/enter.ts'
import { AuthCard } from '../parts/auth-card.tsx'
import { Button } from '../parts/button.tsx'
import { Note, ProblemNote } from '../parts/note.tsx'
import { Skeleton } from '../parts/table.tsx'

const route = getRouteApi('/outside/verify-email')
const TITLE = 'Confirm your email address'

/**
 * By a button: mail scanners open links, and must not confirm for anybody. Signed in: a stranger may have opened the
 * account with somebody else's address.
 */
export function VerifyEmailPage() {
  const { token = '' } = route.useSearch()
  const session = useQuery(sessionQuery)
  if (session.isPending) return <Loading />
  if (session.data === undefined || session.data === null) return <SignInFirst token={token} />
  return <Confirm token={token} email={session.data.user.email} />
}

function SignInFirst({ token }: { token: string }) {
  const next = `/verify-email?token=${encodeURIComponent(token)}`
  return (
    <AuthCard title={TITLE} lead="Sign in first, with the password that you chose.">
      <div className="stack">
        <Link className="button primary" to="/sign-in" search={{ next }}>
          Sign in
        </Link>
        <p>
          You never signed up? Close this page: somebody may have used your address. Nothing is confirmed.
        </p>
      </div>
    </AuthCard>
  )
}

function Confirm({ token, email }: { token: string; email: string }) {
  const enter = useEnter()
  const verify = useMutation({ mutationFn: () => people.verifyEmail(token) })
  return (
    <AuthCard title={TITLE}>
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
          <p>You are signed in as {email}.</p>
          <ProblemNote error={verify.error} />
          <Button look="primary" busy={verify.isPending} onClick={() => verify.mutate()}>
            Confirm my address
          </Button>
        </div>
      )}
    </AuthCard>
  )
}

const Loading = () => (
  <AuthCard title={TITLE}>
    <Skeleton lines={2} />
  </AuthCard>
)
