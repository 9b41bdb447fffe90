import { createHmac, timingSafeEqual } from 'node:crypto'

const STEP_MS = 30_000
const DIGITS = 6
/** Steps by which a phone's clock may be off. */
const DRIFT_STEPS = 1

/** The time step of a moment (RFC 6238 §4.2). */
export const totpStepAt = (ms: number): number => Math.floor(ms / STEP_MS)

/** The code that an authenticator app shows in a time step (RFC 4226 §5.3, with SHA-1 as the apps have it). */
export function totpCode(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 15
  const number = (mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** DIGITS
  return String(number).padStart(DIGITS, '0')
}

/** In which time step, at or beside the one given, the code was shown; null where in none of them. */
export function totpStepOf(secret: Uint8Array, code: string, around: number): number | null {
  const given = Buffer.from(code.padEnd(DIGITS).slice(0, DIGITS + 1))
  for (let step = Math.max(0, around - DRIFT_STEPS); step <= around + DRIFT_STEPS; step++) {
    const shown = Buffer.from(totpCode(secret, step))
    if (given.length === shown.length && timingSafeEqual(given, shown)) return step
  }
  return null
}
