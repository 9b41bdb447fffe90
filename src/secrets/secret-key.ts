import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { readFileIfPresent, readOrMakeSecretFile } from '../runtime/data-dir.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { SECRET_KEY_BYTES } from './keyring.ts'

/** Where the key is kept that was not given. */
export const secretKeyPath = (dataDir: string): string => join(dataDir, 'secret-key')

/**
 * The 32 bytes that encrypt secrets at rest: the given ones, or those in `<dataDir>/secret-key`, made there on
 * the first start. Only `openInstallationKeyring` knows whether this is one.
 */
export async function loadSecretKey(dataDir: string, given: Uint8Array | null): Promise<Uint8Array> {
  if (given !== null) return given
  const path = secretKeyPath(dataDir)
  return parse(
    path,
    await readOrMakeSecretFile(path, () => `${randomBytes(SECRET_KEY_BYTES).toString('hex')}\n`),
  )
}

/** The same, and null where there is none yet. */
export async function readSecretKey(dataDir: string, given: Uint8Array | null): Promise<Uint8Array | null> {
  if (given !== null) return given
  const path = secretKeyPath(dataDir)
  const text = await readFileIfPresent(path)
  return text === null ? null : parse(path, text)
}

function parse(path: string, text: string): Uint8Array {
  const key = Buffer.from(text.trim(), 'hex')
  if (key.length === SECRET_KEY_BYTES) return key
  throw new StartRefused(`${path} is damaged: put back the file from your backup, or set SECRET_KEY`)
}
