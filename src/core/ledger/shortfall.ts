import type { LedgerAccount } from './deposit.ts'

/** What stands for one merchant, mode and asset: `shortfall` is at or below zero, and then nothing is available. */
export type Availability = { readonly available: bigint; readonly shortfall: bigint }

type Move = { readonly from: LedgerAccount; readonly to: LedgerAccount; readonly amount: bigint }

/**
 * What has to be booked around moves so that the available balance stays at or above zero: `covered` comes into it
 * before them, from the shortfall, where they take more than stands there; `repaid` goes back after them, where they
 * leave something while there is a shortfall.
 */
export function coverMoves(
  moves: readonly Move[],
  availability: Availability,
): { readonly covered: bigint; readonly repaid: bigint; readonly after: Availability } {
  let available = availability.available
  let lowest = available
  for (const { from, to, amount } of moves) {
    if (from === 'available') available -= amount
    if (to === 'available') available += amount
    if (available < lowest) lowest = available
  }
  const covered = lowest < 0n ? -lowest : 0n
  const left = available + covered
  const owed = covered - availability.shortfall
  const repaid = left < owed ? left : owed
  return { covered, repaid, after: { available: left - repaid, shortfall: repaid - owed } }
}
