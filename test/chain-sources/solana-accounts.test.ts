import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ChainUpdate } from '../../src/chain/adapter.ts'
import { SolanaAdapter } from '../../src/chain/solana/solana-adapter.ts'
import type { BlockRef } from '../../src/core/invoice/types.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'
import { type DrivenSolana, pageOfFailed, solanaDriver } from '../support/solana-driver.ts'
import { until } from '../support/until.ts'

/** More than are looked at in one round. */
const STRANGERS = 150
/** Below all that a test reorganises. */
const BLOCKS_KEPT = 20

const { start, amount } = solanaDriver('accounts')
let chain: DrivenSolana
let adapter: SolanaAdapter
let open: readonly Uint8Array[]

beforeAll(async () => {
  chain = await start()
  chain.payer.lifetimeDepth = BLOCKS_KEPT
})
beforeEach(() => {
  open = []
  adapter = new SolanaAdapter({
    ...(chain.recipe.options as ConstructorParameters<typeof SolanaAdapter>[0]),
    clock: systemClock,
    openAddresses: async () => open,
  })
})
afterEach(() => adapter.close())
afterAll(() => chain.remove())

test('a checkout that is listed as open after its payment is read, while the chain stands still', async () => {
  const { address, addressBytes } = await chain.newAddress()
  const strangers = Array.from({ length: STRANGERS }, () => randomBytes(32))
  adapter.watched.add([addressBytes, ...strangers])
  await adapter.connect()
  const begun = await adapter.tip()
  await chain.mine(1)
  const withIt = lastOf(await adapter.nextUpdate(begun, 100))
  await chain.pay(address, amount)
  await chain.mine(1)
  const withoutIt = await adapter.nextUpdate(withIt, 100)
  expect(paidIn(withoutIt)).toEqual([])
  open = [addressBytes]
  let found: ChainUpdate | null = null
  await until(
    async () => {
      found = await adapter.nextUpdate(lastOf(withoutIt), 100)
      return found !== null
    },
    { what: 'the payment is told' },
  )
  expect(paidIn(found)).toEqual([amount])
})

test('a payment that was reported and not recorded is reported again, though its balance stays', async () => {
  const { address, addressBytes } = await chain.newAddress()
  adapter.watched.add([addressBytes])
  open = [addressBytes]
  await chain.pay(address, amount)
  await chain.mine(1)
  const checkpoint = await adapter.tip()
  await adapter.connect()
  expect(paidIn(await adapter.nextUpdate(checkpoint, 100))).toEqual([amount])
  await adapter.connect()
  await chain.mine(1)
  const again = await adapter.nextUpdate(checkpoint, 100)
  expect(paidIn(again)).toEqual([amount])
  expect(await adapter.nextUpdate(lastOf(again), 100)).toBeNull()
})

test.each(['getSlot', 'getBlocks', 'getBlock'])(
  'a payment in a branch that comes before %s, after the balances, is reported',
  async (next) => {
    const proxy = await startRpcProxy(chain.url)
    const beside = chain.adapter(proxy.url)
    const { address, addressBytes } = await chain.newAddress()
    const payInABranch = async () => {
      await chain.pay(address, amount)
      await chain.reorganise(2)
    }
    try {
      beside.watched.add([addressBytes])
      await chain.mine(3)
      const checkpoint = await beside.tip()
      await beside.connect()
      await chain.mine(3)
      let isRead = false
      proxy.lie('getMultipleAccounts', (told) => {
        if (!isRead) proxy.before(next, payInABranch)
        isRead = true
        return told
      })
      expect(paidIn(await beside.nextUpdate(checkpoint, 100))).toEqual([amount])
    } finally {
      await beside.close()
      await proxy.close()
    }
  },
)

test('what a validator pays to a checkout outside any transaction is reported, and delays no payment', async () => {
  const proxy = await startRpcProxy(chain.url)
  const beside = new SolanaAdapter({
    ...(chain.recipe.options as ConstructorParameters<typeof SolanaAdapter>[0]),
    rpcUrl: proxy.url,
    clock: systemClock,
    openAddresses: async () => open,
  })
  const [rewarded, paid] = [await chain.newAddress(), await chain.newAddress()]
  open = [rewarded.addressBytes, paid.addressBytes]
  try {
    beside.watched.add(open)
    await beside.connect()
    const checkpoint = await beside.tip()
    await chain.pay(rewarded.address, amount)
    await chain.mine(1)
    const before = await beside.nextUpdate(checkpoint, 100)
    expect(paidIn(before)).toEqual([amount])
    await chain.pay(paid.address, amount)
    await chain.mine(1)
    // SIMD-0232: a validator names who gets its revenue, and no transaction moves it.
    const { height } = await chain.adapter().tip()
    const revenue = 777_000n
    proxy.lie('getMultipleAccounts', (told, { params }) => {
      const { context, value } = told as { context: object; value: ({ lamports: number } | null)[] }
      const place = (params[0] as string[]).indexOf(rewarded.address)
      const add = (each: { lamports: number }) => ({ ...each, lamports: each.lamports + Number(revenue) })
      return { context, value: value.map((each, at) => (each !== null && at === place ? add(each) : each)) }
    })
    proxy.lie('getBlock', (told, { params: [slot, config] }) => {
      if (slot !== height || (config as { rewards: boolean }).rewards !== true) return told
      const reward = { pubkey: rewarded.address, lamports: Number(revenue), rewardType: 'Fee' }
      return { ...(told as object), rewards: [{ ...reward, pubkey: paid.address, lamports: -1 }, reward] }
    })
    const update = await beside.nextUpdate(lastOf(before), 100)
    expect(paidIn(update).toSorted()).toEqual([amount, revenue].toSorted())
    const given = update?.blocks.flatMap(({ transfers }) => transfers).find((one) => one.amount === revenue)
    expect(given).toMatchObject({
      txid: lastOf(update).hash,
      addressBytes: Buffer.from(rewarded.addressBytes).toString('hex'),
    })
    // No signature has a block's name: it is gone with its block.
    expect([...(await beside.outcomesOf([lastOf(update).hash])).values()]).toEqual(['dead'])
  } finally {
    await beside.close()
    await proxy.close()
  }
})

test('an open address that thousands of transactions name makes no round ask for the lists of all others', async () => {
  const proxy = await startRpcProxy(chain.url)
  const beside = new SolanaAdapter({
    ...(chain.recipe.options as ConstructorParameters<typeof SolanaAdapter>[0]),
    rpcUrl: proxy.url,
    clock: systemClock,
    openAddresses: async () => open,
  })
  const [named, ...others] = await Promise.all(Array.from({ length: 9 }, () => chain.newAddress()))
  open = [named, ...others].flatMap((one) => one?.addressBytes ?? [])
  try {
    for (const one of [named, ...others]) await chain.pay(one?.address ?? '', amount)
    beside.watched.add(open)
    await beside.connect()
    let at = await beside.tip()
    let asked = 0
    proxy.lie('getSignaturesForAddress', (told, { params }) => {
      if (params[0] === named?.address) return pageOfFailed()
      asked += 1
      return told
    })
    const read = async () => {
      await chain.mine(1)
      at = lastOf(await beside.nextUpdate(at, 100))
    }
    await read()
    asked = 0
    for (let round = 0; round < 5; round++) await read()
    // Those that hold something are looked at once, beside the blocks and however long that takes.
    expect(asked).toBeLessThanOrEqual(others.length)
    expect(beside.notice).toMatch(new RegExp(`${named?.address}.*blocks are read instead`))
  } finally {
    await beside.close()
    await proxy.close()
  }
})

function lastOf(update: ChainUpdate | null): BlockRef {
  const last = update?.blocks.at(-1)?.block
  if (last === undefined) throw new Error('no block was read')
  return last
}

const paidIn = (update: ChainUpdate | null): bigint[] =>
  update?.blocks.flatMap(({ transfers }) => transfers.map((transfer) => transfer.amount)) ?? []
