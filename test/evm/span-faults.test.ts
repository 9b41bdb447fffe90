import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FoundTransfer } from '../../src/chain/adapter.ts'
import { EvmAdapter } from '../../src/chain/evm/evm-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Anvil, hex, newEvmAddress, startAnvil } from '../support/anvil.ts'
import { bytecodeOf, callData } from '../support/evm-contracts.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'

const ETHER = 10n ** 18n
/** What a sender pays besides gas and data, as OP Stack's operator fee, which no receipt sums up. */
const FEE = 10n ** 13n
/** Of Ethereum: blocks that a reorganisation may take back. */
const DEPTH_MAX = 128

let anvil: Anvil
let payer: string
beforeAll(async () => {
  anvil = await startAnvil()
  payer = await anvil.deploy(await bytecodeOf('BatchPayer'))
})
afterAll(() => anvil.remove())

async function openAdapter(url: string, open: readonly Buffer[]): Promise<EvmAdapter> {
  const adapter = new EvmAdapter({
    chain: 'ethereum',
    livemode: false,
    url,
    setting: 'TEST_ETHEREUM_RPC_URL',
    clock: systemClock,
    nativeMode: 'balances',
    openAddresses: async () => open,
  })
  adapter.watched.add(open)
  await adapter.connect()
  return adapter
}

const payByContract = (to: string, amount: bigint) => {
  const data = callData('pay(address[],uint256[])', [to], [amount])
  return anvil.send({ to: payer, data, value: amount, gas: 300_000 })
}

const amountsOf = (blocks: readonly { readonly transfers: readonly FoundTransfer[] }[] = []) =>
  blocks.map(({ transfers }) => transfers.map(({ amount }) => amount))

test('a fee beyond its receipt hides no smaller payment in another block of the same span', async () => {
  const { address, addressBytes } = newEvmAddress()
  const adapter = await openAdapter(anvil.url, [addressBytes])
  try {
    const start = await adapter.tip()
    await anvil.send({ to: address, value: ETHER })
    await anvil.mine(1)
    const paid = await adapter.nextUpdate(start, 10)
    expect(amountsOf(paid?.blocks)).toEqual([[ETHER]])
    const checkpoint = await adapter.tip()

    await anvil.rpc('anvil_impersonateAccount', [address])
    const sweep = { from: address, to: newEvmAddress().address, value: hex(ETHER / 2n), gas: hex(21_000n) }
    await anvil.rpc('eth_sendTransaction', [sweep])
    await anvil.rpc('anvil_setBalance', [address, hex(ETHER - FEE)])
    await anvil.mine(2)
    await payByContract(address, FEE / 2n)
    await anvil.mine(1)
    const update = await adapter.nextUpdate(checkpoint, 10)
    expect(amountsOf(update?.blocks)).toEqual([[], [], [FEE / 2n]])
  } finally {
    await adapter.close()
  }
})

test('balances that were wrong once are asked for again, and stop nothing', async () => {
  const proxy = await startRpcProxy(anvil.url)
  const { address, addressBytes } = newEvmAddress()
  const adapter = await openAdapter(proxy.url, [addressBytes])
  try {
    const start = await adapter.tip()
    await anvil.mine(1)
    // As it will be after the next block.
    proxy.lie('eth_call', () => `0x${5n.toString(16).padStart(64, '0')}`)
    await adapter.nextUpdate(start, 10)
    proxy.tellTheTruth()
    const checkpoint = await adapter.tip()
    await anvil.send({ to: address, value: 5n })
    await anvil.mine(1)
    await expect(adapter.nextUpdate(checkpoint, 10)).rejects.toThrow(/does not add up/)
    const update = await adapter.nextUpdate(checkpoint, 10)
    expect(amountsOf(update?.blocks)).toEqual([[5n]])
  } finally {
    await adapter.close()
    await proxy.close()
  }
})

test('a fork below where another process read on is found, though blocks between are not remembered', async () => {
  const [first, second] = [await openAdapter(anvil.url, []), await openAdapter(anvil.url, [])]
  try {
    const start = await first.tip()
    await anvil.mine(3)
    const before = await first.nextUpdate(start, 10)
    let checkpoint = before?.tip ?? start
    await anvil.mine(DEPTH_MAX + 20)
    const between = await second.nextUpdate(checkpoint, 1_000)
    checkpoint = between?.tip ?? checkpoint
    await anvil.mine(1)
    const after = await first.nextUpdate(checkpoint, 10)
    checkpoint = after?.tip ?? checkpoint

    await anvil.reorganise(4)
    const update = await first.nextUpdate(checkpoint, 10)
    expect(update?.ancestor.height).toBeLessThanOrEqual(checkpoint.height - 4)
    expect(await first.isOnChain(update?.ancestor ?? checkpoint)).toBe(true)
  } finally {
    await first.close()
    await second.close()
  }
})
