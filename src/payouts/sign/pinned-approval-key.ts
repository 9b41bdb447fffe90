import { join } from 'node:path'
import { parseApprovalKey, readApprovalKeyFile } from '../../secrets/approval-key-file.ts'
import { createPrivateFile, readPrivateFile, replacePrivateFile } from '../../signer/private-file.ts'
import { SignerRefused } from '../../signer/refused.ts'
import { loadApprovalKey, savePinnedApprovalKey } from '../store/approval-keys.ts'
import type { SigningContext } from './signing-context.ts'

/** By which key the approvals of each mode are verified; null: none is known, and nothing is signed. */
type ApprovalKeys = { readonly live: Uint8Array | null; readonly test: Uint8Array | null }

const pinPath = (folder: string): string => join(folder, 'approval-key')
const contentOf = (key: Uint8Array): string => `${hexOf(key)}\n`
const hexOf = (key: Uint8Array): string => Buffer.from(key).toString('hex')

/**
 * The public key that verifies approvals: the first in the file that the API writes, kept in the signer's own folder from
 * then on. What the database offers counts in test mode alone, as long as no key is kept: its writers could have put their
 * own there.
 */
export async function approvalKeysOf(signer: SigningContext): Promise<ApprovalKeys> {
  const { folder, pool } = signer
  const offered = await loadApprovalKey(pool)
  const published = await readPublished(signer)
  const kept = await readPin(folder)
  if (kept === null && published !== null) await createPrivateFile(pinPath(folder), contentOf(published))
  const pinned = kept ?? published
  raiseAlarms(signer, { pinned, offered, published })
  if (signer.told.isNew('approval key', pinned === null ? 'none' : hexOf(pinned)))
    await savePinnedApprovalKey(pool, pinned)
  return { live: pinned, test: pinned ?? offered }
}

/** Keeps a key in place of the one that was known, by the operator's word. */
export const trustApprovalKey = (folder: string, key: Uint8Array): Promise<void> =>
  replacePrivateFile(pinPath(folder), contentOf(key))

/** The key in the signer's folder; null before the first. */
export async function readPin(folder: string): Promise<Uint8Array | null> {
  const content = await readPrivateFile(pinPath(folder))
  if (content === null) return null
  const key = parseApprovalKey(content.toString('utf8'))
  if (key !== null) return key
  throw new SignerRefused(`${pinPath(folder)} is damaged: restore it from a backup`)
}

/** A file that cannot be read is as good as none, and is said once. */
async function readPublished({ approvalKeyFile, told, log }: SigningContext): Promise<Uint8Array | null> {
  try {
    return await readApprovalKeyFile(approvalKeyFile)
  } catch (error) {
    if (told.isNew(approvalKeyFile, 'cannot be read'))
      log.error({ err: error }, 'APPROVAL_KEY_FILE cannot be read: see that the API writes it for the signer')
    return null
  }
}

function raiseAlarms(
  { told, log, approvalKeyFile }: SigningContext,
  keys: {
    readonly pinned: Uint8Array | null
    readonly offered: Uint8Array | null
    readonly published: Uint8Array | null
  },
): void {
  const { pinned, offered, published } = keys
  if (pinned === null) {
    if (offered !== null && told.isNew('approval key', 'only offered'))
      log.error(
        `live payouts are not signed: only the database names a key of the API's, ${hexOf(offered)}, and its writers could have placed their own. Give the signer the file that the API writes (APPROVAL_KEY_FILE), or compare with the key that paylink doctor shows beside the API and run: paylink signer trust-approval-key KEY`,
      )
    return
  }
  const others = [
    { where: 'the database (payout_approval_key)', key: offered },
    { where: approvalKeyFile, key: published },
  ]
  for (const { where, key } of others) {
    if (key === null || hexOf(key) === hexOf(pinned) || !told.isNew('approval key', `${where} ${hexOf(key)}`))
      continue
    log.error(
      { where, found: hexOf(key), known: hexOf(pinned) },
      'another approval key than the one that the signer knows: somebody wrote it, or SECRET_KEY was changed. Nothing that is approved by it is signed; if it is your own, run paylink signer trust-approval-key',
    )
  }
}
