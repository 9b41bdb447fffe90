import type { ReactNode } from 'react'
import { useAccount } from '../app/session.ts'
import { Button } from './button.tsx'
import { Note, ProblemNote } from './note.tsx'

/** Settings that owners and admins change and everybody else sees. */
export function ManagerForm({
  title,
  save,
  onSave,
  spacing = '',
  children,
}: {
  title: string
  save: { readonly error: unknown; readonly isPending: boolean }
  onSave: () => void
  spacing?: '' | 'large'
  children: ReactNode
}) {
  const { isManager } = useAccount()
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onSave()
      }}
    >
      <fieldset className={`stack plain ${spacing}`} disabled={!isManager}>
        <legend className="unseen">{title}</legend>
        {children}
        <ProblemNote error={save.error} />
        {isManager ? (
          <div className="actions">
            <Button type="submit" look="primary" busy={save.isPending}>
              Save
            </Button>
          </div>
        ) : (
          <Note>An owner or admin can change this.</Note>
        )}
      </fieldset>
    </form>
  )
}
