import type { Command } from 'commander'
import { INVOICE_EVENT_TYPES } from '../core/invoice/types.ts'
import type { Output } from './command-context.ts'
import { argumentOf } from './completion.ts'

/** What helps to write a receiver of webhooks. */
export function addListen(program: Command, output: Output, done: (exitCode: number) => void): void {
  program
    .command('listen')
    .description('forward test events to a receiver on your machine, signed, with no endpoint to configure')
    .requiredOption('--forward-to <url>', 'where to send them, such as http://localhost:4000/webhooks')
    .option('--merchant <id>', "whose events; the sandbox's demo shop unless given")
    .action(async (options: { forwardTo: string; merchant?: string }) => {
      const { listenCommand } = await import('./listen.ts')
      done(await listenCommand(options, output))
    })
  program
    .command('trigger')
    .description("have an event happen in the sandbox's demo shop, such as invoice.paid")
    .addArgument(argumentOf('<event>', 'type of an invoice event', INVOICE_EVENT_TYPES))
    .option('--asset <coin>', 'coin of the invoice', 'LTC')
    .action(async (eventType: string, options: { asset: string }) => {
      const { triggerCommand } = await import('./trigger.ts')
      done(await triggerCommand(eventType, options, output))
    })
}
