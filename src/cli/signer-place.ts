import { mkdir } from 'node:fs/promises'
import { type Config, loadProcessConfig } from '../config/config.ts'
import { systemClock } from '../runtime/clock.ts'
import { hasCode, openDataDir, signerFolderOf } from '../runtime/data-dir.ts'
import { markFolder } from '../runtime/data-dir-kind.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { entropyOf, wordsOf } from '../signer/derive.ts'
import { fileKeySource, type KeySource } from '../signer/key-source.ts'
import { readPrivateFile } from '../signer/private-file.ts'
import { SignerRefused } from '../signer/refused.ts'
import { createSeed, newEntropy, seedFilePath } from '../signer/seed-file.ts'

const FOLDER_OWNER_ONLY = 0o700

/** Where the seed is, and what opens it. */
export type SignerPlace = { readonly config: Config; readonly folder: string; readonly keySource: KeySource }

export function signerPlace(config: Config = loadProcessConfig()): SignerPlace {
  const folder = signerFolderOf(config)
  return { config, folder, keySource: fileKeySource(config.signerKeyFile, folder) }
}

export async function openSignerFolder({ config, folder }: SignerPlace): Promise<void> {
  await openDataDir(config.dataDir)
  await markFolder(config)
  await mkdir(folder, { recursive: true, mode: FOLDER_OWNER_ONLY })
}

/** Makes the seed, or restores it. Never writes over one: throws `StartRefused`. */
export async function storeSeed(place: SignerPlace, given?: Uint8Array): Promise<Uint8Array> {
  const { folder, keySource } = place
  await openSignerFolder(place)
  return await refusable(async () => {
    try {
      return await createSeed(folder, keySource, systemClock, given)
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
      throw new StartRefused(`${seedFilePath(folder)} is there already, and is never written over`)
    }
  })
}

export const hasSeed = async ({ folder }: SignerPlace): Promise<boolean> =>
  (await refusable(() => readPrivateFile(seedFilePath(folder)))) !== null

/** Throws `StartRefused` where the key is missing, or is none. */
export async function checkSignerKey({ keySource }: SignerPlace): Promise<void> {
  await refusable(() => keySource.load())
}

/** A seed that is nowhere yet, with its 24 words. */
export function drawSeed(): { readonly entropy: Uint8Array; readonly words: readonly string[] } {
  const entropy = newEntropy()
  return { entropy, words: wordsOf(entropy).split(' ') }
}

/** The seed that 24 words stand for; null where a word is wrong. */
export const seedFromWords = (words: string): Uint8Array | null => entropyOf(words)

/** What a person can fix is one line. */
export async function refusable<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SignerRefused) throw new StartRefused(error.message, { cause: error })
    throw error
  }
}
