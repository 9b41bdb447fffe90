import type { ReactNode } from 'react'
import { ProblemNote } from './note.tsx'
import { Page } from './page.tsx'
import { Bones } from './table.tsx'

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
  return read.error === null ? <Bones lines={lines} /> : <ProblemNote error={read.error} />
}

/** The page of one resource, which gives itself its title; until it is there, one of its kind's name. */
export function ResourcePage<Data>({ kind, read, children }: Shown<Data> & { kind: string }) {
  if (read.data !== undefined) return children(read.data)
  return (
    <Page title={kind}>
      <Read read={read} lines={6}>
        {children}
      </Read>
    </Page>
  )
}
