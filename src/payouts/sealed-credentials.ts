import type { AccessSeals } from '../core/people/access-seals.ts'
import { loadSealedRow } from '../db/people/access-rows.ts'
import type { Queryable } from '../postgres/pool.ts'
import { type ApproverCredential, listCredentialsOf } from './store/approvers.ts'

/** By what a person may approve a merchant's payouts: credentials that Paylink wrote, and no others. */
export async function listSealedCredentials(
  db: Queryable,
  seals: AccessSeals,
  { merchantId, personId }: { merchantId: string; personId: string },
): Promise<ApproverCredential[]> {
  const kept: ApproverCredential[] = []
  for (const one of await listCredentialsOf(db, merchantId, personId)) {
    const sealed = await sealedCredential(db, seals, one)
    if (sealed !== null) kept.push(sealed)
  }
  return kept
}

/** The credential as its sealed row has it; null where that is not this person's, or has no seal. */
async function sealedCredential(
  db: Queryable,
  seals: AccessSeals,
  credential: ApproverCredential,
): Promise<ApproverCredential | null> {
  const model = credential.kind === 'passkey' ? 'passkey' : 'twoFactor'
  const row = await loadSealedRow(db, model, credential.id)
  if (row === null || row.userId !== credential.personId || !seals.accepts(model, row)) return null
  if (credential.kind === 'totp') return credential
  const publicKey = Buffer.from(String(row.publicKey), 'base64')
  return { ...credential, credentialId: String(row.credentialID), publicKey }
}
