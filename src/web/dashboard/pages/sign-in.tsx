import { useMutation } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { canUsePasskeys, provePasskey } from '../api/passkeys.ts'
import { people } from '../api/people.ts'
import { useEnter } from '../app/enter.ts'
import { SecondFactorForm } from '../app/second-factor.tsx'
import { AuthCard } from '../parts/auth-card.tsx'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { ProblemNote } from '../parts/note.tsx'

const route = getRouteApi('/outside/sign-in')

export function SignInPage() {
  const { next } = route.useSearch()
  const [needsCode, setNeedsCode] = useState(false)
  const enter = useEnter()
  if (needsCode) {
    return (
      <AuthCard title="Second factor" lead="Your password is right. Now prove your second factor.">
        <SecondFactorForm hasTotp onProved={() => void enter(next)} />
      </AuthCard>
    )
  }
  return <PasswordStep next={next} onCodeNeeded={() => setNeedsCode(true)} />
}

function PasswordStep({ next, onCodeNeeded }: { next: string | undefined; onCodeNeeded: () => void }) {
  const enter = useEnter()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const signIn = useMutation({
    mutationFn: () => people.signIn({ email: email.trim(), password }),
    onSuccess: ({ twoFactorRedirect }) => (twoFactorRedirect === true ? onCodeNeeded() : enter(next)),
  })
  const byPasskey = useMutation({ mutationFn: provePasskey, onSuccess: () => enter(next) })
  return (
    <AuthCard title="Sign in">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          signIn.mutate()
        }}
      >
        <Field
          label="E-mail"
          type="email"
          name="email"
          autoComplete="username webauthn"
          required
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <Field
          label="Password"
          type="password"
          name="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <ProblemNote error={signIn.error ?? byPasskey.error} />
        <Button type="submit" look="primary" busy={signIn.isPending}>
          Sign in
        </Button>
        {canUsePasskeys() ? (
          <Button icon="key" busy={byPasskey.isPending} onClick={() => byPasskey.mutate()}>
            Sign in with a passkey
          </Button>
        ) : null}
      </form>
      <p className="auth-links">
        <Link to="/forgot-password">Forgot your password?</Link>
        <Link to="/sign-up" search={{ next }}>
          New here? Sign up
        </Link>
      </p>
    </AuthCard>
  )
}
