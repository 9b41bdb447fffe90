import { z } from 'zod'
import { ConfigError, type Environment, must, origin, readerOf, wholeNumber } from './config-values.ts'

/** Where backups go, to whom they are encrypted, how often and how many. */
export type BackupConfig = {
  readonly target: BackupTarget
  /** Public keys of age; whoever has the secret key of one can read every backup. */
  readonly recipients: readonly string[]
  /** Null: only by command. */
  readonly everyHours: number | null
  /** How many stay; older ones are removed. */
  readonly keep: number
}

export type BackupTarget =
  | { readonly kind: 'folder'; readonly path: string }
  | {
      readonly kind: 's3'
      readonly endpoint: string
      readonly region: string
      readonly bucket: string
      /** Without slashes around it; empty: none. */
      readonly prefix: string
      readonly accessKeyId: string
      readonly secretAccessKey: string
    }

const RECIPIENTS_MAX = 5
const HOURS_MAX = 720
const KEPT_MAX = 10_000
const S3_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9._/-]{0,200}))?$/

const VARIABLES = {
  BACKUP_TO: must(
    'an absolute path of a folder, or s3://bucket/prefix',
    z.string().refine((text) => text.startsWith('/') || S3_URL.test(text)),
  ),
  BACKUP_RECIPIENT: must(
    `a public key such as age1…, which paylink backup create-key makes, or up to ${RECIPIENTS_MAX} separated by commas`,
    z
      .string()
      .transform((text) => text.split(',').map((part) => part.trim()))
      .pipe(z.array(z.string().regex(/^age1[0-9a-z]{20,4000}$/)).max(RECIPIENTS_MAX)),
  ),
  BACKUP_EVERY_HOURS: must(`a whole number of hours from 0 to ${HOURS_MAX}`, wholeNumber(0, HOURS_MAX)),
  BACKUP_KEEP: must(`a whole number of backups from 1 to ${KEPT_MAX}`, wholeNumber(1, KEPT_MAX)),
  BACKUP_S3_ENDPOINT: must('an origin such as https://s3.eu-central-1.amazonaws.com', origin),
  BACKUP_S3_REGION: must('a region such as eu-central-1', z.string().regex(/^[a-z0-9-]{1,40}$/)),
  BACKUP_S3_ACCESS_KEY_ID: must('the id of an access key', z.string().regex(/^[!-~]{1,200}$/)),
  BACKUP_S3_SECRET_ACCESS_KEY: must('the secret of that access key', z.string().regex(/^[!-~]{1,200}$/)),
}
const read = readerOf(VARIABLES)
export const BACKUP_VARIABLES: readonly string[] = Object.keys(VARIABLES)

/** Null where no backup is configured. Throws `ConfigError`. */
export function readBackup(env: Environment): BackupConfig | null {
  const to = read(env, 'BACKUP_TO')
  const recipients = read(env, 'BACKUP_RECIPIENT')
  const everyHours = read(env, 'BACKUP_EVERY_HOURS') ?? 24
  const keep = read(env, 'BACKUP_KEEP') ?? 30
  if (to === undefined) return null
  if (recipients === undefined) {
    throw new ConfigError(
      'BACKUP_TO needs BACKUP_RECIPIENT beside it: the public key that paylink backup create-key prints',
    )
  }
  return { target: readTarget(env, to), recipients, everyHours: everyHours === 0 ? null : everyHours, keep }
}

/** What a path or URL names, with the keys of the environment. */
export function readTarget(env: Environment, to: string): BackupTarget {
  const [, bucket, prefix = ''] = S3_URL.exec(to) ?? []
  if (bucket === undefined) return { kind: 'folder', path: to }
  const region = read(env, 'BACKUP_S3_REGION') ?? 'us-east-1'
  const accessKeyId = read(env, 'BACKUP_S3_ACCESS_KEY_ID')
  const secretAccessKey = read(env, 'BACKUP_S3_SECRET_ACCESS_KEY')
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new ConfigError('s3:// needs BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY beside it')
  return {
    kind: 's3',
    endpoint: read(env, 'BACKUP_S3_ENDPOINT') ?? `https://s3.${region}.amazonaws.com`,
    region,
    bucket,
    prefix: prefix.replace(/^\/+|\/+$/g, ''),
    accessKeyId,
    secretAccessKey,
  }
}
