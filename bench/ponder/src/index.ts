import { readFileSync } from 'node:fs'
import { ponder } from 'ponder:registry'
import { payment } from 'ponder:schema'

type Address = `0x${string}`

const watched = new Set(readFileSync(process.env.ADDRESSES_FILE ?? '', 'utf8').split('\n'))

/** One row for each transfer to an address of ours: no invoice, no ledger, no events. */
ponder.on('Usdc:Transfer', async ({ event, context }) => {
  const address = event.args.to.toLowerCase() as Address
  if (!watched.has(address)) return
  await context.db
    .insert(payment)
    .values({ id: event.id, address, amount: event.args.value, block: event.block.number })
})

if (process.env.COIN === '1')
  ponder.on('Shop:transfer:to', async ({ event, context }) => {
    const { to, value } = event.transfer
    await context.db.insert(payment).values({
      id: event.id,
      address: to.toLowerCase() as Address,
      amount: value,
      block: event.block.number,
    })
  })
