import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { z } from 'zod'
import { ConfigError } from '../config/config-values.ts'
import { isDatabaseAway } from '../postgres/database-away.ts'
import { describeError } from '../runtime/log.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { addBackup } from './add-backup.ts'
import { addCells } from './add-cells.ts'
import { addFees, addOperators } from './add-fees.ts'
import { addListen } from './add-listen.ts'
import { addMerchant } from './add-merchant.ts'
import { addSetup } from './add-setup.ts'
import { addStart } from './add-start.ts'
import type { BooksArguments } from './books-command.ts'
import { type Output, processOutput } from './command-context.ts'
import { addCompletion } from './completion.ts'
import { EXIT_FAILED, EXIT_USAGE } from './exit-codes.ts'
import type { ImportArguments } from './import-command.ts'
import type { RescanArguments } from './rescan-command.ts'
import { UsageError } from './usage-error.ts'

/**
 * Runs the command of a command line and gives its exit code: 0 done, 1 it could not be done (or the audit found
 * something), 2 the command line itself is wrong. What a person can fix is one line on standard error.
 */
export async function runCommandLine(
  argv: readonly string[],
  output: Output = processOutput,
): Promise<number> {
  let exitCode = 0
  const program = buildProgram(output, (code) => {
    exitCode = code
  })
  try {
    await program.parseAsync([...argv])
    return exitCode
  } catch (error) {
    // Help and version come as errors whose exit code is 0; commander has printed what is wrong.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
    if (error instanceof Error && isDatabaseAway(error)) {
      output.problem(
        `the database went away (${describeError(error)}): run the command again once it is there`,
      )
      return EXIT_FAILED
    }
    output.problem(describeError(error))
    if (error instanceof UsageError) return EXIT_USAGE
    if (!isForPeople(error) && error instanceof Error) output.problem(error.stack ?? '')
    return EXIT_FAILED
  }
}

/** Errors whose one line is all that a person needs. */
const isForPeople = (error: unknown): boolean => error instanceof ConfigError || error instanceof StartRefused

const VERSION = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))).version

/** Each command loads its own code when it is called, so that none carries the others'. */
function buildProgram(output: Output, done: (exitCode: number) => void): Command {
  const program = new Command('paylink')
    .description('Self-hosted crypto payment invoicing')
    .version(VERSION, '--version', 'print the version')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(`paylink: ${text.replace(/^error: /, '')}`) })
  addStart(program, output, done)
  program
    .command('migrate')
    .description('bring the database up to date')
    .action(async () => {
      const { migrateCommand } = await import('./migrate-command.ts')
      done(await migrateCommand(output))
    })
  program
    .command('delivery-key')
    .description('print the DELIVERY_KEY that delivery workers take in place of SECRET_KEY')
    .action(async () => {
      const { deliveryKeyCommand } = await import('./derived-keys.ts')
      done(await deliveryKeyCommand(output))
    })
  program
    .command('watcher-key')
    .description('print the WATCHER_KEY that a watcher without SECRET_KEY seals with')
    .action(async () => {
      const { watcherKeyCommand } = await import('./derived-keys.ts')
      done(await watcherKeyCommand(output))
    })
  addSetup(program, output, done)
  addMerchant(program, output, done)
  addKeys(program, output, done)
  addInspections(program, output, done)
  addAccess(program, output, done)
  addRescan(program, output, done)
  addListen(program, output, done)
  addImport(program, output, done)
  addBooks(program, output, done)
  addReceipts(program, output, done)
  addSigner(program, output, done)
  addOperators(program, output, done)
  addFees(program, output, done)
  addBackup(program, output, done)
  addCells(program, output, done)
  addCompletion(program, output)
  return program
}

function addKeys(program: Command, output: Output, done: (exitCode: number) => void): void {
  const key = program.command('key').description('manage API keys')
  key
    .command('create')
    .description('make an API key, shown once')
    .requiredOption('--merchant <id>', 'id of the merchant')
    .requiredOption('--mode <mode>', 'test or live')
    .option('--scopes <scopes>', 'comma-separated scopes; a key has none by default', '')
    .option('--json', 'print one JSON object', false)
    .action(async (options: { merchant: string; mode: string; scopes: string; json: boolean }) => {
      const { createKeyCommand } = await import('./key-commands.ts')
      done(await createKeyCommand(options, output))
    })
  key
    .command('list')
    .description("list a merchant's API keys, the revoked ones too")
    .requiredOption('--merchant <id>', 'id of the merchant')
    .option('--json', 'print one JSON object', false)
    .action(async (options: { merchant: string; json: boolean }) => {
      const { listKeysCommand } = await import('./key-commands.ts')
      done(await listKeysCommand(options, output))
    })
  key
    .command('revoke')
    .description('end an API key for good, within a second')
    .argument('<id>', 'id of the key, not the key itself')
    .option('--json', 'print one JSON object', false)
    .action(async (id: string, options: { json: boolean }) => {
      const { revokeKeyCommand } = await import('./key-commands.ts')
      done(await revokeKeyCommand(id, options, output))
    })
}

function addInspections(program: Command, output: Output, done: (exitCode: number) => void): void {
  program
    .command('audit-log')
    .description("what was done at a merchant's dashboard")
    .command('verify')
    .description('prove that no entry was changed, taken out or put in')
    .requiredOption('--merchant <id>', 'id of the merchant')
    .option('--json', 'print one JSON object', false)
    .action(async (options: { merchant: string; json: boolean }) => {
      const { verifyAuditLogCommand } = await import('./audit-command.ts')
      done(await verifyAuditLogCommand(options, output))
    })
  program
    .command('audit')
    .description(
      'check chain against ledger against invoices against events; exit code 1 where anything disagrees',
    )
    .option('--json', 'print one JSON object', false)
    .action(async (options: { json: boolean }) => {
      const { auditCommand } = await import('./audit-command.ts')
      done(await auditCommand(options, output))
    })
  program
    .command('doctor')
    .description('say what is configured, reachable, synced and in date, with a fix for each fault')
    .option('--live', 'only ask the services outside, and print a report without secrets', false)
    .action(async ({ live }: { live: boolean }) => {
      const { doctorCommand, doctorLiveCommand } = await import('./doctor.ts')
      done(await (live ? doctorLiveCommand(output, VERSION) : doctorCommand(output)))
    })
}

function addAccess(program: Command, output: Output, done: (exitCode: number) => void): void {
  const access = program
    .command('access')
    .description('who may do what: people, members, second factors, API keys')
  access
    .command('check')
    .description('list the rows that Paylink did not write; exit code 1 where there are any')
    .option('--json', 'print one JSON object', false)
    .action(async (options: { json: boolean }) => {
      const { accessCheckCommand } = await import('./access-command.ts')
      done(await accessCheckCommand(options, output))
    })
  access
    .command('accept')
    .description('make all of them count as they are in the database now: look at them first')
    .action(async () => {
      const { accessAcceptCommand } = await import('./access-command.ts')
      done(await accessAcceptCommand(output))
    })
}

function addRescan(program: Command, output: Output, done: (exitCode: number) => void): void {
  program
    .command('rescan')
    .description('read blocks again against every address ever issued, and record what was missed')
    .requiredOption('--network <network>', 'such as litecoin-live')
    .requiredOption('--from <height>', 'first block')
    .option('--to <height>', "last block; the watcher's own position unless given")
    .option('--ahead <count>', 'report money on addresses the database lost, and on so many beyond its last')
    .option('--json', 'print one JSON object', false)
    .action(async (options: RescanArguments) => {
      const { rescanCommand } = await import('./rescan-command.ts')
      done(await rescanCommand(options, output))
    })
}

function addReceipts(program: Command, output: Output, done: (exitCode: number) => void): void {
  program
    .command('receipt')
    .description('check receipts')
    .command('verify')
    .description('say whether a receipt is as it was signed; exit code 1 where it is not')
    .argument('<file>', 'the receipt')
    .option('--key <file or URL>', "keys of the issuer; this installation's own unless given")
    .option('--json', 'print one JSON object', false)
    .action(async (file: string, options: { key?: string; json: boolean }) => {
      const { verifyReceiptCommand } = await import('./verify-receipt.ts')
      done(await verifyReceiptCommand(file, options, output))
    })
}

function addImport(program: Command, output: Output, done: (exitCode: number) => void): void {
  program
    .command('import')
    .description("read another service's export of past invoices; exit code 1 where some could not be read")
    .argument('<file>', "a CSV file: BTCPay's invoice export, or any with --columns")
    .requiredOption('--merchant <id>', 'id of the merchant')
    .option('--mode <mode>', 'test or live', 'live')
    .option('--source <name>', 'of another service, such as coinbase_commerce')
    .option(
      '--columns <list>',
      'its columns: id=…,created=…,amount=…,currency=…,status=…[,order=…][,email=…]',
    )
    .option('--json', 'print one JSON object', false)
    .action(async (file: string, options: ImportArguments) => {
      const { importCommand } = await import('./import-command.ts')
      done(await importCommand(file, options, output))
    })
}

function addBooks(program: Command, output: Output, done: (exitCode: number) => void): void {
  program
    .command('books')
    .description("print a merchant's ledger as a journal")
    .requiredOption('--merchant <id>', 'id of the merchant')
    .requiredOption('--format <format>', 'hledger, beancount, koinly or camt053')
    .option('--mode <mode>', 'test or live', 'live')
    .option('--month <month>', 'of camt053, a month such as 2026-11; default: all')
    .action(async (options: BooksArguments) => {
      const { booksCommand } = await import('./books-command.ts')
      done(await booksCommand(options, output))
    })
}

function addSigner(program: Command, output: Output, done: (exitCode: number) => void): void {
  const signer = program
    .command('signer')
    .description('make, restore and inspect the seed that all keys come from')
  signer
    .command('init')
    .description('make the seed before the first start, or restore it; never over another')
    .option('--show-words', 'print the 24 words, to be written on paper', false)
    .option('--restore', 'read the 24 words from standard input', false)
    .action(async (options: { showWords: boolean; restore: boolean }) => {
      const { initSignerCommand } = await import('./signer-commands.ts')
      done(await initSignerCommand(options, output))
    })
  signer
    .command('status')
    .description('say whether seed, database and journals belong together')
    .option('--json', 'print one JSON object', false)
    .action(async (options: { json: boolean }) => {
      const { signerStatusCommand } = await import('./signer-commands.ts')
      done(await signerStatusCommand(options, output))
    })
  signer
    .command('recover')
    .description('bring payouts back that were signed and that a restored database has forgotten')
    .option(
      '--accept <payout...>',
      'leave these out: they never happened, or the books hold them otherwise',
      [],
    )
    .action(async (options: { accept: string[] }) => {
      const { recoverPayoutsCommand } = await import('./signer-commands.ts')
      done(await recoverPayoutsCommand(options, output))
    })
  signer
    .command('trust-approval-key')
    .argument('<key>', "the API's public key for approvals, as paylink doctor shows it")
    .description('take this key for the one that approves payouts, in place of another')
    .action(async (key: string) => {
      const { trustKeyCommand } = await import('./signer-commands.ts')
      done(await trustKeyCommand('approval-key', key, output))
    })
  signer
    .command('trust-outcome-key')
    .argument('<key>', "the watcher's public key for outcomes, as paylink doctor shows it")
    .description(
      'take this key for the one that seals what became of sweeps and payouts, in place of another',
    )
    .action(async (key: string) => {
      const { trustKeyCommand } = await import('./signer-commands.ts')
      done(await trustKeyCommand('outcome-key', key, output))
    })
  signer
    .command('export-xpubs')
    .description('print the public key of every account')
    .option('--json', 'print one JSON object', false)
    .action(async (options: { json: boolean }) => {
      const { exportXpubsCommand } = await import('./signer-commands.ts')
      done(await exportXpubsCommand(options, output))
    })
  signer
    .command('reseal')
    .description('seal the same seed with the key of another file')
    .requiredOption('--key-file <file>', 'the new key: 32 bytes, raw, hexadecimal or base64')
    .action(async (options: { keyFile: string }) => {
      const { resealSignerCommand } = await import('./signer-commands.ts')
      done(await resealSignerCommand(options, output))
    })
}
