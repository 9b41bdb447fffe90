import type { AccessSeals } from '../../core/people/access-seals.ts'
import { insertOrganization } from '../../db/people/people.ts'
import type { Tx } from '../../postgres/transaction.ts'
import { recordAccess } from './record-access.ts'

/** The organization of a new merchant and its first owner, within the transaction that makes the merchant. */
export async function commitOrganization(
  tx: Tx,
  seals: AccessSeals,
  shop: { merchantId: string; name: string; memberId: string; ownerId: string; now: Date },
): Promise<void> {
  const { merchantId, memberId, ownerId } = shop
  const member = { id: memberId, organizationId: merchantId, userId: ownerId, role: 'owner' }
  await insertOrganization(tx, { ...shop, seal: seals.seal('member', member) })
  await recordAccess(tx, seals, { kind: 'member', ownerId: merchantId, id: memberId })
}
