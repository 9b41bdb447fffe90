import { address, getAddressEncoder } from '@solana/kit'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { type DrivenSolana, solanaDriver } from '../support/solana-driver.ts'
import { until } from '../support/until.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** Beyond what an answer may have. */
const LETTERS = 65 * 1024 * 1024

let watched: WatchedChain<DrivenSolana>
let proxy: RpcProxy
beforeAll(async () => {
  watched = await WatchedChain.open(solanaDriver('blocks'))
  proxy = await startRpcProxy(watched.chain.url)
})
afterEach(() => watched.stopWatchers())
afterAll(async () => {
  await proxy.close()
  await watched.close()
})

test('a block that is too long to read keeps no payment in it or above it from counting', async () => {
  const watcher = await watched.watchAtTip({ adapter: watched.chain.adapter(proxy.url) })
  const invoices = [await watched.openInvoice([watcher]), await watched.openInvoice([watcher])]
  const [inIt, above] = invoices
  if (inIt === undefined || above === undefined) throw new Error('no invoices')
  const available = await watched.availableBalance()
  const tip = (await watched.state()).height ?? 0
  proxy.lie('getBlock', (told, { params: [slot, config] }) => {
    const { transactionDetails } = config as { transactionDetails?: string }
    const isLong = slot === tip + 1 && transactionDetails === 'accounts'
    return isLong ? { ...(told as object), rest: 'x'.repeat(LETTERS) } : told
  })
  await watched.chain.pay(inIt.address, watched.driver.amount)
  await watched.chain.mine(1)
  await watched.untilStatus(inIt.id, 'confirming')
  await until(async () => /too much to read.*paylink rescan/.test((await watched.state()).reason ?? ''), {
    what: 'the network says what was passed over',
  })
  await watched.chain.pay(above.address, watched.driver.amount)
  await watched.chain.mine(40)
  for (const { id } of invoices) await watched.untilStatus(id, 'paid')
  expect((await watched.state()).status).toBe('ok')
  expect(await watched.availableBalance()).toBe(available + 2n * watched.driver.amount)
  // As `paylink rescan` reads it, which has no chain to keep up with.
  const patient = watched.chain.adapter(proxy.url, true)
  try {
    patient.watched.add([Buffer.from(getAddressEncoder().encode(address(inIt.address)))])
    const [block] = await patient.readFrom(tip + 1, 1)
    expect(block?.transfers.map(({ amount }) => amount)).toEqual([watched.driver.amount])
  } finally {
    await patient.close()
  }
})
