import { setTimeout as pause } from 'node:timers/promises'

const WAIT_MS_MAX = 60_000
const LOOK_INTERVAL_MS = 20
/** A condition that asks a process or the database takes its time from them: after a while it is asked less often. */
const ASK_INTERVAL_MS_MAX = 100
const WAITED_PER_ASK = 10

/** Waits until a condition holds, and says what did not. */
export async function until(
  condition: () => Promise<boolean> | boolean,
  { what = 'a condition held', timeoutMs = WAIT_MS_MAX }: { what?: string; timeoutMs?: number } = {},
): Promise<void> {
  const startedAt = performance.now()
  for (;;) {
    const answer = condition()
    if (await answer) return
    const waitedMs = performance.now() - startedAt
    if (waitedMs > timeoutMs) throw new Error(`waited ${timeoutMs} ms in vain until ${what}`)
    const askMs = Math.min(waitedMs / WAITED_PER_ASK, ASK_INTERVAL_MS_MAX)
    await pause(typeof answer === 'boolean' ? LOOK_INTERVAL_MS : Math.max(LOOK_INTERVAL_MS, askMs))
  }
}
