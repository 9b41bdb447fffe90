import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { faultOf, ProblemNote } from './note.tsx'

/** A form in a window: its fields, what was refused, and the way back or on. */
export function DialogForm({
  title,
  action,
  change,
  faults = [],
  onSubmit,
  onClose,
  children,
}: {
  title: string
  action: string
  change: { readonly error: unknown; readonly isPending: boolean }
  /** The fields that say themselves what is wrong with them. */
  faults?: readonly string[]
  onSubmit: () => void
  onClose: () => void
  children: ReactNode
}) {
  const isShown = faults.some((field) => faultOf(change.error, field) !== null)
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          onSubmit()
        }}
      >
        {children}
        {isShown ? null : <ProblemNote error={change.error} />}
        <div className="actions end">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={change.isPending}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
