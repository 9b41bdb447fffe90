import { ConfigError, type Environment, must, postgresUrl, readerOf, secretKey } from './config-values.ts'

/** The database that says in which cell somebody signs in, and the 32 bytes that all cells look up with. */
export type DirectoryConfig = { readonly url: string; readonly key: Uint8Array }

const VARIABLES = {
  DIRECTORY_DATABASE_URL: must('a PostgreSQL URL', postgresUrl),
  DIRECTORY_KEY: must(
    '32 bytes, as 64 hexadecimal digits or as base64 (openssl rand -hex 32), the same in every cell',
    secretKey,
  ),
}
const read = readerOf(VARIABLES)

export const DIRECTORY_VARIABLES: readonly string[] = Object.keys(VARIABLES)

/** Null where none is configured. Throws `ConfigError`. */
export function readDirectory(env: Environment): DirectoryConfig | null {
  const [url, key] = [read(env, 'DIRECTORY_DATABASE_URL'), read(env, 'DIRECTORY_KEY')]
  if (url === undefined) return null
  if (key === undefined)
    throw new ConfigError(
      'DIRECTORY_DATABASE_URL needs DIRECTORY_KEY, the same in every cell: openssl rand -hex 32 makes one',
    )
  return { url, key }
}
