import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Problem } from '../api/request.ts'
import { useMode } from '../app/session.ts'
import { ProblemNote } from './note.tsx'
import { Page } from './page.tsx'
import { Empty, Skeleton } from './table.tsx'

type Reading<Data> = { readonly data: Data | undefined; readonly error: unknown }
type Shown<Data> = {
  read: Reading<Data>
  /** Bars in its place while it loads. */
  lines?: number
  children: (data: Data) => ReactNode
}

/** What was read; bars while it is not there yet, or why it will not be. */
export function Read<Data>({ read, lines = 4, children }: Shown<Data>) {
  if (read.data !== undefined) return children(read.data)
  return read.error === null ? <Skeleton lines={lines} /> : <ProblemNote error={read.error} />
}

/** The page of one resource, which gives itself its title; until it is there, one of its kind's name. */
export function ResourcePage<Data>({ kind, read, children }: Shown<Data> & { kind: string }) {
  if (read.data !== undefined) return children(read.data)
  const isUnknown = read.error instanceof Problem && read.error.status === 404
  return (
    <Page title={kind}>
      {isUnknown ? (
        <Unknown kind={kind} />
      ) : (
        <Read read={read} lines={6}>
          {children}
        </Read>
      )}
    </Page>
  )
}

/** The API answers alike for another mode's id, another shop's and one that never existed; so does the page. */
function Unknown({ kind }: { kind: string }) {
  const mode = useMode()
  const other = mode === 'test' ? 'live' : 'test'
  return (
    <Empty title={`No such ${kind.toLowerCase()} in ${mode} mode`}>
      <p>The address is wrong, or it belongs to {other} mode or to another shop.</p>
      <Link
        className="button plain"
        to="."
        search={(old) => ({ ...old, mode: other === 'live' ? other : undefined })}
      >
        Look in {other} mode
      </Link>
    </Empty>
  )
}
