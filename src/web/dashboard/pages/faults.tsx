import { Link, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { Problem } from '../api/ask.ts'
import { ProblemNote } from '../parts/note.tsx'

export function NotFound() {
  return (
    <main className="auth">
      <h1>Page not found</h1>
      <p>The address is wrong, or what it named is gone.</p>
      <Link className="button primary" to="/">
        Go to the home page
      </Link>
    </main>
  )
}

const AGAIN_MS = 3_000

/** A page that broke: what is known of it, and the way on. What passes by itself is tried again by itself. */
export function PageFault({ error }: { error: unknown }) {
  const router = useRouter()
  const passes = error instanceof Problem && (error.status === 0 || error.status === 503)
  useEffect(() => {
    if (!passes) return
    const timer = setInterval(() => void router.invalidate(), AGAIN_MS)
    return () => clearInterval(timer)
  }, [passes, router])
  return (
    <main className="auth">
      <h1>This page could not be shown</h1>
      <ProblemNote error={error} />
      <a className="button primary" href={window.location.href}>
        Try again
      </a>
    </main>
  )
}
