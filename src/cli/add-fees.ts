import type { Command } from 'commander'
import type { Output } from './command-context.ts'
import type { AllowArguments } from './fees-commands.ts'

type Done = (exitCode: number) => void

const KEY_FILE = '--key-file <file>'
const WHOSE = 'file with your key as an operator'

/** Who runs the installation, known by a key. */
export function addOperators(program: Command, output: Output, done: Done): void {
  const operator = program.command('operator').description('manage who may have fees paid out')
  operator
    .command('create')
    .description('make an operator, and the key that they are known by, shown once')
    .requiredOption('--name <name>', 'who it is')
    .option('--json', 'print one JSON object', false)
    .action(async (options: { name: string; json: boolean }) => {
      const { createOperatorCommand } = await import('./operator-commands.ts')
      done(await createOperatorCommand(options, output))
    })
  operator
    .command('list')
    .description('list operators, the revoked ones too')
    .option('--json', 'print one JSON object', false)
    .action(async (options: { json: boolean }) => {
      const { listOperatorsCommand } = await import('./operator-commands.ts')
      done(await listOperatorsCommand(options, output))
    })
  operator
    .command('authenticator')
    .description('give an operator an authenticator app, whose codes approve live payouts of fees')
    .argument('<id>', 'id of the operator, not the key')
    .option('--json', 'print one JSON object', false)
    .action(async (id: string, options: { json: boolean }) => {
      const { operatorAuthenticatorCommand } = await import('./operator-commands.ts')
      done(await operatorAuthenticatorCommand(id, options, output))
    })
  operator
    .command('revoke')
    .description("end an operator's key for good")
    .argument('<id>', 'id of the operator, not the key')
    .option('--json', 'print one JSON object', false)
    .action(async (id: string, options: { json: boolean }) => {
      const { revokeOperatorCommand } = await import('./operator-commands.ts')
      done(await revokeOperatorCommand(id, options, output))
    })
}

/** The service fees that were collected, and how they leave. */
export function addFees(program: Command, output: Output, done: Done): void {
  const fees = program.command('fees').description('have the collected service fees paid out')
  fees
    .command('status')
    .description('what was collected, where it may go, and the payouts of it')
    .option('--json', 'print one JSON object', false)
    .action(async (options: { json: boolean }) => {
      const { feesStatusCommand } = await import('./fees-commands.ts')
      done(await feesStatusCommand(options, output))
    })
  addDestinations(fees, output, done)
  fees
    .command('request')
    .description("ask for all fees of a destination's coin and mode: one payout for each merchant's coins")
    .requiredOption('--destination <id>', 'where to, of the list')
    .option('--merchant <id>', "of this merchant's payments only")
    .requiredOption(KEY_FILE, WHOSE)
    .option('--json', 'print one JSON object', false)
    .action(async (options: { destination: string; merchant?: string; keyFile: string; json: boolean }) => {
      const { requestFeesCommand } = await import('./fees-commands.ts')
      done(await requestFeesCommand(options, output))
    })
  for (const decision of ['approve', 'reject'] as const) {
    fees
      .command(decision)
      .description(
        decision === 'approve'
          ? 'let payouts be signed and sent; not by whoever asked, where there is another operator'
          : 'give up payouts that wait for approval',
      )
      .argument('<ids...>', 'ids of payouts')
      .requiredOption(KEY_FILE, WHOSE)
      .option('--code <digits>', 'to approve live payouts: the 6-digit code of your authenticator app')
      .option('--json', 'print one JSON object', false)
      .action(async (ids: string[], options: { keyFile: string; code?: string; json: boolean }) => {
        const { decideFeesCommand } = await import('./fees-commands.ts')
        done(await decideFeesCommand(decision, ids, options, output))
      })
  }
}

function addDestinations(fees: Command, output: Output, done: Done): void {
  fees
    .command('allow')
    .description('put an address on the list of where fees may go; in live mode it can be used a day later')
    .requiredOption('--mode <mode>', 'test or live')
    .requiredOption('--asset <asset>', 'such as BTC')
    .requiredOption('--address <address>', 'where to')
    .requiredOption('--name <name>', 'what it is')
    .requiredOption(KEY_FILE, WHOSE)
    .option('--json', 'print one JSON object', false)
    .action(async (options: AllowArguments) => {
      const { allowFeesCommand } = await import('./fees-commands.ts')
      done(await allowFeesCommand(options, output))
    })
  fees
    .command('disallow')
    .description('take an address off that list')
    .argument('<id>', 'id of the destination')
    .requiredOption(KEY_FILE, WHOSE)
    .action(async (id: string, options: { keyFile: string }) => {
      const { disallowFeesCommand } = await import('./fees-commands.ts')
      done(await disallowFeesCommand(id, options, output))
    })
}
