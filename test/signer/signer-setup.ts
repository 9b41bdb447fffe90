import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import pino from 'pino'
import type { Pool } from '../../src/postgres/pool.ts'
import { type Signer, type SignerOptions, startSigner } from '../../src/roles/start-signer.ts'
import type { Log } from '../../src/runtime/log.ts'
import { fileKeySource } from '../../src/signer/key-source.ts'
import { openSeed } from '../../src/signer/seed-file.ts'
import { BASE_URL } from '../support/api.ts'

export const clock = (): Date => new Date('2026-03-01T12:00:00Z')

/** A folder for one test, and everything that its signers logged. */
export type SignerSetup = {
  readonly dataDir: string
  readonly folder: string
  readonly lines: string[]
  start(
    pool: Pool,
    changes?: { dataDir?: string; keyFile?: string; intervalMs?: number } & Partial<
      Pick<SignerOptions, 'clock' | 'pause'>
    >,
  ): Promise<Signer>
  /** The secret itself, as the signer opens it. */
  entropy(): Promise<Buffer>
  cleanUp(): Promise<void>
}

export async function signerSetup(): Promise<SignerSetup> {
  const dataDir = await mkdtemp(join(tmpdir(), 'paylink-signer-'))
  const folder = join(dataDir, 'signer')
  const lines: string[] = []
  const log = logInto(lines)
  const started: Signer[] = []
  return {
    dataDir,
    folder,
    lines,
    start: async (pool, changes = {}) => {
      const signer = await startSigner({
        baseUrl: BASE_URL,
        pool,
        dataDir: changes.dataDir ?? dataDir,
        keyFile: changes.keyFile ?? null,
        addressKeysFile: join(changes.dataDir ?? dataDir, 'address-keys.json'),
        approvalKeyFile: join(changes.dataDir ?? dataDir, 'approval-key'),
        clock: changes.clock ?? clock,
        log,
        intervalMs: changes.intervalMs ?? 20,
        ...(changes.pause === undefined ? {} : { pause: changes.pause }),
      })
      started.push(signer)
      return signer
    },
    entropy: async () => {
      const entropy = await openSeed(folder, fileKeySource(null, folder))
      if (entropy === null) throw new Error('no seed')
      return Buffer.from(entropy)
    },
    cleanUp: async () => {
      await Promise.all(started.map((signer) => signer.stop()))
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

function logInto(lines: string[]): Log {
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  return pino({ level: 'trace' }, stream)
}
