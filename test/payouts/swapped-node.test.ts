import { afterEach, expect, test } from 'vitest'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { type Anvil, hex, newEvmAddress, startAnvil } from '../support/anvil.ts'
import { EvmPayoutWorld, tokenCode } from '../support/evm-payout-world.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'

const ETHER = 10n ** 18n

let world: EvmPayoutWorld
/** The only provider. */
let proxy: RpcProxy
/** Another chain, where the same hot wallet has paid, too: Ethereum and Base share its address. */
let other: Anvil
afterEach(async () => {
  await proxy?.close()
  await other?.remove()
  await world?.close()
})

async function open(): Promise<void> {
  world = await EvmPayoutWorld.open('ethereum')
  proxy = await startRpcProxy(world.anvil.url)
  other = await startAnvil({ chainId: 31_339 })
  // At the same address, so that nothing but its blocks tells the chain.
  expect(await other.deploy(tokenCode(newEvmAddress().address))).toBe(world.token)
  const from = encodeEvmAddress(world.hot)
  await other.rpc('anvil_setBalance', [from, hex(100n * ETHER)])
  await other.rpc('anvil_impersonateAccount', [from])
  for (let nonce = 0; nonce < 5; nonce++) {
    await other.rpc('eth_sendTransaction', [{ from, to: newEvmAddress().address, value: hex(ETHER) }])
    await other.mine(1)
  }
  await other.mine(5)
}

test('a node that is swapped for one of another chain ends no payout, so that none is paid twice', async () => {
  await open()
  const chain = world.carrierAt(proxy.url)
  const tracker = world.trackerOf([{ name: 'the node', chain }])
  const tenant = await world.openShop('ETH', [2n * ETHER])
  const payout = await world.payout(tenant, 'ETH', '1')
  const turn = async () => {
    world.now = new Date(world.now.getTime() + 61_000)
    await tracker.pass().catch((error: Error) => world.logged.push(error.message))
    await world.sign()
  }
  for (let at = 0; at < 6 && (await world.load(tenant, payout.id)).status !== 'submitted'; at++) {
    await turn()
    await tracker.pass()
    if ((await world.load(tenant, payout.id)).status !== 'submitted') await world.anvil.mine(1)
  }
  expect((await world.load(tenant, payout.id)).status).toBe('submitted')
  proxy.forwardTo(other.url)
  for (let at = 0; at < 4; at++) await turn()
  expect(await world.load(tenant, payout.id)).toMatchObject({ status: 'submitted' })
  proxy.forwardTo(world.anvil.url)
  await world.anvil.mine(3)
  for (let at = 0; at < 2; at++) await turn()
  expect(await world.load(tenant, payout.id)).toMatchObject({ status: 'confirmed' })
  await chain.close()
})
