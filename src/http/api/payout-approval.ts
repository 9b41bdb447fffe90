import { approvalText } from '../../core/payout/approval-text.ts'
import type { Payout } from '../../core/payout/payout.ts'
import { NEVER_COUNTS } from '../../core/payout/payout-limits.ts'
import type { AccessSeals } from '../../core/people/access-seals.ts'
import { isFreshSecondFactor } from '../../core/people/second-factor.ts'
import { loadSealedRow } from '../../db/people/access-rows.ts'
import {
  type ApproverCredential,
  listCredentialsOf,
  loadApproverSeen,
} from '../../payouts/store/approvers.ts'
import { loadPayout } from '../../payouts/store/payouts.ts'
import type { Queryable } from '../../postgres/pool.ts'
import { type Tenant, withTransaction } from '../../postgres/transaction.ts'
import {
  type ApprovalEvidence,
  isSignedByPasskey,
  sealApprovalCode,
} from '../../secrets/approval-evidence.ts'
import { approvalDigest } from '../../secrets/approval-key.ts'
import { totpStepAt } from '../../secrets/totp.ts'
import type { SignedIn } from './credentials.ts'
import { ApiProblem } from './problem.ts'
import type { RouteDeps } from './route.ts'

/** By what a person can approve a merchant's live payouts now, as far as the signer said so. */
type ApprovalWays = {
  readonly credentials: readonly ApproverCredential[]
  readonly method: 'passkey' | 'code' | 'not_ready'
  /** From when, where not yet; null where the signer has seen nothing of theirs. */
  readonly readyAt: Date | null
}

export async function approvalWaysOf(
  { pool, clock, seals }: Pick<RouteDeps, 'pool' | 'clock' | 'seals'>,
  tenant: Tenant,
  personId: string,
): Promise<ApprovalWays> {
  return withTransaction(pool, tenant, async (tx) => {
    const { merchantId } = tenant
    const credentials = await listSealedCredentials(tx, seals, { merchantId, personId })
    const memberId = credentials[0]?.memberId
    const seen = memberId === undefined ? new Map<string, Date>() : await loadApproverSeen(tx, memberId)
    const from = credentials.flatMap((one) => {
      const at = seen.get(one.id)
      return at === undefined || at >= NEVER_COUNTS ? [] : [{ kind: one.kind, at }]
    })
    const now = clock()
    const ready = from.filter(({ at }) => at <= now)
    if (ready.some(({ kind }) => kind === 'passkey')) return { credentials, method: 'passkey', readyAt: null }
    if (ready.length > 0) return { credentials, method: 'code', readyAt: null }
    const [readyAt = null] = from.map(({ at }) => at).sort((one, other) => one.getTime() - other.getTime())
    return { credentials, method: 'not_ready', readyAt }
  })
}

export async function loadPayoutOf(
  { pool }: Pick<RouteDeps, 'pool'>,
  tenant: Tenant,
  id: string,
): Promise<Payout> {
  const stored = await withTransaction(pool, tenant, (tx) =>
    loadPayout(tx, tenant, id, { source: 'available' }),
  )
  if (stored === null) throw new ApiProblem('not_found')
  return stored.payout
}

/** What a passkey signs to approve a payout, and what the signer compares. */
export const digestOf = (payout: Payout): Buffer => approvalDigest(approvalText(payout))

type Given = {
  readonly passkey?: Omit<Extract<ApprovalEvidence, { kind: 'passkey' }>, 'kind'> | undefined
  readonly code?: string | undefined
}

/**
 * What is stored with the approval of a live payout. What a passkey signed is looked at here first, so that a mistake is reported
 * at once; the signer looks again, by what it knows itself. Throws the problem that says what is missing.
 */
export async function evidenceFor(
  deps: RouteDeps,
  { tenant, id, person }: { readonly tenant: Tenant; readonly id: string; readonly person: SignedIn },
  given: Given,
): Promise<ApprovalEvidence> {
  const now = deps.clock()
  // A passkey's signature is a second factor itself; a code is one that the sign-in has looked at.
  if (given.passkey === undefined && !isFreshSecondFactor(person.secondFactorAtMs, now.getTime()))
    throw new ApiProblem('second_factor_required')
  const ways = await approvalWaysOf(deps, tenant, person.personId)
  if (ways.method === 'not_ready') throw new ApiProblem('approver_not_ready')
  const digest = digestOf(await loadPayoutOf(deps, tenant, id))
  if (given.passkey !== undefined) {
    const evidence = { kind: 'passkey', ...given.passkey } as const
    const passkey = ways.credentials.find(
      (one) => one.kind === 'passkey' && one.credentialId === evidence.credential_id,
    )
    const isRight =
      passkey?.kind === 'passkey' &&
      (await isSignedByPasskey(evidence, digest, { ...passkey, baseUrl: deps.baseUrl }))
    if (!isRight) throw new ApiProblem('approval_evidence_invalid', { param: 'passkey' })
    return evidence
  }
  if (given.code === undefined || ways.method === 'passkey')
    throw new ApiProblem('approval_evidence_required')
  const signerKey = (await deps.signerSealKey?.()) ?? null
  if (signerKey === null) throw new ApiProblem('approver_not_ready', { message: NO_SIGNER_KEY })
  return sealApprovalCode(signerKey, digest, { code: given.code, step: totpStepAt(now.getTime()) })
}

const NO_SIGNER_KEY =
  'The signer has published no key to check codes with. Start it once, and give the API its ADDRESS_KEYS_FILE.'

/** By what a person may approve a merchant's payouts: credentials that Paylink wrote, and no others. */
async function listSealedCredentials(
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
