import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { SECRET_KEY_BYTES } from '../secrets/keyring.ts'
import { createPrivateFile, readPrivateFile } from './private-file.ts'
import { SignerRefused } from './refused.ts'

/** Where the key that encrypts the seed comes from: a file today, a key management service in its place later. */
export type KeySource = {
  /** The 32 bytes, or null where there is no key yet and this source can make one. */
  load(): Promise<Uint8Array | null>
  /** A new key, kept by the source before it is given out. */
  create(): Promise<Uint8Array>
  /** Where a person finds it. */
  readonly description: string
}

const HEX_KEY = /^[0-9a-fA-F]{64}\s*$/
const BASE64_KEY = /^[A-Za-z0-9+/_-]{43}=?\s*$/

/**
 * A key in a file: 32 raw bytes, 64 hexadecimal digits, or base64. `keyFile` is the operator's own and is never
 * created here; without one the key is `key` in the signer's folder.
 */
export function fileKeySource(keyFile: string | null, folder: string): KeySource {
  const path = keyFile ?? join(folder, 'key')
  return {
    description: path,
    load: async () => {
      const content = await readKeyFile(path)
      if (content !== null) return parseKey(content, path)
      if (keyFile !== null)
        throw new SignerRefused(`SIGNER_KEY_FILE names ${path}, which does not exist: put the key there`)
      return null
    },
    create: async () => {
      const key = randomBytes(SECRET_KEY_BYTES)
      await createPrivateFile(path, `${key.toString('hex')}\n`)
      return key
    },
  }
}

async function readKeyFile(path: string): Promise<Buffer | null> {
  try {
    return await readPrivateFile(path)
  } catch (error) {
    throw new SignerRefused(
      `the signer cannot read its key file ${path}: give its user the right to read it`,
      {
        cause: error,
      },
    )
  }
}

function parseKey(content: Buffer, path: string): Uint8Array {
  if (content.length === SECRET_KEY_BYTES) return content
  const text = content.toString('latin1')
  const key = HEX_KEY.test(text)
    ? Buffer.from(text.trim(), 'hex')
    : Buffer.from(BASE64_KEY.test(text) ? text.trim() : '', 'base64')
  if (key.length === SECRET_KEY_BYTES) return key
  throw new SignerRefused(`${path} must hold 32 bytes, raw, as 64 hexadecimal digits or as base64`)
}
