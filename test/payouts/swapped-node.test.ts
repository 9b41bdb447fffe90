import { afterEach, expect, test } from 'vitest'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { SolanaRpc } from '../../src/chain/solana/solana-rpc.ts'
import { RpcClient } from '../../src/chain/utxo/rpc-client.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import type { PayoutTracker } from '../../src/payouts/broadcast/payout-tracker.ts'
import { UtxoPayoutClient } from '../../src/payouts/broadcast/utxo/utxo-payout-client.ts'
import { type Anvil, hex, newEvmAddress, startAnvil } from '../support/anvil.ts'
import { EvmPayoutWorld, tokenCode } from '../support/evm-payout-world.ts'
import { startNode } from '../support/litecoind.ts'
import { moneyOf } from '../support/node-money.ts'
import type { PayoutSteps } from '../support/payout-steps.ts'
import { PayoutWorld } from '../support/payout-world.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { SolanaPayoutWorld } from '../support/solana-payout-world.ts'

const ETHER = 10n ** 18n
const COIN = 100_000_000n
const SOL = 10n ** 9n
/** More than the first chain has. */
const BLOCKS_AHEAD = 20
const LOOKS = 6

let world: EvmPayoutWorld
/** The only provider. */
let proxy: RpcProxy
/** Another chain, where the same hot wallet has paid, too: Ethereum and Base share its address. */
let other: Anvil
const opened: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

async function proxyOf(url: string): Promise<RpcProxy> {
  const made = await startRpcProxy(url)
  opened.push(() => made.close())
  return made
}

async function open(): Promise<void> {
  world = await EvmPayoutWorld.open('ethereum')
  opened.push(() => world.close())
  other = await startAnvil({ chainId: 31_339 })
  opened.push(() => other.remove())
  proxy = await proxyOf(world.anvil.url)
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
  const chain = world.clientAt(proxy.url)
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

test('no payout is signed with the nonce that the hot wallet has on another chain', async () => {
  await open()
  const chain = world.clientAt(proxy.url)
  opened.push(() => chain.close())
  const tracker = world.trackerOf([{ name: 'the node', chain }])
  const tenant = await world.openShop('ETH', [3n * ETHER])
  const turns = async (payout: Payout) => {
    for (let at = 0; at < LOOKS && (await world.load(tenant, payout.id)).status !== 'confirmed'; at++) {
      await lookLater(world, tracker)
      await tracker.pass().catch((error: Error) => world.logged.push(error.message))
      await world.anvil.mine(1)
    }
  }
  const first = await world.payout(tenant, 'ETH', '1')
  await turns(first)
  expect(await world.load(tenant, first.id)).toMatchObject({ status: 'confirmed' })
  await world.watch()
  const second = await world.payout(tenant, 'ETH', '1')
  // Just now it was on our chain.
  await tracker.pass()
  proxy.forwardTo(other.url)
  for (let at = 0; at < 3; at++) {
    world.now = new Date(world.now.getTime() + 5_000)
    await tracker.pass().catch((error: Error) => world.logged.push(error.message))
    await world.sign()
  }
  proxy.forwardTo(world.anvil.url)
  await turns(second)
  expect(await world.load(tenant, second.id)).toMatchObject({ status: 'confirmed' })
})

test('no sweep gets the nonce that its address has on another chain', async () => {
  await open()
  const chain = world.clientAt(proxy.url)
  opened.push(() => chain.close())
  const swept = newEvmAddress()
  await other.rpc('anvil_setNonce', [swept.address, hex(3n)])
  expect(await chain.accountOf(world.hot)).toMatchObject({ chainId: 31_337 })
  expect(await chain.nonceOf(swept.addressBytes, 'latest')).toBe(0)
  proxy.forwardTo(other.url)
  await expect(chain.nonceOf(swept.addressBytes, 'latest')).rejects.toThrow(/is on chain 31339/)
})

test('nor does a bitcoind in the place of a litecoind', { tags: ['bitcoind', 'litecoind'] }, async () => {
  const [litecoin, bitcoin] = await Promise.all([startNode('litecoin'), startNode('bitcoin')])
  opened.push(() => litecoin.remove())
  opened.push(() => bitcoin.remove())
  await bitcoin.mine(BLOCKS_AHEAD)
  const coins = await PayoutWorld.open(moneyOf(litecoin, 'litecoin'))
  opened.push(() => coins.close())
  proxy = await proxyOf(litecoin.rpcUrl)
  const rpc = new RpcClient(proxy.url, 'the test')
  opened.push(() => rpc.close())
  const tenant = await coins.openShop([COIN])
  const payout = await coins.payout(tenant, '0.5')
  await coins.sign()
  const tracker = coins.trackerOf([{ name: 'the node', chain: new UtxoPayoutClient(rpc, 'test') }])
  await tracker.pass()
  expect(await coins.load(tenant, payout.id)).toMatchObject({ status: 'submitted' })
  proxy.forwardTo(bitcoin.rpcUrl)
  for (let look = 0; look < LOOKS; look++) {
    await lookLater(coins, tracker)
    await bitcoin.mine(3)
  }
  expect(coins.logged.join('')).toContain('where the watcher stands')
  expect(await coins.load(tenant, payout.id)).toMatchObject({ status: 'submitted' })
  proxy.forwardTo(litecoin.rpcUrl)
  await litecoin.mine(1)
  await lookLater(coins, tracker)
  await lookLater(coins, tracker)
  expect(await coins.load(tenant, payout.id)).toMatchObject({ status: 'confirmed' })
  expect(await coins.paidTo(payout.destination)).toHaveLength(1)
})

test('nor does a node of another Solana cluster', async () => {
  const [sol, elsewhere] = await Promise.all([SolanaPayoutWorld.open(), SolanaPayoutWorld.open()])
  opened.push(() => sol.close())
  opened.push(() => elsewhere.close())
  await elsewhere.solana.mine(BLOCKS_AHEAD * 3)
  await sol.fund()
  proxy = await proxyOf(sol.solana.url)
  const rpc = new SolanaRpc(proxy.url, 'the test')
  opened.push(() => rpc.close())
  const tenant = await sol.openShop([SOL])
  const payout = await sol.payout(tenant, '0.5')
  const tracker = sol.tracker(sol.broadcaster(rpc))
  while ((await sol.signedOf(payout.id)).length === 0) await sol.turn(tracker)
  proxy.forwardTo(elsewhere.solana.url)
  for (let look = 0; look < LOOKS; look++) {
    await lookLater(sol, tracker)
    await elsewhere.solana.mine(3)
  }
  expect(sol.logged.join('')).toContain('where the watcher stands')
  expect(await sol.load(tenant, payout.id)).toMatchObject({ failureCode: null, failedAtMs: null })
  proxy.forwardTo(sol.solana.url)
  await lookLater(sol, tracker)
  const { amount, networkFee } = await sol.until(tenant, payout.id, 'confirmed')
  expect(await sol.holds(payout.destination)).toBe(amount - networkFee)
})

/** The signer and the payout tracker look again, once a failed provider's pause is over. */
async function lookLater(on: PayoutSteps, tracker: PayoutTracker): Promise<void> {
  on.now = new Date(on.now.getTime() + 31_000)
  await tracker.pass().catch((error: Error) => on.logged.push(error.message))
  await on.sign()
}
