/** A cell as the directory knows it. Counts are of merchants. */
type Cell = {
  readonly number: number
  readonly state: 'open' | 'draining'
  readonly room: number
  readonly merchants: number
  /** Since its last report; null until the first one. */
  readonly reportAgeMs: number | null
}

/** A cell that has not reported for so long may be down, and gets a new account only where no other one can. */
export const REPORT_AGE_MS_MAX = 5 * 60_000
/** Cells see one another's counts a minute late. One that is so near the best keeps who came to it: none sends them on. */
const SHARE_MARGIN = 0.05

/**
 * The cell that gets the next new account: an open one with the largest share of its room free; null where all are full.
 * Who asks to stay does so wherever this cell takes new accounts.
 */
export function placeAccount(cells: readonly Cell[], ownCell: number, stays: boolean): number | null {
  const free = cells.filter(({ state, room, merchants }) => state === 'open' && merchants < room)
  const live = free.filter(({ reportAgeMs }) => reportAgeMs !== null && reportAgeMs < REPORT_AGE_MS_MAX)
  const able = live.length > 0 ? live : free
  const shareOf = ({ room, merchants }: Cell): number => (room - merchants) / room
  const [best] = able.toSorted((one, other) => shareOf(other) - shareOf(one) || one.number - other.number)
  if (best === undefined) return null
  const own = able.find(({ number }) => number === ownCell)
  return own !== undefined && (stays || shareOf(own) >= shareOf(best) - SHARE_MARGIN) ? ownCell : best.number
}
