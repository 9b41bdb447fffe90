import type { IssuedAddressCheck } from '../../core/address-batch.ts'
import type { DepositPlan } from '../../core/invoice/plan.ts'
import { findBatchOf } from '../../db/addresses/address-batches.ts'
import { type ClaimedAddress, claimAddress, releaseAddress } from '../../db/invoices/invoices.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

/**
 * Takes an address from the pool that may be shown to a buyer; null where there is none, or the last ones are left to
 * merchants who took fewer. Each must carry the signer's
 * signature: an address that somebody else wrote into the table stays there, and nobody pays it.
 */
export async function claimIssuedAddress(
  tx: Tx,
  { merchantId }: Tenant,
  deposit: DepositPlan,
  now: Date,
  issued: IssuedAddressCheck,
): Promise<ClaimedAddress | null> {
  const { keyspace } = deposit
  const nowMs = now.getTime()
  const claimed = await claimAddress(tx, deposit, now, issued.shares.toLeave(keyspace, merchantId, nowMs))
  if (claimed === null) return null
  issued.shares.took(keyspace, merchantId, nowMs)
  if (await issued.isIssued(keyspace, claimed, () => findBatchOf(tx, keyspace, claimed.idx))) return claimed
  await releaseAddress(tx, keyspace, claimed.idx)
  return null
}
