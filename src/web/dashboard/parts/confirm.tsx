import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { ProblemNote } from './note.tsx'

/** Asks before what cannot be taken back, and says what will follow from it. */
export function Confirm({
  title,
  action,
  danger = false,
  children,
  onConfirm,
  onClose,
}: {
  title: string
  action: string
  danger?: boolean
  children: ReactNode
  onConfirm: () => Promise<unknown>
  onClose: () => void
}) {
  const work = useMutation({ mutationFn: onConfirm, onSuccess: onClose })
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="stack">{children}</div>
      <ProblemNote error={work.error} />
      <div className="actions end">
        <Button onClick={onClose}>Cancel</Button>
        <Button look={danger ? 'danger' : 'primary'} busy={work.isPending} onClick={() => work.mutate()}>
          {action}
        </Button>
      </div>
    </Dialog>
  )
}
