import { expect, test } from 'vitest'
import { Activity } from './activity.ts'

const never = new AbortController().signal
const LONG_MS = 600_000

/** How a pause ended; `wake` is called as soon as it rests. */
async function restOf(activity: Activity, wake: () => void): Promise<'over'> {
  setTimeout(wake, 20)
  await activity.pause(never, 1)
  return 'over'
}

test('a rest ends at once when something happens, and everybody who rests goes on', async () => {
  const activity = new Activity({ activeMs: 0, restMs: LONG_MS })
  const rests = [1, 2, 3].map(() => restOf(activity, activity.stir))
  expect(await Promise.all(rests)).toEqual(['over', 'over', 'over'])
})

test('while something happens a pause is as long as asked for', async () => {
  const activity = new Activity({ activeMs: LONG_MS, restMs: LONG_MS })
  expect(activity.isResting).toBe(false)
  expect(await restOf(activity, () => {})).toBe('over')
})

test('a rest that nothing interrupts ends at its limit', async () => {
  const activity = new Activity({ activeMs: 0, restMs: 50 })
  const beganAt = performance.now()
  expect(await restOf(activity, () => {})).toBe('over')
  expect(performance.now() - beganAt).toBeGreaterThan(40)
})

test('a stop ends a rest', async () => {
  const activity = new Activity({ activeMs: 0, restMs: LONG_MS })
  const stopping = new AbortController()
  setTimeout(() => stopping.abort(), 20)
  await activity.pause(stopping.signal, 1)
  expect(stopping.signal.aborted).toBe(true)
})

test('what happens before a rest begins keeps it from beginning', async () => {
  const activity = new Activity({ activeMs: LONG_MS, restMs: LONG_MS })
  const pause = activity.pause(never, 30)
  activity.stir()
  await pause
  expect(activity.isResting).toBe(false)
})

test('who gets no notifications does not rest until they arrive again', async () => {
  const activity = new Activity({ activeMs: 0, restMs: LONG_MS })
  expect(await restOf(activity, activity.deafen)).toBe('over')
  // Were it resting, nothing would end it.
  expect(await restOf(activity, () => {})).toBe('over')
  activity.hear()
  expect(activity.isResting).toBe(true)
  expect(await restOf(activity, activity.stir)).toBe('over')
})
