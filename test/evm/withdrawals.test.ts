import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { EvmAdapter, type EvmAdapterOptions } from '../../src/chain/evm/evm-adapter.ts'
import { ProviderGroup } from '../../src/chain/provider-group.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { hex } from '../support/anvil.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { WatchedChain } from '../support/watched-chain.ts'

const GWEI = 10n ** 9n
/** Of the account that the balances' program is put at. */
const WORD = 64

type Block = { readonly number: string; readonly hash: string } | null

let watched: WatchedChain<DrivenAnvil>
let proxy: RpcProxy
beforeAll(async () => {
  watched = await WatchedChain.open(evmDriver('ETH'))
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

/** From now on the block at this height has two withdrawals to the address, and balances from there on hold them. */
async function withdraw(height: number, address: string, gwei: bigint): Promise<void> {
  const half = gwei / 2n
  const withdrawals = [half, gwei - half].map((amount, index) => ({
    index: hex(BigInt(index)),
    validatorIndex: '0x7',
    address,
    amount: hex(amount),
  }))
  const withThem = (told: unknown) => {
    const block = told as Block
    return block !== null && Number(block.number) === height ? { ...block, withdrawals } : block
  }
  proxy.lie('eth_getBlockByNumber', withThem)
  proxy.lie('eth_getBlockByHash', withThem)
  const above = new Set<string>()
  for (let at = height; at <= height + 8; at++) {
    const block = await watched.chain.anvil.rpc<Block>('eth_getBlockByNumber', [hex(BigInt(at)), false])
    if (block !== null) above.add(block.hash)
  }
  proxy.lie('eth_call', (told, { params }) => {
    const [call, place] = params as [{ data: string }, { blockHash?: string } | string]
    const at = typeof place === 'object' ? (place.blockHash ?? '') : ''
    const asked = call.data.slice(2).indexOf(address.slice(2))
    if (!above.has(at) || asked === -1) return told
    const from = 2 + (asked / 40) * WORD
    const words = String(told)
    const balance = BigInt(`0x${words.slice(from, from + WORD)}`) + gwei * GWEI
    return words.slice(0, from) + balance.toString(16).padStart(WORD, '0') + words.slice(from + WORD)
  })
}

const optionsFor = (
  nativeMode: 'traces' | 'balances',
  addresses: readonly Uint8Array[],
): EvmAdapterOptions => ({
  ...(watched.chain.recipe.options as EvmAdapterOptions),
  clock: systemClock,
  nativeMode,
  openAddresses: async () => addresses,
})

test.each(['traces', 'balances'] as const)(
  'withdrawals of staked coin are found, by %s, as one transfer that its block names, and paid',
  async (nativeMode) => {
    const addresses: Uint8Array[] = []
    const adapter = new EvmAdapter({ ...optionsFor(nativeMode, addresses), url: proxy.url })
    const watcher = await watched.watchAtTip({ adapter })
    const invoice = await watched.openInvoice([watcher])
    addresses.push(Buffer.from(invoice.address.slice(2), 'hex'))
    proxy.hold()
    await watched.chain.mine(5)
    const height = (await watched.chain.anvil.height()) - 4
    await withdraw(height, invoice.address, watched.driver.amount / GWEI)
    proxy.resume()
    await watched.untilStatus(invoice.id, 'paid')
    const { hash } = await watched.chain.anvil.rpc<{ hash: string }>('eth_getBlockByNumber', [
      hex(BigInt(height)),
      false,
    ])
    const { rows } = await watched.database.owner.query(
      'select txid, output_index, amount from transfer where invoice_id = $1',
      [invoice.id],
    )
    expect(rows).toEqual([{ txid: hash, output_index: 0, amount: watched.driver.amount }])
  },
)

test('withdrawals that a second provider does not know of are never paid', async () => {
  const first = new EvmAdapter({ ...optionsFor('traces', []), url: proxy.url })
  const second = new EvmAdapter({
    ...optionsFor('traces', []),
    url: watched.chain.url,
    watched: first.watched,
  })
  const group = new ProviderGroup(
    { name: 'first', chain: first },
    [{ name: 'second', chain: second }],
    systemClock,
  )
  const watcher = await watched.watchAtTip({ adapter: group, changes: { agreement: group } })
  const invoice = await watched.openInvoice([watcher])
  proxy.hold()
  await watched.chain.mine(5)
  const height = (await watched.chain.anvil.height()) - 4
  await withdraw(height, invoice.address, watched.driver.amount / GWEI)
  proxy.resume()
  const isHalted = async () => (await watched.state()).status === 'halted'
  await expect.poll(isHalted).toBe(true)
  expect((await watched.state()).reason).toMatch(/another provider does not find it there/)
  expect(await watched.eventsOf(invoice.id)).not.toContain('paid')
})
