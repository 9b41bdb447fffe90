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
  addDirectory(cells, output, done)
}

/** The directory of cells, which says where somebody signs in. */
function addDirectory(cells: Command, output: Output, done: (exitCode: number) => void): void {
  cells
    .command('list')
    .description('list the cells of the directory: state, merchants, room, age of the last report')
    .option('--json', 'print one JSON object', false)
    .action(async (options: { json: boolean }) => {
      const { listCellsCommand } = await import('./cells-commands.ts')
      done(await listCellsCommand(options, output))
    })
  cells
    .command('add')
    .description('register a cell, or open it again, and print the login that it has in the directory, once')
    .argument('<number>', 'its CELL')
    .requiredOption('--room <merchants>', 'how many merchants it takes')
    .option('--json', 'print one JSON object', false)
    .action(async (number: string, options: { room: string; json: boolean }) => {
      const { addCellCommand } = await import('./cells-commands.ts')
      done(await addCellCommand(number, options, output))
    })
  cells
    .command('drain')
    .description('give a cell no new accounts from now on')
    .argument('<number>', 'its CELL')
    .option('--json', 'print one JSON object', false)
    .action(async (number: string, options: { json: boolean }) => {
      const { drainCellCommand } = await import('./cells-commands.ts')
      done(await drainCellCommand(number, options, output))
    })
  cells
    .command('map')
    .description("print a cell's lines of deploy/haproxy/cells.map")
    .argument('<number>', 'its CELL')
    .action(async (number: string) => {
      const { mapCellCommand } = await import('./cells-commands.ts')
      done(mapCellCommand(number, output))
    })
}
