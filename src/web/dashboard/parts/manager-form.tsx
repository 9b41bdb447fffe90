import { type ReactNode, useEffect, useRef } from 'react'
import { useAccount } from '../app/session.ts'
import { Button } from './button.tsx'
import { faultOf, Note, ProblemNote } from './note.tsx'

/** Settings that owners and admins change and everybody else sees. */
export function ManagerForm({
  title,
  save,
  faults,
  onSave,
  spacing = '',
  children,
}: {
  title: string
  save: { readonly error: unknown; readonly isPending: boolean }
  /** The fields that say themselves what is wrong with them. */
  faults: readonly string[]
  onSave: () => void
  spacing?: '' | 'large'
  children: ReactNode
}) {
  const { isManager } = useAccount()
  const form = useRef<HTMLFormElement>(null)
  const isShown = faults.some((field) => faultOf(save.error, field) !== null)
  // The button may be a long way below the field that was refused.
  useEffect(() => {
    if (isShown) form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [isShown])
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault()
        onSave()
      }}
    >
      <fieldset className={`stack plain ${spacing}`} disabled={!isManager}>
        <legend className="unseen">{title}</legend>
        {children}
        {isShown ? null : <ProblemNote error={save.error} />}
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
