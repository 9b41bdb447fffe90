import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { people, sessionQuery } from '../api/people.ts'
import { useEnter } from '../app/enter.ts'
import { AuthCard } from '../parts/auth-card.tsx'
import { Button } from '../parts/button.tsx'
import { Note, ProblemNote } from '../parts/note.tsx'
import { Skeleton } from '../parts/table.tsx'

const route = getRouteApi('/outside/invitation')

/** Joins a shop. Only who signed in with the invited, confirmed address may read and accept it. */
export function InvitationPage() {
  const { id = '' } = route.useSearch()
  const session = useQuery(sessionQuery)
  const isSignedIn = session.data !== undefined && session.data !== null
  const next = `/invitation?id=${encodeURIComponent(id)}`
  if (session.isPending) return <Loading />
  if (!isSignedIn) {
    return (
      <AuthCard
        title="You are invited"
        lead="Sign in, or sign up with the address that the invitation came to."
      >
        <div className="stack">
          <Link className="button primary" to="/sign-in" search={{ next }}>
            Sign in
          </Link>
          <Link className="button plain" to="/sign-up" search={{ next }}>
            Sign up
          </Link>
        </div>
      </AuthCard>
    )
  }
  return (
    <Accept
      id={id}
      email={session.data?.user.email ?? ''}
      isVerified={session.data?.user.emailVerified === true}
    />
  )
}

function Accept({ id, email, isVerified }: { id: string; email: string; isVerified: boolean }) {
  const enter = useEnter()
  const invitation = useQuery({
    queryKey: ['people', 'invitation', id],
    queryFn: () => people.invitation(id),
    enabled: isVerified,
    retry: false,
  })
  const accept = useMutation({
    mutationFn: async () => {
      await people.acceptInvitation(id)
    },
    onSuccess: () => enter(),
  })
  const sendAgain = useMutation({ mutationFn: () => people.sendVerification(email) })
  if (!isVerified) {
    return (
      <AuthCard title="Confirm your address first">
        <div className="stack">
          <p>
            The invitation is for whoever reads the mail of {email}. Open the link that we sent there, then
            come back to this page.
          </p>
          {sendAgain.isSuccess ? <Note kind="good">A new link is on its way.</Note> : null}
          <ProblemNote error={sendAgain.error} />
          <Button busy={sendAgain.isPending} onClick={() => sendAgain.mutate()}>
            Send the link again
          </Button>
        </div>
      </AuthCard>
    )
  }
  if (invitation.isPending) return <Loading />
  if (invitation.error !== null) {
    return (
      <AuthCard title="This invitation cannot be opened" lead={`You are signed in as ${email}.`}>
        <ProblemNote error={invitation.error} />
      </AuthCard>
    )
  }
  const { organizationName, inviterEmail, role } = invitation.data
  return (
    <AuthCard title={`Join ${organizationName}`} lead={`${inviterEmail} invites you as ${role}.`}>
      <div className="stack">
        <ProblemNote error={accept.error} />
        <Button look="primary" busy={accept.isPending} onClick={() => accept.mutate()}>
          Join the shop
        </Button>
      </div>
    </AuthCard>
  )
}

const Loading = () => (
  <AuthCard title="Invitation">
    <Skeleton lines={2} />
  </AuthCard>
)
