import type { ButtonHTMLAttributes } from 'react'
import { Icon, type IconName } from './icons.tsx'

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  look?: 'primary' | 'plain' | 'danger' | 'quiet'
  icon?: IconName
  small?: boolean
  /** Under way: it says so, and takes no second press. */
  busy?: boolean
}

export function Button({
  look = 'plain',
  icon,
  busy = false,
  small = false,
  children,
  type = 'button',
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      className={`button ${look} ${small ? 'small' : ''}`}
      aria-disabled={busy || undefined}
      data-busy={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : rest.onClick}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  )
}
