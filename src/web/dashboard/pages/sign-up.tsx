import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { people, signUpQuery } from '../api/people.ts'
import { useEnter } from '../app/enter.ts'
import { openShop } from '../app/first-steps.ts'
import { AuthCard } from '../parts/auth-card.tsx'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { faultOf, ProblemNote } from '../parts/note.tsx'

const PASSWORD_LENGTH_MIN = 10
const route = getRouteApi('/outside/sign-up')

/** One form: the person and their shop. Who was invited joins a shop and opens none. */
export function SignUpPage() {
  const { next, email: invitedEmail } = route.useSearch()
  const isInvited = next?.startsWith('/invitation') === true
  const enter = useEnter()
  const [form, setForm] = useState({ name: '', email: invitedEmail ?? '', password: '', shop: '' })
  const set = (name: keyof typeof form) => (event: { target: { value: string } }) =>
    setForm((old) => ({ ...old, [name]: event.target.value }))
  const signUp = useMutation({
    mutationFn: async () => {
      const { name, email, password, shop } = form
      await people.signUp({ name: name.trim(), email: email.trim(), password }, isInvited)
      if (!isInvited) await openShop(shop.trim())
    },
    onSuccess: () => enter(next),
  })
  const { data: offered } = useQuery(signUpQuery)
  if (offered !== undefined && offered.mode !== 'open' && !(offered.mode === 'invite' && isInvited)) {
    return (
      <AuthCard title="Sign-up is closed" lead={offered.message ?? ''}>
        <p className="auth-links">
          <Link to="/sign-in" search={{ next }}>
            Have an account? Sign in
          </Link>
        </p>
      </AuthCard>
    )
  }
  return (
    <AuthCard
      title="Start taking payments"
      lead="The test mode needs no wallet: your first paid invoice is minutes away."
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          signUp.mutate()
        }}
      >
        <Field
          label="Your name"
          name="name"
          autoComplete="name"
          required
          maxLength={120}
          value={form.name}
          onChange={set('name')}
        />
        <Field
          label="Email"
          type="email"
          name="email"
          autoComplete="username"
          required
          maxLength={254}
          value={form.email}
          onChange={set('email')}
        />
        <Field
          label="Password"
          type="password"
          name="password"
          autoComplete="new-password"
          required
          minLength={PASSWORD_LENGTH_MIN}
          maxLength={128}
          hint={`At least ${PASSWORD_LENGTH_MIN} characters: a few unrelated words are good.`}
          fault={faultOf(signUp.error, 'password')}
          value={form.password}
          onChange={set('password')}
        />
        {isInvited ? null : (
          <Field
            label="Shop name"
            name="shop"
            autoComplete="organization"
            required
            maxLength={120}
            hint="Your buyers see it. You can change it later."
            value={form.shop}
            onChange={set('shop')}
          />
        )}
        {faultOf(signUp.error, 'password') === null ? <ProblemNote error={signUp.error} /> : null}
        <Button type="submit" look="primary" busy={signUp.isPending}>
          {isInvited ? 'Sign up' : 'Open my shop'}
        </Button>
      </form>
      <p className="auth-links">
        <Link to="/sign-in" search={{ next }}>
          Have an account? Sign in
        </Link>
      </p>
    </AuthCard>
  )
}
