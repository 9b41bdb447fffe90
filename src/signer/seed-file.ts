import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import type { Clock } from '../runtime/clock.ts'
import { ownCell } from '../runtime/own-cell.ts'
import { openKeyring, SealBroken } from '../secrets/keyring.ts'
import type { KeySource } from './key-source.ts'
import { createPrivateFile, readPrivateFile, replacePrivateFile } from './private-file.ts'
import { SignerRefused } from './refused.ts'

/** 256 bits: 24 words. */
const ENTROPY_BYTES = 32
/** Sealed under this name, so that no other sealed value can be put in the seed's place. */
const SEED_CONTEXT = 'signer/seed'
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

const seedFileSchema = z.strictObject({
  version: z.literal(1),
  created_at: z.string(),
  /** AES-256-GCM, as secrets/keyring writes it. */
  sealed: z.string().regex(BASE64),
  /** Whose addresses come from it; absent in the first cell. */
  cell: z.int().optional(),
})

/** What all keys come from. */
export const newEntropy = (): Uint8Array => randomBytes(ENTROPY_BYTES)

export const seedFilePath = (folder: string): string => join(folder, 'seed.json')

/**
 * The entropy that all keys come from, or null if there is none yet. Throws `SignerRefused` if it cannot be decrypted, or
 * another cell's: two cells with one seed would give one deposit address to two merchants.
 */
export async function openSeed(folder: string, keySource: KeySource): Promise<Uint8Array | null> {
  const path = seedFilePath(folder)
  const content = await readPrivateFile(path)
  if (content === null) return null
  const key = await keySource.load()
  if (key === null) {
    throw new SignerRefused(`${path} is there and its key ${keySource.description} is not: restore the key`)
  }
  try {
    const file = seedFileSchema.parse(JSON.parse(content.toString('utf8')))
    refuseOtherCell(path, file.cell ?? 0)
    return openKeyring(key).open(Buffer.from(file.sealed, 'base64'), SEED_CONTEXT)
  } catch (error) {
    if (error instanceof SignerRefused) throw error
    if (error instanceof SealBroken) {
      throw new SignerRefused(
        `${path} does not open with the key ${keySource.description}: restore the right pair`,
        { cause: error },
      )
    }
    throw new SignerRefused(`${path} is damaged: restore it from a backup`, { cause: error })
  }
}

function refuseOtherCell(path: string, cell: number): void {
  if (cell === ownCell()) return
  throw new SignerRefused(
    `${path} is the seed of cell ${cell}, and CELL is ${ownCell()}: give each cell a seed of its own, for two with one would show the same addresses`,
  )
}

/**
 * Writes new entropy, or that of a backup, sealed, before anything is derived from it. Never writes over a seed:
 * throws `EEXIST`.
 */
export async function createSeed(
  folder: string,
  keySource: KeySource,
  clock: Clock,
  entropy: Uint8Array = newEntropy(),
): Promise<Uint8Array> {
  const key = (await keySource.load()) ?? (await keySource.create())
  await createPrivateFile(seedFilePath(folder), sealedFile(entropy, key, clock))
  return entropy
}

/**
 * Seals the seed with another key, in place of the one that it opens with now; the seed stays what it is. Throws
 * `SignerRefused` where there is no seed, or one of the keys is not there.
 */
export async function resealSeed(
  folder: string,
  from: KeySource,
  to: KeySource,
  clock: Clock,
): Promise<void> {
  const entropy = await openSeed(folder, from)
  if (entropy === null) throw new SignerRefused(`${folder} has no seed`)
  const key = await to.load()
  if (key === null) throw new SignerRefused(`there is no key at ${to.description}`)
  await replacePrivateFile(seedFilePath(folder), sealedFile(entropy, key, clock))
  entropy.fill(0)
}

function sealedFile(entropy: Uint8Array, key: Uint8Array, clock: Clock): string {
  const file: z.input<typeof seedFileSchema> = {
    version: 1,
    created_at: clock().toISOString(),
    sealed: openKeyring(key).seal(entropy, SEED_CONTEXT).toString('base64'),
    ...(ownCell() === 0 ? {} : { cell: ownCell() }),
  }
  return `${JSON.stringify(file)}\n`
}
