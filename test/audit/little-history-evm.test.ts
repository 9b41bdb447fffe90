import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import type { ChainNode } from '../../src/nodes/chain-nodes.ts'
import { EvmPayoutWorld } from '../support/evm-payout-world.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'

const ETHER = 10n ** 18n

let world: EvmPayoutWorld
let proxy: RpcProxy
let swept: string
beforeAll(async () => {
  world = await EvmPayoutWorld.open('base')
  await world.fuelHotWallet()
  const shop = await world.openShop('ETH_BASE', [4n * ETHER])
  const payout = await world.payout(shop, 'ETH_BASE', '0.1')
  await world.until(shop, payout.id, 'confirmed')
  const { rows } = await world.database.owner.query<{ txid: string }>(
    `select txid from sweep where status = 'done'`,
  )
  swept = rows[0]?.txid ?? ''
  proxy = await startRpcProxy(world.anvil.url)
})
afterEach(() => proxy.tellTheTruth())
afterAll(async () => {
  await proxy?.close()
  await world?.close()
})

async function audited() {
  const node: ChainNode = {
    network: world.network,
    chain: 'base',
    livemode: false,
    rpcUrl: proxy.url,
    furtherUrls: [],
    rpcSetting: 'TEST_BASE_RPC_URL',
    zmqUrl: null,
    tokenContracts: { USDC: world.token },
    sandbox: null,
  }
  const results = await runAudit(world.database.owner, [node])
  return results.find(({ name }) => name === 'outcomes_base-test')
}

test('a sweep from before the transactions that an EVM node still finds is not checked, and no finding', async () => {
  expect(await audited()).toMatchObject({ findings: [], notChecked: null })
  // As geth says of what lies below its index.
  proxy.lie('eth_getTransactionReceipt', () => null)
  expect(await audited()).toMatchObject({
    findings: [],
    notChecked: expect.stringMatching(/no longer finds transactions as old as .*: 1 of that age/),
  })
})

test('a sweep that is not on the chain is found where the node finds others of its time', async () => {
  proxy.lie('eth_getTransactionReceipt', (receipt, { params }) => (params[0] === swept ? null : receipt))
  expect(await audited()).toMatchObject({ findings: [{}], notChecked: null })
})

test('a failed payout from before what an EVM node still finds is not passed over', async () => {
  const shop = await world.openShop('ETH_BASE', [4n * ETHER])
  const { id } = await world.payout(shop, 'ETH_BASE', '0.1')
  await world.until(shop, id, 'confirmed')
  await world.database.owner.query(
    `begin; set local session_replication_role = replica;
     update payout set status = 'failed', failure_code = 'reverted', failed_at = now(), confirmed_at = null where id = '${id}';
     commit`,
  )
  expect(await audited()).toMatchObject({ findings: [{ subject: id }], notChecked: null })
  proxy.lie('eth_getTransactionReceipt', () => null)
  expect(await audited()).toMatchObject({
    findings: [],
    notChecked: expect.stringMatching(/no longer finds transactions as old as .*: 3 of that age/),
  })
})
