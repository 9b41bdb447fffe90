import { afterAll, beforeAll, expect, test } from 'vitest'
import { EvmAdapter } from '../../src/chain/evm/evm-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Anvil, hex, newEvmAddress, startAnvil } from '../support/anvil.ts'
import { bytecodeOf, callData } from '../support/evm-contracts.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'

const ETHER = 10n ** 18n
const BLOCKS = 16

let anvil: Anvil
let payer: string
beforeAll(async () => {
  anvil = await startAnvil()
  payer = await anvil.deploy(await bytecodeOf('BatchPayer'))
})
afterAll(() => anvil.remove())

test('of many blocks read without traces, each payment is found in its own, by few questions', async () => {
  const proxy = await startRpcProxy(anvil.url)
  const [first, second, swept] = [newEvmAddress(), newEvmAddress(), newEvmAddress()]
  const open = [first, second, swept, ...Array.from({ length: 50 }, newEvmAddress)]
  const adapter = new EvmAdapter({
    chain: 'ethereum',
    livemode: false,
    url: proxy.url,
    setting: 'TEST_ETHEREUM_RPC_URL',
    clock: systemClock,
    nativeMode: 'balances',
    openAddresses: async () => open.map(({ addressBytes }) => addressBytes),
  })
  const byContract = (to: readonly string[], amount: bigint) => {
    const amounts = to.map(() => amount)
    const data = callData('pay(address[],uint256[])', to, amounts)
    return anvil.send({ to: payer, data, value: amount * BigInt(to.length), gas: 300_000 })
  }
  const actions: { readonly [block: number]: () => Promise<unknown> } = {
    2: () => byContract([first.address, second.address], 3n),
    5: () => anvil.send({ to: first.address, value: 4n }),
    6: () => byContract([swept.address], ETHER),
    9: async () => {
      await anvil.rpc('anvil_impersonateAccount', [swept.address])
      const half = { from: swept.address, to: newEvmAddress().address, value: hex(ETHER / 2n) }
      await anvil.rpc('eth_sendTransaction', [half])
      await byContract([swept.address], 7n)
    },
    15: () => byContract([first.address], 5n),
  }
  try {
    adapter.watched.add(open.map(({ addressBytes }) => addressBytes))
    await adapter.connect()
    const checkpoint = await adapter.tip()
    for (let block = 1; block <= BLOCKS; block++) {
      await actions[block]?.()
      await anvil.mine(1)
    }
    const before = proxy.calls.length
    const update = await adapter.nextUpdate(checkpoint, BLOCKS)
    const names = new Map([
      [first.addressBytes.toString('hex'), 'first'],
      [second.addressBytes.toString('hex'), 'second'],
      [swept.addressBytes.toString('hex'), 'swept'],
    ])
    const found = update?.blocks.flatMap(({ block, transfers }) =>
      transfers.map(({ addressBytes, amount }) => [
        block.height - checkpoint.height,
        names.get(addressBytes),
        amount,
      ]),
    )
    expect(found).toEqual([
      [2, 'first', 3n],
      [2, 'second', 3n],
      [5, 'first', 4n],
      [6, 'swept', ETHER],
      [9, 'swept', 7n],
      [15, 'first', 5n],
    ])
    const balances = proxy.calls.slice(before).filter((method) => method === 'eth_call')
    expect(balances.length).toBeLessThan(BLOCKS)
    expect(proxy.calls.slice(before).filter((method) => method === 'eth_getBlockReceipts')).toHaveLength(2)
  } finally {
    await adapter.close()
    await proxy.close()
  }
})
