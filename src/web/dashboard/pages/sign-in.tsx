import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { isHere, leaveHere } from '../api/here.ts'
import { useEnter } from '../app/enter.ts'
import { SecondFactorForm } from '../app/second-factor.tsx'
import { SignInForm } from '../app/sign-in-form.tsx'
import { AuthCard } from '../parts/auth-card.tsx'

const route = getRouteApi('/outside/sign-in')

export function SignInPage() {
  const { next } = route.useSearch()
  const [needsCode, setNeedsCode] = useState(false)
  // A link into one cell leads to what is there.
  const [stays, setStays] = useState(isHere())
  const enter = useEnter()
  if (needsCode) {
    return (
      <AuthCard title="Second factor" lead="Your password is right. Now prove your second factor.">
        <SecondFactorForm hasTotp onProved={() => void enter(next)} />
      </AuthCard>
    )
  }
  return (
    <AuthCard
      title="Sign in"
      lead={
        <>
          Paylink takes crypto payments for shops, on a server of your own.{' '}
          <a href="/docs/guides">Read the guides</a>
        </>
      }
    >
      <SignInForm
        key={String(stays)}
        onSignedIn={() => void enter(next)}
        onCodeNeeded={() => setNeedsCode(true)}
      />
      <p className="auth-links">
        <Link to="/forgot-password">Forgot your password?</Link>
        <Link to="/sign-up" search={{ next }}>
          New here? Sign up
        </Link>
        {stays ? (
          <Link
            to="/sign-in"
            search={{ next }}
            onClick={() => {
              leaveHere()
              setStays(false)
            }}
          >
            Sign in to another shop
          </Link>
        ) : null}
      </p>
    </AuthCard>
  )
}
