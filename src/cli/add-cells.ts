import type { Command } from 'commander'
import type { Output } from './command-context.ts'

/** Several installations behind one address. */
export function addCells(program: Command, output: Output, done: (exitCode: number) => void): void {
  const cells = program.command('cells').description('manage several installations behind one address')
  cells
    .command('each')
    .description('run a command for every cell, one after the other; exit code: the worst of theirs')
    .argument('<command...>', 'after --, such as: -- fees status')
    .option('--env-files <folder>', 'settings of each cell: 00.env, 03.env, …', 'cells')
    .option('--json', 'print one JSON object', false)
    .action(async (command: string[], options: { envFiles: string; json: boolean }) => {
      const { eachCellCommand } = await import('./each-cell.ts')
      done(await eachCellCommand(command, options, output))
    })
}
