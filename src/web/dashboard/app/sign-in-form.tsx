import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { canUsePasskeys, provePasskey } from '../api/passkeys.ts'
import { people } from '../api/people.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { ProblemNote } from '../parts/note.tsx'

/** A password or a passkey. */
export function SignInForm({
  email: known = '',
  stays = false,
  onSignedIn,
  onCodeNeeded,
}: {
  email?: string
  /** In this cell, whatever address is given. */
  stays?: boolean
  onSignedIn: () => void
  onCodeNeeded: () => void
}) {
  const [email, setEmail] = useState(known)
  const [password, setPassword] = useState('')
  const signIn = useMutation({
    mutationFn: () => people.signIn({ email: email.trim(), password }, stays),
    onSuccess: ({ twoFactorRedirect }) => (twoFactorRedirect === true ? onCodeNeeded() : onSignedIn()),
  })
  const byPasskey = useMutation({ mutationFn: provePasskey, onSuccess: onSignedIn })
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        signIn.mutate()
      }}
    >
      <Field
        label="Email"
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
  )
}
