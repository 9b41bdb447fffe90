import { randomBytes } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { z } from 'zod'

/** By which key (Ed25519, 32 bytes) the signer signs the addresses of each keyspace. Public: it opens nothing. */
export type AddressKeys = ReadonlyMap<string, Uint8Array>

const fileSchema = z.strictObject({
  version: z.literal(1),
  keys: z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/)),
})

/** The keys in a file that the signer wrote; null where there is none. Throws where it is not one of the signer's. */
export async function readAddressKeys(path: string): Promise<AddressKeys | null> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
  const { keys } = fileSchema.parse(JSON.parse(text))
  return new Map(Object.entries(keys).map(([keyspace, hex]) => [keyspace, Buffer.from(hex, 'hex')]))
}

/** Writes the keys beside the database and not into it: whoever can change one cannot change the other by that. */
export async function writeAddressKeys(path: string, keys: AddressKeys): Promise<void> {
  const entries = [...keys].map(([keyspace, key]) => [keyspace, Buffer.from(key).toString('hex')])
  const file: z.input<typeof fileSchema> = { version: 1, keys: Object.fromEntries(entries) }
  const temporary = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    await writeFile(temporary, `${JSON.stringify(file)}\n`, { mode: 0o644 })
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}
