import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { type OpenInvoice, WatchedChain } from '../support/watched-chain.ts'

/** As many payments of the largest word as no column of the books holds the sum of. */
const HUGE = Array.from({ length: 10 }, () => 2n ** 256n - 1n)
const ODD = [...HUGE, 0n, 2n ** 128n]
const GOOD = 30

let watched: WatchedChain<DrivenAnvil>
beforeAll(async () => {
  watched = await WatchedChain.open(evmDriver('USDC_BASE'))
})
afterAll(() => watched.close())

test('amounts that no dollar has keep no other payment in their block from counting', async () => {
  const { chain, driver } = watched
  const watcher = await watched.watchAtTip()
  const good: OpenInvoice[] = []
  for (let count = 0; count < GOOD; count++) good.push(await watched.openInvoice([watcher]))
  const largest = await watched.openInvoice([watcher])
  for (const amount of ODD) {
    const { address } = await watched.openInvoice([watcher])
    await chain.anvil.send(chain.token.mint(address, amount))
  }
  for (const { address } of good) await chain.pay(address, driver.amount)
  await chain.anvil.send(chain.token.mint(largest.address, 2n ** 128n - 1n))
  await chain.mine(6)
  for (const { id } of good) await watched.untilStatus(id, 'paid')
  await watched.untilStatus(largest.id, 'overpaid')
  await watched.untilRead()
  expect(await watched.state()).toMatchObject({ status: 'ok', reason: null })
  expect(await watched.availableBalance()).toBe(BigInt(GOOD) * driver.amount + 2n ** 128n - 1n)
})
