import { timingSafeEqual } from 'node:crypto'
import { approvalText } from '../../core/payout/approval-text.ts'
import type { Payout } from '../../core/payout/payout.ts'
import { approvalDigest } from '../../secrets/approval-key.ts'
import { isSignedBy } from '../../secrets/signing-key.ts'

/**
 * The digest of what is to be paid, where exactly that was approved: the stored digest equals the one computed
 * from the payout now, and the API's key signed it; `signed`, what the journal has of it, was signed over it too. Null where anything of the
 * payout is not what was approved. One that was brought back after a restore has no approval any more: the journal says
 * which was checked before the first signature.
 */
export function verifyApproval(
  payout: Payout,
  approval: { readonly digest: Uint8Array; readonly signature: Uint8Array } | null,
  { key, signed }: { readonly key: Uint8Array; readonly signed: readonly { readonly digest: string }[] },
): Buffer | null {
  const digest = approvalDigest(approvalText(payout))
  if (!signed.every((entry) => isSameDigest(Buffer.from(entry.digest, 'hex'), digest))) return null
  if (approval === null) return signed.length > 0 ? digest : null
  if (!isSameDigest(approval.digest, digest)) return null
  return isSignedBy(key, digest, approval.signature) ? digest : null
}

export const isSameDigest = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other)
