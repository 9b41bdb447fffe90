import { join } from 'node:path'
import { z } from 'zod'
import { ASSET_IDS, ASSETS, type AssetId } from '../../core/assets.ts'
import { parseCoinAmount } from '../../core/money.ts'
import type { Payout } from '../../core/payout/payout.ts'
import { readPrivateFile } from '../../signer/private-file.ts'
import { SignerRefused } from '../../signer/refused.ts'
import type { FirstSigned } from './payout-journal.ts'

/**
 * Maximum payouts signed in an hour, on all networks of a mode. An attacker who can approve anything still cannot empty
 * everything at once.
 */
const SIGNED_PER_HOUR_MAX = 200
/** Of these, one merchant's maximum: a merchant with many requests does not make the others wait. */
const OF_MERCHANT_PER_HOUR_MAX = 150

const WINDOWS = { hour: 3_600_000, day: 24 * 3_600_000 } as const
type Window = keyof typeof WINDOWS
const WINDOW_NAMES = ['hour', 'day'] as const

/** What one merchant's payouts in an asset may be worth, base units, in live and in test mode. */
export type ValueLimits = {
  readonly [mode in 'live' | 'test']: {
    readonly [asset in AssetId]?: { readonly [window in Window]?: bigint }
  }
}

const mode = z
  .partialRecord(
    z.enum(ASSET_IDS),
    z.strictObject({ hour: z.string().optional(), day: z.string().optional() }),
  )
  .optional()
const fileSchema = z.strictObject({ live: mode, test: mode })
type Mode = z.infer<typeof mode>

/** The limits in `limits.json` of the signer's folder; none where there is no such file. */
export async function readValueLimits(folder: string): Promise<ValueLimits> {
  const path = join(folder, 'limits.json')
  const content = await readPrivateFile(path)
  if (content === null) return { live: {}, test: {} }
  try {
    const file = fileSchema.parse(JSON.parse(content.toString('utf8')))
    return { live: limitsOf(file.live), test: limitsOf(file.test) }
  } catch (error) {
    const reason = error instanceof z.ZodError ? placeOf(error) : String(error)
    throw new SignerRefused(
      `${path} is not understood (${reason}): write it as {"live": {"BTC": {"hour": "0.5", "day": "2"}}}`,
      { cause: error },
    )
  }
}

const placeOf = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => `${path.join('.')}: ${message}`)[0] ?? ''

function limitsOf(given: Mode): ValueLimits['live'] {
  const limits: { [asset in AssetId]?: { [window in Window]?: bigint } } = {}
  for (const asset of ASSET_IDS) {
    for (const window of WINDOW_NAMES) {
      const text = given?.[asset]?.[window]
      if (text === undefined) continue
      const units = parseCoinAmount(text, ASSETS[asset].decimals)
      if (units === null) throw new Error(`${asset}.${window}: "${text}" is no amount of ${asset}`)
      limits[asset] = { ...limits[asset], [window]: units }
    }
  }
  return limits
}

/** Why a payout is not signed now. */
type OverLimit = {
  readonly reason: 'payouts_in_hour' | 'value_in_hour' | 'value_in_day'
  /** When enough has left the window, if nothing else is signed; null: never, while the limit stands. */
  readonly until: Date | null
}

/** How far back the journal has to be asked. */
export const LONGEST_WINDOW_MS = WINDOWS.day

/** Which limit a payout would go beyond; null where none. `signed`: what was signed in its mode within the longest window, oldest first. */
export function findOverLimit(
  limits: ValueLimits,
  payout: Pick<Payout, 'merchantId' | 'livemode' | 'asset' | 'amount'>,
  signed: readonly FirstSigned[],
  nowMs: number,
): OverLimit | null {
  const within = (window: Window) => signed.filter(({ atMs }) => atMs > nowMs - WINDOWS[window])
  const isOurs = ({ merchantId }: FirstSigned) => merchantId === payout.merchantId
  const inHour = within('hour')
  const counted = [
    { all: inHour, max: SIGNED_PER_HOUR_MAX },
    { all: inHour.filter(isOurs), max: OF_MERCHANT_PER_HOUR_MAX },
  ]
  for (const { all, max } of counted) {
    const blocking = all[all.length - max]
    if (blocking !== undefined)
      return { reason: 'payouts_in_hour', until: new Date(blocking.atMs + WINDOWS.hour) }
  }
  for (const window of WINDOW_NAMES) {
    const limit = limits[payout.livemode ? 'live' : 'test'][payout.asset]?.[window]
    if (limit === undefined) continue
    const alike = within(window).filter((one) => isOurs(one) && one.asset === payout.asset)
    const freeAtMs = freeAt(alike, limit - payout.amount, WINDOWS[window])
    if (freeAtMs === 'now') continue
    return { reason: `value_in_${window}`, until: freeAtMs === 'never' ? null : new Date(freeAtMs) }
  }
  return null
}

/** When what was signed within a window is worth no more than this. */
function freeAt(
  signed: readonly FirstSigned[],
  worthMax: bigint,
  windowMs: number,
): 'now' | 'never' | number {
  if (worthMax < 0n) return 'never'
  let worth = signed.reduce((sum, { amount }) => sum + amount, 0n)
  if (worth <= worthMax) return 'now'
  for (const { atMs, amount } of signed) {
    worth -= amount
    if (worth <= worthMax) return atMs + windowMs
  }
  return 'never'
}
