import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hex, newEvmAddress } from '../support/anvil.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { until } from '../support/until.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** What is credited where the node is, or seems to be, on another branch than the one that was read. */

const USDC = 10_000_000n

let watched: WatchedChain<DrivenAnvil>
let proxy: RpcProxy
beforeEach(async () => {
  watched = await WatchedChain.open(evmDriver('ETH'))
  proxy = await startRpcProxy(watched.chain.url)
})
afterEach(async () => {
  await watched.close()
  await proxy.close()
})

const watchThroughProxy = () => watched.watchAtTip({ adapter: watched.chain.adapter(proxy.url) })
const openUsdc = (watcher: Awaited<ReturnType<typeof watchThroughProxy>>, confirmations: number) =>
  watched.openInvoice([watcher], {
    asset: 'USDC_ETHEREUM',
    amount: USDC,
    confirmations: { USDC_ETHEREUM: confirmations },
  })

test('a payment on a chain that was left deeper than any reorganisation is never paid', async () => {
  const { anvil } = watched.chain
  await anvil.mine(3)
  const invoice = await watched.openInvoice([await watched.watchAtTip()], watched.needs(200))
  const before = await anvil.rpc<string>('evm_snapshot')
  const txid = await watched.chain.pay(invoice.address, watched.driver.amount)
  await anvil.mine(150)
  await watched.untilRead()
  await watched.untilStatus(invoice.id, 'confirming')
  await watched.stopWatchers()
  // Without the process that remembers how it came here, and on a node that forgets what it left.
  await anvil.rpc('evm_revert', [before])
  await anvil.rpc('anvil_setCoinbase', [newEvmAddress().address])
  await anvil.mine(260)
  expect(await anvil.rpc('eth_getTransactionByHash', [txid])).toBeNull()
  watched.watch()
  await until(async () => (await watched.state()).status === 'halted', { what: 'the network halts' })
  expect(await watched.statusOf(invoice.id)).toBe('confirming')
  expect((await watched.state()).reason).toContain('find out which chain is right')
})

/** A node behind the endpoint says that it has another block at this height, until the truth is told. Counts how often. */
function onAnotherFork(height: number) {
  const other = `0x${randomBytes(32).toString('hex')}`
  const fork = { other, times: 0 }
  proxy.lie('eth_getBlockByNumber', (result, { params }) => {
    if (params[0] !== hex(BigInt(height)) || result === null) return result
    fork.times += 1
    return { ...(result as object), hash: other, logsBloom: `0x${'0'.repeat(512)}`, transactions: [] }
  })
  return fork
}
const secondHash = async (): Promise<string> =>
  (await watched.database.owner.query('select second_hash from network_state')).rows[0].second_hash

test('a second reading that once stood on another fork comes back, and tokens are paid', async () => {
  const { anvil, token } = watched.chain
  await anvil.mine(60)
  const watcher = await watchThroughProxy()
  const invoice = await openUsdc(watcher, 1)
  // As a release without the check left it.
  await watched.database.owner.query(`update network_state set second_hash = $1, second_height = height`, [
    `0x${randomBytes(32).toString('hex')}`,
  ])
  await anvil.send(token.mint(invoice.address, USDC))
  await anvil.mine(2)
  await watched.untilStatus(invoice.id, 'paid')
})

test('one glimpse of another fork moves no reading, takes no payment back and accuses nobody', async () => {
  const { anvil, token } = watched.chain
  await anvil.mine(3)
  const watcher = await watchThroughProxy()
  const usdc = await openUsdc(watcher, 2)
  await watched.untilRead()
  await anvil.send(token.mint(usdc.address, USDC))
  await anvil.mine(1)
  await watched.untilStatus(usdc.id, 'confirming')
  await watched.untilRead()
  // One that has not read these blocks itself asks for their headers once more.
  await watched.stopWatchers()
  await watchThroughProxy()
  const fork = onAnotherFork(await anvil.height())
  await anvil.mine(1)
  await until(async () => fork.times > 0, { what: 'the other node has answered' })
  proxy.tellTheTruth()
  await anvil.mine(1)
  await watched.untilStatus(usdc.id, 'paid')
  expect(await watched.eventsOf(usdc.id)).toEqual(['payment_detected', 'confirming', 'paid'])
  expect((await watched.state()).status).toBe('ok')
  expect(await secondHash()).not.toBe(fork.other)
})

test('a transaction in a block above those that were read is not dead: the next step finds it', async () => {
  const { anvil } = watched.chain
  await anvil.mine(1)
  const adapter = watched.chain.adapter()
  await adapter.connect()
  const { address } = await watched.chain.newAddress()
  const checkpoint = await adapter.tip()
  await anvil.mine(1)
  await adapter.nextUpdate(checkpoint, 10)
  const txid = await watched.chain.pay(address, watched.driver.amount)
  expect(await adapter.outcomesOf([txid])).toEqual(new Map([[txid, 'alive']]))
  await anvil.mine(1)
  expect(await adapter.outcomesOf([txid])).toBeNull()
  await adapter.nextUpdate(checkpoint, 10)
  expect(await adapter.outcomesOf([txid])).toEqual(new Map([[txid, 'dead']]))
  await adapter.close()
})

test('a transaction in a block in the place of one that was read is not dead: the chain has moved', async () => {
  const { anvil } = watched.chain
  await anvil.mine(1)
  const adapter = watched.chain.adapter()
  await adapter.connect()
  const { address } = await watched.chain.newAddress()
  const checkpoint = await adapter.tip()
  const before = await anvil.rpc<string>('evm_snapshot')
  await anvil.mine(1)
  const read = await adapter.nextUpdate(checkpoint, 10)
  await anvil.rpc('evm_revert', [before])
  const txid = await watched.chain.pay(address, watched.driver.amount)
  await anvil.mine(1)
  expect(await adapter.tip()).toMatchObject({ height: read?.tip.height })
  expect(await adapter.outcomesOf([txid])).toBeNull()
  await adapter.close()
})
