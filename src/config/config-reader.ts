import { z } from 'zod'
import { type Environment, listenAddress, must, readerOf, wholeNumber } from './config-values.ts'

/** Of the role `reader`. */
export type ReaderConfig = {
  readonly host: string
  readonly port: number
  /** What cells show as the password of their URLs; null: none. */
  readonly token: string | null
  /** Of answers that are kept. */
  readonly cacheBytes: number
}

const MEGABYTE = 1024 * 1024
const CACHE_MB_MAX = 65_536

const VARIABLES = {
  READER_HOST: listenAddress,
  READER_PORT: must('a port from 1 to 65535', wholeNumber(1, 65_535)),
  READER_TOKEN: must('16 to 128 letters and digits', z.string().regex(/^[0-9A-Za-z_-]{16,128}$/)),
  READER_CACHE_MB: must(`megabytes, from 1 to ${CACHE_MB_MAX}`, wholeNumber(1, CACHE_MB_MAX)),
}
const read = readerOf(VARIABLES)

export const READER_VARIABLES: readonly string[] = Object.keys(VARIABLES)

export const readReader = (env: Environment): ReaderConfig => ({
  host: read(env, 'READER_HOST') ?? '127.0.0.1',
  port: read(env, 'READER_PORT') ?? 8_555,
  token: read(env, 'READER_TOKEN') ?? null,
  cacheBytes: (read(env, 'READER_CACHE_MB') ?? 256) * MEGABYTE,
})
