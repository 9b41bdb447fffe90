import { Link } from '@tanstack/react-router'
import { ProblemNote } from '../parts/note.tsx'

export function NotFound() {
  return (
    <main className="door">
      <h1>There is no such page</h1>
      <p>The address is wrong, or what it named is gone.</p>
      <Link className="button primary" to="/">
        Go to the home page
      </Link>
    </main>
  )
}

/** A page that broke: what is known of it, and the way on. */
export function PageFault({ error }: { error: unknown }) {
  return (
    <main className="door">
      <h1>This page could not be shown</h1>
      <ProblemNote error={error} />
      <a className="button primary" href={window.location.href}>
        Try again
      </a>
    </main>
  )
}
