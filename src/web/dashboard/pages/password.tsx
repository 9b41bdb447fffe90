import { useMutation } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { people } from '../api/people.ts'
import { AuthCard } from '../parts/auth-card.tsx'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { Note, ProblemNote } from '../parts/note.tsx'

const route = getRouteApi('/outside/reset-password')

export function ForgotPasswordPage() {
  const [email, setEmail] = useState('')
  const ask = useMutation({ mutationFn: () => people.requestReset(email.trim()) })
  return (
    <AuthCard title="Forgot your password?" lead="We send you a link to choose a new one.">
      {ask.isSuccess ? (
        <Note kind="good">
          <p>
            If {email} has an account here, a link is on its way. It works for one hour. If none arrives, ask
            whoever runs this server for it.
          </p>
        </Note>
      ) : (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault()
            ask.mutate()
          }}
        >
          <Field
            label="Email"
            type="email"
            name="email"
            autoComplete="username"
            required
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
          <ProblemNote error={ask.error} />
          <Button type="submit" look="primary" busy={ask.isPending}>
            Send the link
          </Button>
        </form>
      )}
      <p className="auth-links">
        <Link to="/sign-in" search={{}}>
          Back to sign in
        </Link>
      </p>
    </AuthCard>
  )
}

export function ResetPasswordPage() {
  const { token } = route.useSearch()
  const [password, setPassword] = useState('')
  const reset = useMutation({
    mutationFn: () => people.resetPassword({ token: token ?? '', newPassword: password }),
  })
  if (reset.isSuccess) {
    return (
      <AuthCard title="Your new password is set">
        <Note kind="good">
          <p>Every earlier sign-in of yours was ended.</p>
        </Note>
        <Link className="button primary" to="/sign-in" search={{}}>
          Sign in
        </Link>
      </AuthCard>
    )
  }
  return (
    <AuthCard title="Choose a new password">
      {token === undefined ? (
        <Note kind="bad">
          <p>This link is not whole. Open it from the email again, or ask for a new one.</p>
        </Note>
      ) : null}
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          reset.mutate()
        }}
      >
        <Field
          label="New password"
          type="password"
          name="password"
          autoComplete="new-password"
          required
          minLength={10}
          maxLength={128}
          hint="At least 10 characters."
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <ProblemNote error={reset.error} />
        <Button type="submit" look="primary" busy={reset.isPending}>
          Set the password
        </Button>
      </form>
      <p className="auth-links">
        <Link to="/forgot-password">Ask for a new link</Link>
      </p>
    </AuthCard>
  )
}
