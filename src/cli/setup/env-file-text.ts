import type { Environment } from '../../config/config-values.ts'
import { envLine } from '../../config/env-file.ts'
import { CHAINS } from '../../core/assets.ts'
import { StartRefused } from '../../runtime/start-refused.ts'

/** Every setting that setup writes, with what it is for; in the order of the file. */
const SETTINGS: readonly { readonly names: readonly string[]; readonly comment: string }[] = [
  { names: ['BASE_URL'], comment: 'Origin of every link that Paylink gives out.' },
  { names: ['PORT'], comment: 'Where API and checkout listen, on 127.0.0.1 unless HOST says otherwise.' },
  {
    names: ['SIGN_UP'],
    comment: 'Who may create an account: open (anybody), invite (those who are invited), closed (nobody).',
  },
  { names: ['DATA_DIR'], comment: 'All data outside the database, the seed too. Back it up.' },
  { names: ['DATABASE_URL'], comment: 'PostgreSQL 15 or later. Left out: a server of our own, in DATA_DIR.' },
  {
    names: ['SIGNER_KEY_FILE'],
    comment: 'File with the 32 bytes that seal the seed. Left out: signer/key in DATA_DIR, beside the seed.',
  },
  {
    names: CHAINS.map((chain) => `LIVE_${chain.toUpperCase()}_RPC_URL`),
    comment:
      'Nodes of live networks, or providers separated by commas: the first is followed, the others confirm.',
  },
  {
    names: CHAINS.map((chain) => `TEST_${chain.toUpperCase()}_RPC_URL`),
    comment: 'Nodes of test networks. Left out: a sandbox chain.',
  },
  { names: ['SMTP_URL'], comment: 'Mail server. Left out: emails are written to the log, links included.' },
  { names: ['BACKUP_TO'], comment: 'Folder or s3://bucket/prefix of backups, one a day. Left out: none.' },
  { names: ['BACKUP_RECIPIENT'], comment: 'Public key that backups are encrypted to.' },
  {
    names: [
      'BACKUP_S3_ENDPOINT',
      'BACKUP_S3_REGION',
      'BACKUP_S3_ACCESS_KEY_ID',
      'BACKUP_S3_SECRET_ACCESS_KEY',
    ],
    comment: 'The S3-compatible store of s3://… above.',
  },
]
const OURS = SETTINGS.flatMap(({ names }) => names)

/** Of these settings those that setup does not ask about. */
export const otherSettings = (settings: Environment): { [name: string]: string } =>
  Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]) =>
      value === undefined || OURS.includes(name) ? [] : [[name, value]],
    ),
  )

/**
 * The env file of these settings, each that setup asks about with a comment; what is left out is there as a comment.
 * Throws `StartRefused` where no line can hold a value.
 */
export function envFileText(settings: Environment, writtenOn: string): string {
  const kept = Object.entries(otherSettings(settings))
  return [
    `# Settings of Paylink, written by "paylink setup" on ${writtenOn}. Variables of the environment come before these.`,
    '# Every setting: docs/operating.md',
    ...SETTINGS.flatMap(({ names, comment }) => [
      '',
      `# ${comment}`,
      ...names.map((name) => line(name, settings[name])),
    ]),
    ...(kept.length === 0 ? [] : ['', '# Settings that setup does not ask about.']),
    ...kept.map(([name, value]) => line(name, value)),
    '',
  ].join('\n')
}

function line(name: string, value: string | undefined): string {
  if (value === undefined || value === '') return `# ${name}=`
  const written = envLine(name, value)
  if (written === null)
    throw new StartRefused(`${name} has characters that no env file can hold: set it in the environment`)
  return written
}
