import type { WINDOW_MINUTES } from '../../../core/payment-rules.ts'

type Window = (typeof WINDOW_MINUTES)[number]

/** How long a buyer can have to pay, by minutes. */
export const WINDOW_LABELS: { readonly [minutes in Window]: string } = {
  15: '15 minutes',
  30: '30 minutes',
  60: '1 hour',
  180: '3 hours',
  720: '12 hours',
  1440: '1 day',
}
export const WINDOWS = Object.keys(WINDOW_LABELS).map(Number).filter(isWindow)

export function isWindow(minutes: number): minutes is Window {
  return minutes in WINDOW_LABELS
}
