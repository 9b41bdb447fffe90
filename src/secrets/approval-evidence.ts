import { createHash } from 'node:crypto'
import { z } from 'zod'
import { openSealed, sealToSigner } from './seal-to-signer.ts'

/** base64url, as WebAuthn's JSON has it. */
const encoded = z
  .string()
  .regex(/^[\w-]+$/)
  .max(4_096)

const passkeyEvidence = z.strictObject({
  kind: z.literal('passkey'),
  credential_id: encoded,
  authenticator_data: encoded,
  client_data_json: encoded,
  signature: encoded,
})
export type PasskeyEvidence = z.infer<typeof passkeyEvidence>

/** Payouts that one code may approve; a row of evidence has room for them. */
export const BATCH_MAX = 100

/** A payout's id, and in hex the digest of what was approved. */
const approvedPayout = z.tuple([z.string().max(64), z.string().regex(/^[0-9a-f]{64}$/)])
export type ApprovedPayout = z.infer<typeof approvedPayout>

/** By what a person approved a payout, as it is stored with the approval. */
export const approvalEvidence = z.discriminatedUnion('kind', [
  passkeyEvidence,
  /** `batch`: all payouts that the code approves; without it this one alone. */
  z.strictObject({
    kind: z.literal('totp'),
    sealed: encoded,
    batch: z.array(approvedPayout).max(BATCH_MAX).optional(),
  }),
])
export type ApprovalEvidence = z.infer<typeof approvalEvidence>

/** Where passkeys of this installation work (WebAuthn §5.1.2): the site's origin, and its host as the relying party. */
const rpIdOf = (baseUrl: string): string => new URL(baseUrl).hostname

/** The challenge that a passkey signs to approve what the digest is of. */
export const approvalChallenge = (digest: Uint8Array): string => Buffer.from(digest).toString('base64url')

/**
 * Whether the passkey with this public key (COSE, RFC 9052) signed the approval's digest, on our own page, unlocked by its
 * owner (WebAuthn §7.2). Counters are not compared: a signature over one digest is worth one payout, however often it is shown.
 */
export async function isSignedByPasskey(
  evidence: PasskeyEvidence,
  digest: Uint8Array,
  { publicKey, baseUrl }: { readonly publicKey: Uint8Array; readonly baseUrl: string },
): Promise<boolean> {
  const { credential_id: id } = evidence
  // Large, and most processes never verify one.
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  try {
    const { verified } = await verifyAuthenticationResponse({
      response: {
        id,
        rawId: id,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          authenticatorData: evidence.authenticator_data,
          clientDataJSON: evidence.client_data_json,
          signature: evidence.signature,
        },
      },
      expectedChallenge: approvalChallenge(digest),
      expectedOrigin: baseUrl,
      expectedRPID: rpIdOf(baseUrl),
      requireUserVerification: true,
      credential: { id, publicKey: Uint8Array.from(publicKey), counter: 0 },
    })
    return verified
  } catch {
    // The library throws for each thing that is wrong with an answer, and for what cannot be read at all.
    return false
  }
}

/** Six digits, and the time step in which they were given. */
type ApprovalCode = { readonly code: string; readonly step: number }

/** A code opens for the payout alone that was approved with it: whoever reads the database can use it for no other. */
const codeContext = (digest: Uint8Array): string => `approval code ${Buffer.from(digest).toString('hex')}`

/** What a code for several payouts is sealed with, in place of one payout's digest. */
export const batchDigest = (batch: readonly ApprovedPayout[]): Buffer =>
  createHash('sha256')
    .update(`paylink payout batch 1 ${JSON.stringify(batch)}`)
    .digest()

export function sealApprovalCode(
  signerKey: Uint8Array,
  digest: Uint8Array,
  { code, step }: ApprovalCode,
): Extract<ApprovalEvidence, { kind: 'totp' }> {
  const sealed = sealToSigner(signerKey, Buffer.from(`${code} ${step}`), codeContext(digest))
  return { kind: 'totp', sealed: sealed.toString('base64url') }
}

/** Null where it was sealed for another payout or to another key. */
export function openApprovalCode(
  privateKey: Uint8Array,
  digest: Uint8Array,
  sealed: string,
): ApprovalCode | null {
  const plain = openSealed(privateKey, Buffer.from(sealed, 'base64url'), codeContext(digest))
  const [, code = '', step = ''] = /^(\d{6}) (\d{1,12})$/.exec(plain?.toString('utf8') ?? '') ?? []
  return code === '' ? null : { code, step: Number(step) }
}

const secretContext = (personId: string): string => `authenticator of ${personId}`

export const sealTotpSecret = (signerKey: Uint8Array, personId: string, secret: string): Buffer =>
  sealToSigner(signerKey, Buffer.from(secret), secretContext(personId))

export const openTotpSecret = (privateKey: Uint8Array, personId: string, sealed: Uint8Array): Buffer | null =>
  openSealed(privateKey, sealed, secretContext(personId))
