import { randomBytes } from 'node:crypto'
import { address, getAddressEncoder } from '@solana/kit'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { SolanaAdapter } from '../../src/chain/solana/solana-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type DrivenSolana, solanaDriver } from '../support/solana-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** Blocks on top of what was paid, all above the fork. */
const BLOCKS_ABOVE = 6
/** More than are looked at in one round. */
const STRANGERS = 150

let watched: WatchedChain<DrivenSolana>
beforeAll(async () => {
  watched = await WatchedChain.open(solanaDriver('accounts'))
})
afterEach(() => watched.stopWatchers())
afterAll(() => watched.close())

test('a fork that nobody remembers takes nothing back from checkouts that are closed by then', async () => {
  let open: readonly Uint8Array[] = []
  const openAdapter = () => {
    const adapter = new SolanaAdapter({
      ...(watched.chain.recipe.options as ConstructorParameters<typeof SolanaAdapter>[0]),
      clock: systemClock,
      openAddresses: async () => open,
    })
    adapter.watched.add(Array.from({ length: STRANGERS }, () => randomBytes(32)))
    return adapter
  }
  const watcher = await watched.watchAtTip({ adapter: openAdapter() })
  const invoice = await watched.openInvoice([watcher])
  open = [Buffer.from(getAddressEncoder().encode(address(invoice.address)))]
  await watched.chain.pay(invoice.address, watched.driver.amount)
  await watched.chain.mine(BLOCKS_ABOVE)
  await watched.untilStatus(invoice.id, 'paid')
  const events = await watched.eventsOf(invoice.id)
  await watched.untilRead()
  await watched.stopWatchers()
  open = []
  await watched.chain.reorganise(2)
  await watched.watchAtTip({ adapter: openAdapter() })
  await watched.untilRead()
  expect(await watched.paymentsOf(invoice.id)).toEqual(['confirmed'])
  expect(await watched.eventsOf(invoice.id)).toEqual(events)
})
