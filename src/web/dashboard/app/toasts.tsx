import { createContext, type ReactNode, useCallback, useContext, useState } from 'react'
import { Icon } from '../parts/icons.tsx'

type Undo = { readonly label: string; readonly run: () => void }
type Toast = { readonly id: number; readonly message: string; readonly undo: Undo | undefined }
type ShowToast = (message: string, undo?: Undo) => void

const SHOWN_MS = 6_000
const SHOWN_MAX = 3
const ToastContext = createContext<ShowToast>(() => {})

/** Says in a corner, and to screen readers, that something was done, with a way back where there is one. */
export const useToast = (): ShowToast => useContext(ToastContext)

let toastsCreated = 0

export function Toasts({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([])
  const drop = useCallback((id: number) => setToasts((all) => all.filter((one) => one.id !== id)), [])
  const show = useCallback<ShowToast>(
    (message, undo) => {
      const id = ++toastsCreated
      setToasts((all) => [...all.slice(1 - SHOWN_MAX), { id, message, undo }])
      setTimeout(() => drop(id), SHOWN_MS)
    },
    [drop],
  )
  return (
    <ToastContext value={show}>
      {children}
      <div className="toasts" role="status">
        {toasts.map(({ id, message, undo }) => (
          <div className="toast" key={id}>
            <Icon name="check" />
            <span>{message}</span>
            {undo === undefined ? null : (
              <button
                type="button"
                className="button quiet small"
                onClick={() => {
                  undo.run()
                  drop(id)
                }}
              >
                {undo.label}
              </button>
            )}
          </div>
        ))}
      </div>
    </ToastContext>
  )
}
