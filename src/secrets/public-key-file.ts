import { readPublicFile, writePublicFile } from './public-file.ts'

const HEX_KEY = /^[0-9a-fA-F]{64}$/

/** The 32 bytes that 64 hexadecimal digits stand for; null for any other text. */
export const parsePublicKey = (text: string): Buffer | null =>
  HEX_KEY.test(text.trim()) ? Buffer.from(text.trim(), 'hex') : null

/** A public key in a file of the API's; null where there is none. Throws where it holds no key. */
export async function readPublicKeyFile(path: string): Promise<Buffer | null> {
  const text = await readPublicFile(path)
  if (text === null) return null
  const key = parsePublicKey(text)
  if (key === null) throw new Error(`${path} does not hold 64 hexadecimal digits`)
  return key
}

/** Writes the key beside the database and not into it: whoever can change one cannot change the other by that. */
export async function writePublicKeyFile(path: string, key: Uint8Array): Promise<void> {
  const content = `${Buffer.from(key).toString('hex')}\n`
  if ((await readPublicFile(path)) !== content) await writePublicFile(path, content)
}
