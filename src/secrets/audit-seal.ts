import { isSignedBy, type SigningKey } from './signing-key.ts'

/** What an audit came to. */
type AuditFigures = {
  readonly startedAt: Date
  readonly finishedAt: Date
  readonly checks: number
  readonly notChecked: number
  readonly discrepancies: number
}

const messageOf = ({ startedAt, finishedAt, checks, notChecked, discrepancies }: AuditFigures): Buffer =>
  Buffer.from(
    `paylink audit 1\n${startedAt.toISOString()}\n${finishedAt.toISOString()}\n${checks}\n${notChecked}\n${discrepancies}`,
  )

/** By the key that seals outcomes (outcome-key): whoever has the watcher's login alone makes up no audit. */
export const sealAudit = (key: SigningKey, run: AuditFigures): Buffer => key.sign(messageOf(run))

export const isAuditSealed = (publicKey: Uint8Array, run: AuditFigures, seal: Uint8Array): boolean =>
  isSignedBy(publicKey, messageOf(run), seal)
