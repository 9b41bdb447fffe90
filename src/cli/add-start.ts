import type { Command } from 'commander'
import { ROLE_NAMES } from '../roles/role.ts'
import type { Output } from './command-context.ts'
import { argumentOf } from './completion.ts'

export function addStart(program: Command, output: Output, done: (exitCode: number) => void): void {
  program
    .command('start')
    .description('run one or several roles; without a role, all of them')
    .addArgument(argumentOf('[roles...]', 'which', [...ROLE_NAMES, 'all']))
    .option(
      '--until-stdin-ends',
      'stop when standard input ends: for a process that lives no longer than its parent',
    )
    .action(async (roles: string[], options: { untilStdinEnds?: boolean }) => {
      const { startCommand } = await import('./start.ts')
      done(await startCommand(roles, { untilStdinEnds: options.untilStdinEnds ?? false }, output))
    })
}
