import { afterAll, beforeAll, expect, test } from 'vitest'
import { hex, newEvmAddress } from '../support/anvil.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

const ETHER = 10n ** 18n
/** What a sender pays besides gas and data, as OP Stack's operator fee, which no receipt sums up. */
const FEE = 10n ** 13n

let watched: WatchedChain<DrivenAnvil>
beforeAll(async () => {
  watched = await WatchedChain.open(evmDriver('ETH_BASE', { nativeMode: 'balances' }))
})
afterAll(() => watched.close())

test('a sweep that pays a fee beyond its receipt, from an open checkout, stops no network', async () => {
  const { anvil } = watched.chain
  const watcher = await watched.watchAtTip()
  const swept = await watched.openInvoice([watcher])
  const other = await watched.openInvoice([watcher])
  await watched.chain.pay(swept.address, ETHER)
  await watched.chain.mine(1)
  await watched.untilRead()

  await anvil.rpc('anvil_impersonateAccount', [swept.address])
  const sweep = {
    from: swept.address,
    to: newEvmAddress().address,
    value: hex(ETHER / 2n),
    gas: hex(21_000n),
  }
  await anvil.rpc('eth_sendTransaction', [sweep])
  await anvil.rpc('anvil_setBalance', [swept.address, hex(ETHER - FEE)])
  await watched.chain.pay(other.address, watched.driver.amount)
  await watched.chain.mine(3)

  await watched.untilStatus(other.id, 'paid')
  expect(await watched.state()).toMatchObject({ status: 'ok' })
  await watched.stopWatchers()
})
