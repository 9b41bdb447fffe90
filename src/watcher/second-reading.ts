import { ChainHalted } from '../chain/adapter.ts'
import { compareReadings, withdrawn } from '../core/chain/second-reading.ts'
import type { BlockPosition } from '../core/invoice/types.ts'
import {
  beginSecondReading,
  listCreditsBetween,
  moveSecondReading,
  type SecondCheckpoint,
} from '../db/chain/second-reading.ts'
import { findOwners, inTurn, owned, type RecordingParts, recordFacts } from './record-reading.ts'

const BLOCKS_PER_READING = 50
/** Readings in one round: what is new at the head waits no longer than for these. */
const READINGS_PER_ROUND = 4

/**
 * Reads token transfers a second time, up to `toHeight`, and records what the first reading missed. Halts where the
 * books hold a credit that the second reading does not find. Returns the height up to which tokens may become final
 * (every height where nothing is read twice), and whether there is more to read at once.
 */
export async function readAgain(
  parts: RecordingParts,
  checkpoint: BlockPosition,
  toHeight: number,
): Promise<{ readonly through: number; readonly hasMore: boolean }> {
  const { adapter, pool } = parts
  if (adapter.tokens === undefined || adapter.tokens.assets.length === 0)
    return { through: Number.POSITIVE_INFINITY, hasMore: false }
  let at = await beginSecondReading(pool, adapter.network)
  const target = Math.min(toHeight, checkpoint.height)
  for (let round = 0; round < READINGS_PER_ROUND && at !== null && at.height < target; round++) {
    const next = await readOnce(parts, at, Math.min(target, at.height + BLOCKS_PER_READING), checkpoint)
    if (next === null) return { through: at.height, hasMore: false }
    at = next
  }
  return { through: at?.height ?? 0, hasMore: at !== null && at.height < target }
}

/** Null where the source is not so far, or the chain moved. */
async function readOnce(
  parts: RecordingParts,
  at: SecondCheckpoint,
  toHeight: number,
  checkpoint: BlockPosition,
): Promise<SecondCheckpoint | null> {
  const { adapter, pool, clock } = parts
  const { network, tokens } = adapter
  if (tokens === undefined) return null
  const reading = await tokens.prove({ ...at, timeMs: 0 }, toHeight)
  if (reading === null) return null
  const { end, blocks } = reading
  if (end.height === checkpoint.height && end.hash !== checkpoint.hash) return null
  const transfers = blocks.flatMap((block) => block.transfers)
  const ownerOf = await findOwners(parts, transfers)
  const range = { from: at.height, to: end.height }
  const compared = compareReadings({
    network,
    blocks: blocks.map(({ block, transfers: found }) => ({ block, transfers: owned(found, ownerOf) })),
    booked: await listCreditsBetween(pool, network, tokens.assets, range),
    readAtMs: clock().getTime(),
  })
  if (compared.kind === 'contradicted') {
    const { booked, found } = compared
    // Only a proof takes it back, and tells all the same; between two words nobody here can choose. What stands there
    // with another amount is recorded with that one when these blocks are read again.
    if (reading.isProven) {
      const facts = withdrawn(network, booked, clock().getTime())
      await recordFacts(parts, facts, checkpoint.height)
    }
    const says = found === null ? 'does not find it' : `finds ${found}`
    throw new ChainHalted(
      `transaction ${booked.txid} was read with a payment of ${booked.amount} base units of ${booked.asset}, and the second reading ${says}: nothing is credited until a provider tells the truth twice`,
    )
  }
  await recordFacts(parts, compared.missed, checkpoint.height)
  return (await inTurn(parts, (tx) => moveSecondReading(tx, network, at, end))) ? end : null
}
