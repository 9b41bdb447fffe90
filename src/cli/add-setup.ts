import type { Command } from 'commander'
import { CHAINS } from '../core/assets.ts'
import type { Output } from './command-context.ts'
import type { GivenOptions } from './setup/questionnaire.ts'

const OPTIONS: readonly (readonly [string, string])[] = [
  ['--name <name>', 'name of the shop, which buyers see'],
  ['--email <email>', "the owner's email address"],
  ['--mode <mode>', 'test or live'],
  ['--base-url <url>', 'address that buyers open'],
  ['--coins <list>', 'coins that the shop accepts, separated by commas'],
  ['--seed <source>', 'new, restore (24 words on standard input) or later (the first start makes it)'],
  ['--signer-key-file <file>', 'key that seals the seed; beside the seed unless given'],
  ...CHAINS.flatMap((chain) =>
    (['live', 'test'] as const).map(
      (mode) =>
        [
          `--${mode}-${chain}-rpc-url <urls>`,
          `node of ${chain}-${mode}, or several${mode === 'live' ? '; or public' : ''}`,
        ] as const,
    ),
  ),
  ['--smtp-url <url>', 'mail server'],
  ['--sign-up <who>', 'open, invite or closed'],
  ['--backup-to <target>', 'folder, or s3://bucket/prefix'],
  ['--backup-recipient <key>', 'public key to encrypt backups to'],
  ['--backup-key-file <file>', 'or a file for a new secret key'],
  ['--backup-s3-region <region>', 'region of the bucket'],
  ['--backup-s3-endpoint <url>', "its endpoint; AWS's unless given"],
  ['--backup-s3-access-key-id <id>', 'access key of the bucket'],
  ['--backup-s3-secret-access-key <secret>', 'its secret'],
  ['--data-dir <folder>', 'all data outside the database'],
  ['--database-url <url>', 'your own PostgreSQL'],
  ['--port <port>', 'where API and checkout listen'],
]

/** Each answer is an option, and a variable of the same name in the environment. */
export function addSetup(program: Command, output: Output, done: (exitCode: number) => void): void {
  const setup = program
    .command('setup')
    .description('ask what a start needs, write it to paylink.env, and follow a first payment')
  for (const [flags, description] of OPTIONS) setup.option(flags, description)
  setup
    .option('--yes', 'ask nothing: options, variables and defaults are the answers', false)
    .option('--force', 'replace an env file that is there', false)
    .option('--no-test-payment', 'end after doctor')
    .action(async (options: GivenOptions) => {
      const { setupCommand } = await import('./setup/setup-command.ts')
      done(await setupCommand(options, output))
    })
}
