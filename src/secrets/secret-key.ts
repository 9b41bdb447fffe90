import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { readOrMakeSecretFile, StartRefused } from '../data-dir.ts'
import { SECRET_KEY_BYTES } from './keyring.ts'

/**
 * The 32 bytes that encrypt secrets at rest: the given ones, or those in `<dataDir>/secret-key`, made there on
 * the first start.
 */
export async function loadSecretKey(dataDir: string, given: Uint8Array | null): Promise<Uint8Array> {
  if (given !== null) return given
  const path = join(dataDir, 'secret-key')
  const text = await readOrMakeSecretFile(path, () => `${randomBytes(SECRET_KEY_BYTES).toString('hex')}\n`)
  const key = Buffer.from(text.trim(), 'hex')
  if (key.length === SECRET_KEY_BYTES) return key
  throw new StartRefused(`${path} is damaged: put back the file from your backup, or set SECRET_KEY`)
}
