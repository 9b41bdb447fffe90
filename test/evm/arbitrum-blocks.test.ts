import { afterAll, beforeAll, expect, test } from 'vitest'
import { EvmAdapter } from '../../src/chain/evm/evm-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Anvil, newEvmAddress, startAnvil } from '../support/anvil.ts'
import { bytecodeOf, callData, deployTestToken, type TestToken } from '../support/evm-contracts.ts'
import { type NitroNode, startNitroNode } from '../support/nitro-node.ts'

const ETHER = 10n ** 18n
const USDC = 1_000_000n

let anvil: Anvil
let token: TestToken
let node: NitroNode
beforeAll(async () => {
  anvil = await startAnvil()
  token = await deployTestToken(anvil)
  node = await startNitroNode(anvil)
})
afterAll(async () => {
  await node?.close()
  await anvil?.remove()
})

/** A watcher of one address, which an open checkout shows, from the newest block on. */
async function follow(nativeMode: 'traces' | 'balances') {
  const { address, addressBytes } = newEvmAddress()
  const adapter = new EvmAdapter({
    chain: 'arbitrum',
    livemode: false,
    url: node.url,
    setting: 'TEST_ARBITRUM_RPC_URL',
    clock: systemClock,
    tokenContracts: { USDC: token.contract },
    openAddresses: async () => [addressBytes],
    nativeMode,
  })
  adapter.watched.add([addressBytes])
  await adapter.connect()
  let checkpoint = await adapter.tip()
  /** What came since it was last asked. */
  const found = async () => {
    const transfers = []
    for (;;) {
      const update = await adapter.nextUpdate(checkpoint, 10)
      if (update === null || update.blocks.length === 0) return transfers
      for (const { transfers: those, block } of update.blocks) {
        transfers.push(...those)
        checkpoint = block
      }
    }
  }
  return { address, adapter, found, close: () => adapter.close() }
}

test.each(['traces', 'balances'] as const)(
  'blocks that ArbOS begins are read by %s, and what came over the bridge is a payment',
  async (mode) => {
    const { address, adapter, found, close } = await follow(mode)
    try {
      const deposit = await node.deposit(address, ETHER)
      await anvil.mine(1)
      expect(await found()).toMatchObject([{ txid: deposit, asset: 'ETH_ARBITRUM', amount: ETHER }])
      const paid = await anvil.send({ to: address, value: 2n * ETHER })
      const minted = await anvil.send(token.mint(address, 5n * USDC))
      await anvil.mine(1)
      expect(await found()).toMatchObject([
        { txid: paid, asset: 'ETH_ARBITRUM', amount: 2n * ETHER },
        { txid: minted, asset: 'USDC_ARBITRUM', amount: 5n * USDC },
      ])
      // By receipts of every type, which the root in the header proves.
      const [block] = await adapter.readFrom(await anvil.height(), 1)
      expect(block?.transfers).toMatchObject([{ txid: paid }, { txid: minted, amount: 5n * USDC }])
    } finally {
      await close()
    }
  },
)

test.each(['traces', 'balances'] as const)(
  'what a ticket of the bridge gives back is borne out by %s, though it is in no trace',
  async (mode) => {
    const [reader, other] = [await follow('balances'), await follow(mode)]
    try {
      await node.refund(reader.address, ETHER)
      await anvil.mine(1)
      const [refund] = await reader.found()
      const block = { height: await anvil.height(), hash: refund?.txid ?? '' }
      if (refund === undefined) throw new Error('no balance shows it')
      expect(refund).toMatchObject({ asset: 'ETH_ARBITRUM', amount: ETHER })
      const unverified = (claims: readonly (typeof refund)[]) =>
        other.adapter.credits.unverified(block, claims)
      expect(await unverified([refund])).toEqual([])
      const more = { ...refund, amount: ETHER + 1n }
      expect(await unverified([more])).toEqual([more])
      const twice = { ...refund, outputIndex: 1 }
      expect(await unverified([refund, twice])).toHaveLength(1)
      const elsewhere = { ...refund, txid: `0x${'ab'.repeat(32)}` }
      expect(await unverified([elsewhere])).toEqual(mode === 'traces' ? [elsewhere] : [])
    } finally {
      await Promise.all([reader.close(), other.close()])
    }
  },
)

test('what a contract paid is borne out once, and not under the name of its block as well', async () => {
  const payer = await anvil.deploy(await bytecodeOf('BatchPayer'))
  const { address, adapter, found, close } = await follow('traces')
  try {
    const data = callData('pay(address[],uint256[])', [address], [ETHER])
    await anvil.send({ to: payer, value: ETHER, data })
    await node.refund(address, 2n * ETHER)
    await anvil.mine(1)
    const [inner] = await found()
    if (inner === undefined) throw new Error('no trace shows it')
    const block = { height: await anvil.height(), hash: (await adapter.hashAt(await anvil.height())) ?? '' }
    const named = (amount: bigint) => ({ ...inner, txid: block.hash, amount })
    const [refund, twice, all] = [named(2n * ETHER), named(ETHER), named(3n * ETHER)]
    const unverified = (...claims: (typeof inner)[]) => adapter.credits.unverified(block, claims)
    expect(await unverified(inner, refund)).toEqual([])
    expect(await unverified(inner, refund, twice)).toEqual([twice])
    expect(await unverified(inner, twice, refund)).toEqual([refund])
    expect(await unverified(inner, all)).toEqual([all])
  } finally {
    await close()
  }
})
