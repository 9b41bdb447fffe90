import type { Command } from 'commander'
import type { Output } from './command-context.ts'
import type { BrandArguments } from './merchant-commands.ts'
import type { MoveArguments } from './move-merchant.ts'

export function addMerchant(program: Command, output: Output, done: (exitCode: number) => void): void {
  const merchant = program.command('merchant').description('manage merchants')
  merchant
    .command('create')
    .description('make a merchant')
    .requiredOption('--name <name>', 'name that buyers see')
    .requiredOption('--email <email>', "the owner's email address")
    .option('--json', 'print one JSON object', false)
    .action(async (options: { name: string; email: string; json: boolean }) => {
      const { createMerchantCommand } = await import('./merchant-commands.ts')
      done(await createMerchantCommand(options, output))
    })
  merchant
    .command('brand')
    .description('set the look of the pages that buyers see, and who sells')
    .requiredOption('--merchant <id>', 'id of the merchant')
    .option('--name <name>', 'name in place of the merchant’s own')
    .option('--colour <colour>', 'such as #2b50d8; it is darkened or lightened until it can be read')
    .option('--logo <file>', 'a PNG, JPEG or WebP picture of at most 256 KB')
    .option('--legal-name <name>', 'who sells, for receipts')
    .option('--postal-address <line...>', 'of the seller; at most five lines, each an argument of its own')
    .option('--tax-number <number>', 'of the seller, with the tax office or the register of companies')
    .option('--reset', 'forget all of it first', false)
    .action(async (options: BrandArguments) => {
      const { brandMerchantCommand } = await import('./merchant-commands.ts')
      done(await brandMerchantCommand(options, output))
    })
  merchant
    .command('move')
    .description("move a merchant's new sales to another cell, and print what the proxy has to know")
    .argument('<id>', 'id of the merchant')
    .requiredOption('--to-env <file>', 'settings of the other cell')
    .option('--abort', 'undo a move that has not switched yet', false)
    .option('--json', 'print one JSON object', false)
    .action(async (id: string, options: MoveArguments) => {
      const { moveMerchantCommand } = await import('./move-merchant.ts')
      done(await moveMerchantCommand(id, options, output))
    })
}
