import { listUnfinishedMoves } from '../db/people/merchant-moves.ts'
import type { Queryable } from '../postgres/pool.ts'
import { type Finding, fault } from './finding.ts'

/** Merchants who sell nothing here, because a move to another cell or its undoing did not end. */
export async function inspectMoves(db: Queryable): Promise<Finding[]> {
  const moves = await listUnfinishedMoves(db)
  return moves.map(({ merchantId, state, cell, beganAt }) => {
    const since = `since ${beganAt.toISOString()}`
    if (state === 'arriving')
      return fault(
        `${merchantId} is arriving from cell ${cell} ${since}, and sells nothing here: run paylink merchant move again there`,
      )
    const how =
      state === 'moving'
        ? 'run paylink merchant move again, or with --abort'
        : 'run paylink merchant move --abort again'
    return fault(`${merchantId} is moving to cell ${cell} ${since}, and sells nothing: ${how}`)
  })
}
