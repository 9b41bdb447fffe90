import { randomFillSync } from 'node:crypto'
import { writeCell } from '../core/cells.ts'
import { formatId, type IdKind, uuidv7 } from '../core/ids.ts'
import { ownCell } from './own-cell.ts'

/** A pool of random bytes: one system call serves many ids. */
const randomPool = new Uint8Array(4096)
let used = randomPool.length

/** A new id of the given kind, made at `now`. */
export function newId(kind: IdKind, now: Date): string {
  if (used + 10 > randomPool.length) {
    randomFillSync(randomPool)
    used = 0
  }
  const random = randomPool.subarray(used, used + 10)
  used += 10
  const uuid = uuidv7(now.getTime(), random)
  if (ownCell() !== 0) writeCell(uuid, ownCell())
  return formatId(kind, uuid)
}
