import type { ReactNode } from 'react'
import { Problem } from '../api/request.ts'
import { Icon } from './icons.tsx'

/** A word beside the work: what to know, what went wrong. */
export function Note({
  kind = 'info',
  children,
}: {
  kind?: 'info' | 'warn' | 'bad' | 'good'
  children: ReactNode
}) {
  return (
    <div className={`note ${kind}`} role={kind === 'bad' ? 'alert' : undefined}>
      <Icon name={kind === 'good' ? 'check' : 'attention'} />
      <div>{children}</div>
    </div>
  )
}

/** What the server refused, in its own words, which say how to fix it. Nothing where nothing went wrong. */
export function ProblemNote({ error }: { error: unknown }) {
  if (error === null || error === undefined) return null
  const requestId = error instanceof Problem ? error.requestId : null
  return (
    <Note kind="bad">
      <p>{messageOf(error)}</p>
      {requestId === null ? null : <p className="quiet mono">{requestId}</p>}
    </Note>
  )
}

export const messageOf = (error: unknown): string =>
  error instanceof Problem ? error.message : 'Something went wrong on this page. Reload it, then try again.'

/** The words for one field, where the server named it as the one at fault. */
export const faultOf = (error: unknown, param: string): string | null =>
  error instanceof Problem && error.param === param ? error.message : null
