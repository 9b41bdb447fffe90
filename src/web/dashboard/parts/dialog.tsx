import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { Icon } from './icons.tsx'

/** Where typing begins; a window without fields begins at its button to close it. */
const FIRST_FIELD = '.dialog-body :is(input, select, textarea)'

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
  /** Null: it ends by its own buttons alone, and not by Escape either. */
  onClose: (() => void) | null
  children: ReactNode
  kind?: 'window' | 'drawer'
}) {
  const ref = useRef<HTMLDialogElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  const titleId = useId()
  // Before the page is changed back: a dialog that left it gives focus back to nobody.
  useLayoutEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    dialog?.querySelector<HTMLElement>(FIRST_FIELD)?.focus()
    return () => dialog?.close()
  }, [])
  // A next step took away what had focus.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a changed title means another step.
  useLayoutEffect(() => {
    if (ref.current?.contains(document.activeElement) === false) heading.current?.focus()
  }, [title])
  return (
    <dialog
      ref={ref}
      className={kind}
      aria-labelledby={titleId}
      // A browser lets nobody refuse the second Escape: only this keeps such a window open.
      {...(onClose === null ? { closedby: 'none' } : {})}
      onKeyDown={(event) => {
        if (onClose === null && event.key === 'Escape') event.preventDefault()
      }}
      onCancel={(event) => {
        event.preventDefault()
        onClose?.()
      }}
    >
      <div className="dialog-head">
        <h2 id={titleId} ref={heading} tabIndex={-1}>
          {title}
        </h2>
        {onClose === null ? null : (
          <button type="button" className="button quiet square" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        )}
      </div>
      <div className="dialog-body">{children}</div>
    </dialog>
  )
}
