import { address, getAddressEncoder } from '@solana/kit'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { type DrivenSolana, pageOfFailed, solanaDriver } from '../support/solana-driver.ts'
import { until } from '../support/until.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** Beyond what an answer may have. */
const LETTERS = 65 * 1024 * 1024
/** In place of a minute. */
const BLOCKS_MS = 2_000

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
  // More than the one block that it gets at first: it must be seen while it confirms.
  const inIt = await watched.openInvoice([watcher], watched.needs(3))
  const above = await watched.openInvoice([watcher])
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
  for (const { id } of [inIt, above]) await watched.untilStatus(id, 'paid')
  expect((await watched.state()).status).toBe('ok')
  expect(await watched.availableBalance()).toBe(available + 2n * watched.driver.amount)
  // As `paylink rescan` reads it, which has no chain to keep up with.
  const patient = watched.chain.adapter(proxy.url, { isPatient: true })
  try {
    patient.watched.add([Buffer.from(getAddressEncoder().encode(address(inIt.address)))])
    const [block] = await patient.readFrom(tip + 1, 1)
    expect(block?.transfers.map(({ amount }) => amount)).toEqual([watched.driver.amount])
  } finally {
    await patient.close()
  }
})

test('a long block and an open address that thousands name keep no other payment from counting', async () => {
  const recipe = solanaDriver('accounts')
  const accounts = await WatchedChain.open(recipe)
  const node = await startRpcProxy(accounts.chain.url)
  try {
    const adapter = accounts.chain.adapter(node.url, { blocksMs: BLOCKS_MS })
    const watcher = await accounts.watchAtTip({ adapter })
    const [named, other] = [await accounts.openInvoice([watcher]), await accounts.openInvoice([watcher])]
    const tip = (await accounts.state()).height ?? 0
    node.lie('getSignaturesForAddress', (told, { params }) =>
      params[0] === named.address ? pageOfFailed() : told,
    )
    node.lie('getBlock', (told, { params: [slot, config] }) => {
      const { transactionDetails } = config as { transactionDetails?: string }
      const isLong = slot === tip + 1 && transactionDetails === 'accounts'
      return isLong ? { ...(told as object), rest: 'x'.repeat(LETTERS) } : told
    })
    await accounts.chain.pay(named.address, accounts.driver.amount)
    await accounts.chain.pay(other.address, accounts.driver.amount)
    await accounts.chain.mine(40)
    await accounts.untilStatus(other.id, 'paid')
    expect((await accounts.state()).status).toBe('ok')
    // Its turn comes, however long its list is, with the blocks that can be read.
    node.tellTheTruth()
    await accounts.chain.mine(40)
    await accounts.untilStatus(named.id, 'paid')
  } finally {
    await accounts.stopWatchers()
    await node.close()
    await accounts.close()
  }
})
