import { type ReactNode, useEffect, useId, useRef } from 'react'
import { Icon } from './icons.tsx'

/**
 * A window over the page: the browser's own modal dialog, which keeps focus inside, makes the rest inert, ends with
 * Escape and gives focus back.
 */
export function Dialog({
  title,
  onClose,
  children,
  kind = 'window',
}: {
  title: string
  onClose: () => void
  children: ReactNode
  kind?: 'window' | 'drawer'
}) {
  const ref = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={ref}
      className={kind}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <header className="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <button type="button" className="button quiet square" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div className="dialog-body">{children}</div>
    </dialog>
  )
}
