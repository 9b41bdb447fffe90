import { setTimeout as pause } from 'node:timers/promises'

const WAIT_MS_MAX = 60_000
const LOOK_INTERVAL_MS = 20

/** Waits until a condition holds, and says what did not. */
export async function until(
  condition: () => Promise<boolean> | boolean,
  { what = 'a condition held', timeoutMs = WAIT_MS_MAX }: { what?: string; timeoutMs?: number } = {},
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain until ${what}`)
    await pause(LOOK_INTERVAL_MS)
  }
}
