import { Button } from './button.tsx'
import { CopyField } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { Note } from './note.tsx'

/** A secret that is shown once, in a window that says so and that no slip of a finger closes. */
export function SecretDialog({
  title,
  label,
  secret,
  onClose,
  advice = 'Keep it where your server reads its secrets, never in a repository.',
  children,
}: {
  title: string
  label: string
  secret: string
  onClose: () => void
  advice?: string
  children?: React.ReactNode
}) {
  return (
    <Dialog title={title} onClose={null}>
      <div className="stack">
        <CopyField label={label} text={secret} />
        <Note kind="warn">
          <p>You won't be able to see this again. {advice}</p>
        </Note>
        {children}
        <div className="actions end">
          <Button look="primary" onClick={onClose}>
            I have copied it
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
