import type { Command } from 'commander'
import type { Output } from './command-context.ts'

/** Backups, how they come back, and what an upgrade would do. */
export function addBackup(program: Command, output: Output, done: (exitCode: number) => void): void {
  const backup = program
    .command('backup')
    .description('back up database, signer, keys and settings, encrypted, to BACKUP_TO')
    .action(async () => {
      const { backupCommand } = await import('./backup-commands.ts')
      done(await backupCommand(output))
    })
  backup
    .command('create-key')
    .description('make the key pair that backups are encrypted with; the file opens them all')
    .argument('<file>', 'where to write the secret key')
    .action(async (file: string) => {
      const { createBackupKeyCommand } = await import('./backup-commands.ts')
      done(await createBackupKeyCommand(file, output))
    })
  backup
    .command('list')
    .description('list the backups of BACKUP_TO, oldest first')
    .action(async () => {
      const { listBackupsCommand } = await import('./backup-commands.ts')
      done(await listBackupsCommand(output))
    })
  program
    .command('restore')
    .description('restore a backup into an empty installation, and audit it')
    .argument('<backup>', 'a file, s3://bucket/prefix/name, a name in BACKUP_TO, or latest')
    .requiredOption('--key-file <file>', 'the secret key that paylink backup create-key made')
    .option('--check', 'only read it to its end, and say whether it is whole', false)
    .action(async (name: string, options: { keyFile: string; check: boolean }) => {
      const { restoreCommand } = await import('./backup-commands.ts')
      done(await restoreCommand(name, options, output))
    })
  program
    .command('upgrade')
    .description('say what upgrading to this release does to the database')
    .option('--check', 'try its migrations on a copy, and say how long they take; changes nothing', false)
    .action(async (options: { check: boolean }) => {
      const { upgradeCommand } = await import('./upgrade-command.ts')
      done(await upgradeCommand(options, output))
    })
}
