import { z } from 'zod'
import { readPublicFile, writePublicFile } from './public-file.ts'
import { SEAL_KEY_NAME } from './seal-to-signer.ts'

/** By which key (Ed25519, 32 bytes) the signer signs the addresses of each keyspace. Public: it opens nothing. */
export type AddressKeys = ReadonlyMap<string, Uint8Array>

const fileSchema = z.strictObject({
  version: z.literal(1),
  keys: z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/)),
})

/** The keys in a file that the signer wrote; null where there is none. Throws where it is not one of the signer's. */
export async function readAddressKeys(path: string): Promise<AddressKeys | null> {
  const text = await readPublicFile(path)
  if (text === null) return null
  const { keys } = fileSchema.parse(JSON.parse(text))
  return new Map(Object.entries(keys).map(([keyspace, hex]) => [keyspace, Buffer.from(hex, 'hex')]))
}

/** The signer's public key that codes and secrets of authenticator apps are sealed to; null where the file names none. */
export async function readSealKey(path: string): Promise<Uint8Array | null> {
  return (await readAddressKeys(path))?.get(SEAL_KEY_NAME) ?? null
}

/** Writes the keys beside the database and not into it: whoever can change one cannot change the other by that. */
export async function writeAddressKeys(path: string, keys: AddressKeys): Promise<void> {
  const entries = [...keys].map(([keyspace, key]) => [keyspace, Buffer.from(key).toString('hex')])
  const file: z.input<typeof fileSchema> = { version: 1, keys: Object.fromEntries(entries) }
  await writePublicFile(path, `${JSON.stringify(file)}\n`)
}
