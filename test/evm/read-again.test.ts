import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { bytecodeOf, callData } from '../support/evm-contracts.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { until } from '../support/until.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** A block that is read twice, since its checkpoint was not saved, by a node that errs in one of both readings. */

const DIRECT = 3n * 10n ** 15n
const BY_CONTRACT = 7n * 10n ** 15n

let watched: WatchedChain<DrivenAnvil>
let proxy: RpcProxy
let batch: string
beforeAll(async () => {
  watched = await WatchedChain.open(evmDriver('ETH', { nativeMode: 'balances' }))
  batch = await watched.chain.anvil.deploy(await bytecodeOf('BatchPayer'))
  proxy = await startRpcProxy(watched.chain.url)
})
afterEach(async () => {
  await watched.stopWatchers()
  proxy.tellTheTruth()
})
afterAll(async () => {
  await proxy.close()
  await watched.close()
})

/** Receipts say from now on that every transaction failed: what they paid shows in balances alone. */
const lie = () =>
  proxy.lie('eth_getBlockReceipts', (told) => (told as object[]).map((each) => ({ ...each, status: '0x0' })))

test.each([
  ['first', lie, () => proxy.tellTheTruth()],
  ['second', () => {}, lie],
] as const)('all that a block brought is booked where the %s reading was wrong', async (_, first, second) => {
  const watcher = await watched.watchAtTip({ adapter: watched.chain.adapter(proxy.url) })
  const invoice = await watched.openInvoice([watcher])
  const before = await watched.availableBalance()
  const { anvil } = watched.chain
  const mend = await watched.breakCheckpoints()
  first()
  await anvil.send({ to: invoice.address, value: DIRECT })
  const data = callData('pay(address[],uint256[])', [invoice.address], [BY_CONTRACT])
  await anvil.send({ to: batch, value: BY_CONTRACT, data, gas: 200_000 })
  await watched.chain.mine(1)
  await watched.untilStatus(invoice.id, 'confirming')
  await watched.stopWatchers()
  second()
  await mend()
  await watched.watchAtTip({ adapter: watched.chain.adapter(proxy.url) })
  proxy.tellTheTruth()
  await watched.chain.mine(3)
  await until(async () => (await watched.availableBalance()) - before === DIRECT + BY_CONTRACT, {
    what: 'all of it is booked',
  })
  expect(await watched.statusOf(invoice.id)).toBe('paid')
  expect(await findings()).toEqual([])
})

async function findings(): Promise<string[]> {
  const { driver, chain, database } = watched
  const place = { network: driver.network, chain: 'ethereum', livemode: false, sandbox: null } as const
  const urls = { rpcUrl: chain.url, rpcSetting: 'TEST_ETHEREUM_RPC_URL', furtherUrls: [], zmqUrl: null }
  const results = await runAudit(database.owner, [{ ...place, ...urls, tokenContracts: {} }])
  return results.flatMap(({ name, findings }) =>
    findings.map(({ subject, detail }) => `${name}: ${subject} ${detail}`),
  )
}
