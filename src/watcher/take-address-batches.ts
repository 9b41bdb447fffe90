import { addressWriter } from '../chain/address-text.ts'
import { programsOf } from '../core/address-batch.ts'
import type { Keyspace } from '../core/assets.ts'
import { nextBatch, refuseBatch, takeBatch } from '../db/addresses/address-batches.ts'
import { isConstraintViolation } from '../postgres/constraint-violation.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { isBatchSigned } from '../secrets/batch-signature.ts'

/** More never wait: the signer issues none while the pool is full. */
const BATCHES_PER_ROUND = 20

/**
 * Puts the batches that the signer issued into the pool, after checking that it did: an address that somebody wrote
 * into the table would send buyers' money to him. Returns how many addresses came and how many batches were refused.
 */
export async function takeAddressBatches(options: {
  readonly pool: Pool
  readonly keyspace: Keyspace
  readonly form: string
  readonly clock: Clock
  readonly log: Log
}): Promise<{ readonly added: number; readonly refused: number }> {
  const { pool, keyspace, form, clock, log } = options
  const write = addressWriter(keyspace, form)
  let added = 0
  let refused = 0
  for (let round = 0; round < BATCHES_PER_ROUND; round++) {
    const batch = await nextBatch(pool, keyspace)
    if (batch === null) break
    if (batch.batchKey === null || !isBatchSigned(batch, batch.batchKey)) {
      await refuseBatch(pool, keyspace, batch.first, clock())
      refused += 1
      log.error(
        { keyspace, first: batch.first },
        'a batch of addresses is not signed by the signer and was refused: somebody else wrote to the database',
      )
      continue
    }
    const addresses = programsOf(batch).map((program) => ({ program, address: write(program) }))
    try {
      if (await takeBatch(pool, { keyspace, form, first: batch.first }, addresses, clock()))
        added += addresses.length
    } catch (error) {
      if (!isConstraintViolation(error)) throw error
      // It would clash again each time, and no batch after it would be taken.
      await refuseBatch(pool, keyspace, batch.first, clock())
      refused += 1
      log.error(
        { err: error, keyspace, first: batch.first },
        'a batch of addresses contradicts what the database holds and was refused: somebody else wrote to the database',
      )
    }
  }
  return { added, refused }
}
