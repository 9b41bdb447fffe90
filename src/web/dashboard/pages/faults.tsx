import { Link, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { Problem } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { ProblemNote } from '../parts/note.tsx'
import { Page } from '../parts/page.tsx'

/** What an address of the dashboard shows that is none of its pages. */
export function NotFound() {
  return (
    <Page title="Page not found">
      <div className="stack">
        <p>The address is wrong, or what it named is gone.</p>
        <div className="actions">
          <Link className="button primary" to="/">
            Go to the home page
          </Link>
        </div>
      </div>
    </Page>
  )
}

const AGAIN_MS = 3_000

/** Tries again by itself what passes by itself. */
function useRetry(error: unknown): () => void {
  const router = useRouter()
  const passes = error instanceof Problem && (error.status === 0 || error.status === 503)
  useEffect(() => {
    if (!passes) return
    const timer = setInterval(() => void router.invalidate(), AGAIN_MS)
    return () => clearInterval(timer)
  }, [passes, router])
  return () => void router.invalidate()
}

/** Where nothing can be shown at all: what is known of it, and the way on. */
export function PageFault({ error }: { error: unknown }) {
  useRetry(error)
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

/** One page that broke; everything around it stays. */
export function OnePageFault({ error }: { error: unknown }) {
  const retry = useRetry(error)
  return (
    <Page title="This page could not be shown">
      <div className="stack">
        <ProblemNote error={error} />
        <div className="actions">
          <Button look="primary" onClick={retry}>
            Retry
          </Button>
        </div>
      </div>
    </Page>
  )
}
