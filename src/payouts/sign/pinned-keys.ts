import { join } from 'node:path'
import { outcomeKeyFileOf } from '../../secrets/outcome-key.ts'
import { parsePublicKey, readPublicKeyFile } from '../../secrets/public-key-file.ts'
import { createPrivateFile, readPrivateFile, replacePrivateFile } from '../../signer/private-file.ts'
import { SignerRefused } from '../../signer/refused.ts'
import { loadApprovalKey, savePinnedApprovalKey, savePinnedOutcomeKey } from '../store/approval-keys.ts'
import type { SigningContext } from './signing-context.ts'

/** By which key the approvals of each mode are verified; null: none is known, and nothing is signed. */
type ApprovalKeys = { readonly live: Uint8Array | null; readonly test: Uint8Array | null }

/** A public key that the signer keeps in its own folder, by the name of its file there. */
export type PinName = 'approval-key' | 'outcome-key'

const pinPath = (folder: string, name: PinName): string => join(folder, name)
const contentOf = (key: Uint8Array): string => `${hexOf(key)}\n`
const hexOf = (key: Uint8Array): string => Buffer.from(key).toString('hex')

/**
 * The public key that verifies approvals: the first in the file that the API writes, kept in the signer's own folder from
 * then on. What the database offers counts in test mode alone, as long as no key is kept: its writers could have put their
 * own there.
 */
export async function approvalKeysOf(signer: SigningContext): Promise<ApprovalKeys> {
  const { pool, approvalKeyFile, alerts, log } = signer
  const offered = await loadApprovalKey(pool)
  const { pinned, published } = await pin(signer, 'approval-key', approvalKeyFile)
  if (pinned !== null) {
    raiseAlarm(signer, 'approval-key', {
      pinned,
      where: 'the database (payout_approval_key)',
      found: offered,
    })
    raiseAlarm(signer, 'approval-key', { pinned, where: approvalKeyFile, found: published })
  } else if (offered !== null && alerts.isNew('approval key', 'only offered'))
    log.error(
      `live payouts are not signed: only the database names a key of the API's, ${hexOf(offered)}, and its writers could have placed their own. Give the signer the file that the API writes (APPROVAL_KEY_FILE), or compare with the key that paylink doctor shows beside the API and run: paylink signer trust-approval-key KEY`,
    )
  if (alerts.isNew('approval key', pinned === null ? 'none' : hexOf(pinned)))
    await savePinnedApprovalKey(pool, pinned)
  return { live: pinned, test: pinned ?? offered }
}

/** The public key that verifies the watcher's seals, taken over in the same way; null: none is known, and no seal counts. */
export async function outcomeKeyOf(signer: SigningContext): Promise<Uint8Array | null> {
  const { pool, approvalKeyFile, alerts } = signer
  const path = outcomeKeyFileOf(approvalKeyFile)
  const { pinned, published } = await pin(signer, 'outcome-key', path)
  if (pinned === null) return null
  raiseAlarm(signer, 'outcome-key', { pinned, where: path, found: published })
  if (alerts.isNew('outcome key', hexOf(pinned))) await savePinnedOutcomeKey(pool, pinned)
  return pinned
}

/** Replaces the known key, on the operator's command. */
export const trustKey = (folder: string, name: PinName, key: Uint8Array): Promise<void> =>
  replacePrivateFile(pinPath(folder, name), contentOf(key))

/** The key in the signer's folder; null before the first. */
export async function readPin(folder: string, name: PinName): Promise<Uint8Array | null> {
  const path = pinPath(folder, name)
  const content = await readPrivateFile(path)
  if (content === null) return null
  const key = parsePublicKey(content.toString('utf8'))
  if (key !== null) return key
  throw new SignerRefused(`${path} is damaged: restore it from a backup`)
}

/** The key in the folder, where there is none the one in the file, which is kept from then on. */
async function pin(signer: SigningContext, name: PinName, path: string) {
  const { folder } = signer
  const published = await readPublished(signer, path)
  const kept = await readPin(folder, name)
  if (kept === null && published !== null)
    await createPrivateFile(pinPath(folder, name), contentOf(published))
  return { pinned: kept ?? published, published }
}

/** A file that cannot be read counts as none, and is logged once. */
async function readPublished({ alerts, log }: SigningContext, path: string): Promise<Uint8Array | null> {
  try {
    return await readPublicKeyFile(path)
  } catch (error) {
    if (alerts.isNew(path, 'cannot be read'))
      log.error(
        { err: error, path },
        'APPROVAL_KEY_FILE cannot be read, or outcome-key beside it: see that the API writes them for the signer',
      )
    return null
  }
}

function raiseAlarm(
  { alerts, log }: SigningContext,
  name: PinName,
  of: { readonly pinned: Uint8Array; readonly where: string; readonly found: Uint8Array | null },
): void {
  const { pinned, where, found } = of
  const isOther = found !== null && hexOf(found) !== hexOf(pinned)
  if (!isOther || !alerts.isNew(name, `${where} ${hexOf(found)}`)) return
  log.error({ where, found: hexOf(found), known: hexOf(pinned) }, FOREIGN[name])
}

const FOREIGN: { readonly [name in PinName]: string } = {
  'approval-key':
    'another approval key than the one that the signer knows: somebody wrote it, or SECRET_KEY was changed. Nothing that is approved by it is signed; if it is your own, run paylink signer trust-approval-key',
  'outcome-key':
    'another outcome key than the one that the signer knows: somebody wrote it, or SECRET_KEY was changed. Nothing that is sealed by it counts; if it is your own, run paylink signer trust-outcome-key',
}
