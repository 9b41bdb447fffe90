import { createHash } from 'node:crypto'
import type { Keyring } from './keyring.ts'
import { openSigningKey, type SigningKey } from './signing-key.ts'

const PURPOSE = 'payout_approval_key/1'
const ALGORITHM = 'Ed25519'

const opened = new WeakMap<Keyring, SigningKey>()

/**
 * What the API signs approvals with, derived from the installation's secret key: kept nowhere, and the same after every start.
 * The signer knows its public half and nothing else of the API's secrets.
 */
export function openApprovalKey(keyring: Keyring): SigningKey {
  const known = opened.get(keyring)
  if (known !== undefined) return known
  const approvalKey = openSigningKey(keyring.mac(PURPOSE, Buffer.from(ALGORITHM)))
  opened.set(keyring, approvalKey)
  return approvalKey
}

/** SHA-256 of an approval's text (core/payout/approval-text). */
export const approvalDigest = (text: string): Buffer => createHash('sha256').update(text).digest()
