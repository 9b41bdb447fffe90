import { isDeepStrictEqual } from 'node:util'
import { approvalText } from '../../core/payout/approval-text.ts'
import type { Payout } from '../../core/payout/payout.ts'
import { isWaitOver } from '../../core/payout/payout-limits.ts'
import {
  type ApprovedPayout,
  approvalEvidence,
  batchDigest,
  isSignedByPasskey,
  openApprovalCode,
  openTotpSecret,
  type PasskeyEvidence,
} from '../../secrets/approval-evidence.ts'
import { approvalDigest } from '../../secrets/approval-key.ts'
import { isSignedBy } from '../../secrets/signing-key.ts'
import { totpStepAt, totpStepOf } from '../../secrets/totp.ts'
import { type ApproverCredential, loadApprovalEvidence } from '../store/approvers.ts'
import { alert } from './alert.ts'
import { credentialsOf, isKnownLong, isReplaced } from './approvers.ts'
import { areSignedOver, isSameDigest } from './journal-lines.ts'
import { credentialsOfOperator } from './operators.ts'
import { type Unsigned, WAITS } from './payout-signer.ts'
import type { SigningContext } from './signing-context.ts'

/** In steps of 30 seconds: a code that the API accepted may wait a quarter of an hour for a signer that is down. */
const CODE_STEPS_MAX = 30
/** The API's clock may be a little ahead. */
const CODE_STEPS_AHEAD = 1
/** A code more than an hour ahead is refused at once: nobody was shown it yet. */
const CODE_STEPS_AWAITED = 120
const STEP_SECONDS = 30

/**
 * The digest of what is to be paid, where exactly that was approved: the stored digest equals the one computed from the
 * payout now, and the API's key signed it; `signed`, what the journal has of it, was signed over it too. Null where anything
 * of the payout is not what was approved. One that was brought back after a restore has no approval any more: the journal
 * says which was checked before the first signature.
 */
export function verifyApproval(
  payout: Payout,
  approval: { readonly digest: Uint8Array; readonly signature: Uint8Array } | null,
  { key, signed }: { readonly key: Uint8Array; readonly signed: readonly { readonly digest: string }[] },
): Buffer | null {
  const digest = approvalDigest(approvalText(payout))
  if (!areSignedOver(signed, digest)) return null
  if (approval === null) return signed.length > 0 ? digest : null
  if (!isSameDigest(approval.digest, digest)) return null
  return isSignedBy(key, digest, approval.signature) ? digest : null
}

/** Why an approval does not count: the payout's failure code, or that it waits, and for the log what is wrong. */
type Objection = {
  readonly code: 'approval_unproved' | 'approver_too_new' | 'approval_expired' | 'waits'
  readonly why: string
}
const unproved = (why: string): Objection => ({ code: 'approval_unproved', why })

/**
 * Null where a live payout was approved by a person, or of fees an operator, whose credential this signer has known for
 * long enough; test payouts need none. Accepted once, an approval stays so, however long the payout waits for its coins, but
 * for somebody who was taken out meanwhile.
 */
export async function checkApprover(
  signer: SigningContext,
  payout: Payout,
  digest: Buffer,
): Promise<Unsigned | null> {
  if (!payout.livemode) return null
  const { memory } = signer.approvers
  if (memory.isAccepted(payout.id, digest))
    return (await isApproverThere(signer, payout)) ? null : leftBy(signer, payout)
  const objection = await objectionTo(signer, payout, digest)
  if (objection !== null) {
    alert(signer, payout, `a live payout is not signed: ${objection.why}`)
    return objection.code === 'waits' ? WAITS : { kind: 'refused', code: objection.code }
  }
  await memory.accept(payout.id, digest)
  return null
}

/** Whether who approved still has a credential that counts. One that was accepted may be older, and its code long used. */
async function isApproverThere(signer: SigningContext, payout: Payout): Promise<boolean> {
  const approval = await loadApprovalEvidence(signer.pool, payout)
  const credentials = approval === null ? [] : await credentialsOfApprover(signer, payout, approval.approver)
  const now = signer.clock()
  return credentials.some((one) => isKnownLong(signer.seen, one, now))
}

/** They may just be setting their app up again: it waits, as long as a payout waits for what may pass. */
function leftBy(signer: SigningContext, payout: Payout): Unsigned {
  alert(
    signer,
    payout,
    'a live payout waits: who approved it is no owner or admin any more, or has a new credential',
  )
  const isOver = isWaitOver(payout, signer.clock().getTime())
  return isOver ? { kind: 'refused', code: 'approval_unproved' } : WAITS
}

const credentialsOfApprover = (signer: SigningContext, payout: Payout, approver: string) =>
  payout.source === 'fees'
    ? credentialsOfOperator(signer, approver)
    : credentialsOf(signer, payout.merchantId, approver)

async function objectionTo(
  signer: SigningContext,
  payout: Payout,
  digest: Buffer,
): Promise<Objection | null> {
  const approval = await loadApprovalEvidence(signer.pool, payout)
  if (approval === null || approval.evidence === null)
    return unproved('its approval carries neither a passkey’s signature nor a code')
  const evidence = approvalEvidence.safeParse(approval.evidence)
  if (!evidence.success) return unproved('the evidence of its approval cannot be read')
  const { approver } = approval
  const isOfFees = payout.source === 'fees'
  const credentials = await credentialsOfApprover(signer, payout, approver)
  return evidence.data.kind === 'passkey'
    ? objectionToPasskey(signer, credentials, { digest, evidence: evidence.data })
    : objectionToCode(signer, credentials, {
        payout: [payout.id, digest.toString('hex')],
        // Of fees there is one payout for each merchant: a code is for all that were approved together.
        batch: (isOfFees && evidence.data.batch) || null,
        sealed: evidence.data.sealed,
        approver,
      })
}

async function objectionToPasskey(
  { clock, seen, approvers }: SigningContext,
  credentials: readonly ApproverCredential[],
  { digest, evidence }: { readonly digest: Buffer; readonly evidence: PasskeyEvidence },
): Promise<Objection | null> {
  const passkey = credentials.find(
    (one) => one.kind === 'passkey' && one.credentialId === evidence.credential_id,
  )
  if (passkey?.kind !== 'passkey')
    return unproved('the passkey belongs to no owner or admin who is said to have approved it')
  const isSigned = await isSignedByPasskey(evidence, digest, { ...passkey, baseUrl: approvers.baseUrl })
  if (!isSigned) return unproved(`the passkey did not sign exactly this payout at ${approvers.baseUrl}`)
  return isKnownLong(seen, passkey, clock()) ? null : TOO_NEW
}

const TOO_NEW: Objection = {
  code: 'approver_too_new',
  why: 'the signer has not known the approver’s passkey or authenticator app for a day',
}

async function objectionToCode(
  { clock, seen, approvers }: SigningContext,
  credentials: readonly ApproverCredential[],
  given: {
    readonly payout: ApprovedPayout
    readonly batch: readonly ApprovedPayout[] | null
    readonly sealed: string
    readonly approver: string
  },
): Promise<Objection | null> {
  const { memory, sealKey } = approvers
  const { approver, payout, batch } = given
  const now = clock()
  const isKnown = (one: ApproverCredential) => isKnownLong(seen, one, now)
  if (credentials.some((one) => one.kind === 'passkey' && isKnown(one)))
    return unproved('it was approved with a code by somebody who has a passkey')
  const app = credentials.find((one) => one.kind === 'totp' && one.sealed !== null)
  const sealedSecret = app?.kind === 'totp' ? app.sealed : null
  const secret = sealedSecret === null ? null : openTotpSecret(sealKey, approver, sealedSecret)
  if (app === undefined || secret === null)
    return unproved('no authenticator app of the approver is sealed to this signer')
  if (batch !== null && !batch.some((one) => isDeepStrictEqual(one, payout)))
    return unproved('its code was given for other payouts')
  const subject = batch === null ? Buffer.from(payout[1], 'hex') : batchDigest(batch)
  const code = openApprovalCode(sealKey, subject, given.sealed)
  if (code === null) return unproved('its code was given for another payout, or to another signer')
  const current = totpStepAt(now.getTime())
  const ahead = code.step - current
  if (ahead > CODE_STEPS_AWAITED) return unproved('its code is from the future')
  if (ahead > CODE_STEPS_AHEAD) return clockBehind(ahead)
  if (code.step < current - CODE_STEPS_MAX) return EXPIRED
  if (memory.isLockedOut(approver, now.getTime()))
    return unproved('the approver gave too many wrong codes within an hour')
  const step = totpStepOf(secret, code.code, code.step)
  if (step === null) {
    await memory.noteWrongCode(approver, now.getTime())
    return unproved('its code is wrong')
  }
  if (isReplaced(seen, app)) return REPLACED
  if (!isKnown(app)) return TOO_NEW
  // One more step than codes may be old: the app's clock may be behind the API's.
  const oldest = current - CODE_STEPS_MAX - 1
  const isFresh = await memory.acceptByCode(batch ?? [payout], { personId: approver, step, oldest })
  return isFresh ? null : unproved('its code was used before')
}

const REPLACED: Objection = {
  code: 'approver_too_new',
  why: 'a passkey took the place of the approver’s authenticator app, and is gone: they must set it up again',
}

/** The API gave the code, by its own clock: once this one is right, or has come so far, the code is checked. */
const clockBehind = (steps: number): Objection => ({
  code: 'waits',
  why: `its code is ${steps * STEP_SECONDS} s ahead of the signer's clock: run a time service on the hosts of signer and API. It waits until the clocks agree`,
})

const EXPIRED: Objection = {
  code: 'approval_expired',
  why: 'its code is older than a quarter of an hour by the signer’s clock',
}
