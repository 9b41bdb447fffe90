import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react'

type Shared = { label: string; hint?: ReactNode; fault?: string | null | undefined }

function Around({ id, label, hint, fault, children }: Shared & { id: string; children: ReactNode }) {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children}
      {hint === undefined ? null : (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {fault === undefined || fault === null ? null : (
        <p className="fault" id={`${id}-fault`} role="alert">
          {fault}
        </p>
      )}
    </div>
  )
}

const describedBy = (id: string, { hint, fault }: Shared): string | undefined =>
  [hint === undefined ? '' : `${id}-hint`, fault == null ? '' : `${id}-fault`].filter(Boolean).join(' ') ||
  undefined

/** A labelled input. `fault` says what is wrong with it. */
export function Field({ label, hint, fault, ...input }: Shared & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId()
  return (
    <Around id={id} label={label} hint={hint} fault={fault}>
      <input
        {...input}
        id={id}
        className="input"
        aria-invalid={fault == null ? undefined : true}
        aria-describedby={describedBy(id, { label, hint, fault })}
      />
    </Around>
  )
}

/** A labelled field of several lines. */
export function TextArea({
  label,
  hint,
  fault,
  ...area
}: Shared & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  const id = useId()
  return (
    <Around id={id} label={label} hint={hint} fault={fault}>
      <textarea
        {...area}
        id={id}
        className="input"
        aria-invalid={fault == null ? undefined : true}
        aria-describedby={describedBy(id, { label, hint, fault })}
      />
    </Around>
  )
}

export function Select({
  label,
  hint,
  fault,
  children,
  ...select
}: Shared & SelectHTMLAttributes<HTMLSelectElement>) {
  const id = useId()
  return (
    <Around id={id} label={label} hint={hint} fault={fault}>
      <select
        {...select}
        id={id}
        className="input"
        aria-invalid={fault == null ? undefined : true}
        aria-describedby={describedBy(id, { label, hint, fault })}
      >
        {children}
      </select>
    </Around>
  )
}

export function Checkbox({
  label,
  hint,
  ...input
}: { label: ReactNode; hint?: ReactNode } & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId()
  return (
    <div className="check">
      <input
        {...input}
        id={id}
        type={input.type ?? 'checkbox'}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
      />
      <label htmlFor={id}>
        {label}
        {hint === undefined ? null : (
          <small className="hint" id={`${id}-hint`}>
            {hint}
          </small>
        )}
      </label>
    </div>
  )
}
