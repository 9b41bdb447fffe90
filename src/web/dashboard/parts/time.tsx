import { useSyncExternalStore } from 'react'

const TICK_MS = 10_000
const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const WHOLE = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' })
const DAY = new Intl.DateTimeFormat('en', { dateStyle: 'medium' })
const RELATIVE_SECONDS_MAX = 7 * 86_400

let now = Date.now()
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    now = Date.now()
    for (const listener of listeners) listener()
  }, TICK_MS)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** Draws a component anew every ten seconds, for what it says of the time. */
export const useTick = (): void => {
  useSyncExternalStore(subscribe, () => now)
}

/** How long ago, and on hovering the moment itself, in the reader's own time. */
export function Time({ at }: { at: string }) {
  useTick()
  const date = new Date(at)
  return (
    <time dateTime={at} title={WHOLE.format(date)}>
      {formatRelative(date.getTime(), Date.now())}
    </time>
  )
}

function formatRelative(atMs: number, nowMs: number): string {
  const seconds = Math.round((atMs - nowMs) / 1_000)
  if (Math.abs(seconds) > RELATIVE_SECONDS_MAX) return DAY.format(atMs)
  for (const [unit, length] of UNITS) {
    if (Math.abs(seconds) >= length) return RELATIVE.format(Math.round(seconds / length), unit)
  }
  return 'just now'
}

export const formatMoment = (at: string): string => WHOLE.format(new Date(at))
