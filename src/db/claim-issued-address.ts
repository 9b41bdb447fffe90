import type { IssuedAddressCheck } from '../core/address-batch.ts'
import type { DepositPlan } from '../core/invoice/plan.ts'
import { findBatchOf } from './queries/address-batches.ts'
import { type ClaimedAddress, claimAddress, releaseAddress } from './queries/invoices.ts'
import type { Tx } from './transaction.ts'

/**
 * Takes an address from the pool that may be shown to a buyer; null where there is none. Each must carry the signer's
 * signature: an address that somebody else wrote into the table stays there, and nobody pays it.
 */
export async function claimIssuedAddress(
  tx: Tx,
  deposit: DepositPlan,
  now: Date,
  issued: IssuedAddressCheck,
): Promise<ClaimedAddress | null> {
  const { keyspace } = deposit
  const claimed = await claimAddress(tx, deposit, now)
  if (claimed === null) return null
  if (await issued.isIssued(keyspace, claimed, () => findBatchOf(tx, keyspace, claimed.idx))) return claimed
  await releaseAddress(tx, keyspace, claimed.idx)
  return null
}
