import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { SolanaAdapter } from '../../src/chain/solana/solana-adapter.ts'
import type { BlockRef } from '../../src/core/invoice/types.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { type DrivenSolana, pageOfFailed, solanaDriver } from '../support/solana-driver.ts'

const SLOTS_IN_A_MINUTE = 150
const OLD_AMOUNT = 5_000_000n

const { start, amount } = solanaDriver('accounts')
let chain: DrivenSolana
let proxy: RpcProxy
let adapter: SolanaAdapter
let at: BlockRef

beforeAll(async () => {
  chain = await start()
})
beforeEach(async () => {
  proxy = await startRpcProxy(chain.url)
  adapter = new SolanaAdapter({
    ...(chain.recipe.options as ConstructorParameters<typeof SolanaAdapter>[0]),
    rpcUrl: proxy.url,
    clock: systemClock,
    openAddresses: async () => [],
  })
})
afterEach(async () => {
  await adapter.close()
  await proxy.close()
})
afterAll(() => chain.remove())

test('a closed address named in thousands of transactions hides no late payment to others', async () => {
  const [named, late] = [await chain.newAddress(), await chain.newAddress()]
  adapter.watched.add([...strangers(150), named.addressBytes, late.addressBytes, ...strangers(150)])
  await chain.pay(named.address, OLD_AMOUNT)
  await begin()
  proxy.lie('getSignaturesForAddress', (told, { params }) => {
    if (params[0] !== named.address) return told
    return pageOfFailed()
  })
  await chain.pay(late.address, amount)
  expect(await read(6)).toEqual([amount])
  expect(adapter.notice).toMatch(new RegExp(`${named.address} is too long to read.*paylink rescan`))
  proxy.tellTheTruth()
  expect(await read(6)).toEqual([OLD_AMOUNT])
  expect(adapter.notice).toBeNull()
})

test('a late payment is found where the node put the older transactions of its address away', async () => {
  const late = await chain.newAddress()
  adapter.watched.add([late.addressBytes, ...strangers(20)])
  await chain.pay(late.address, OLD_AMOUNT)
  await begin()
  const kept = at.height
  proxy.lie('getSignaturesForAddress', (told) =>
    (told as { slot: number }[]).filter(({ slot }) => slot > kept),
  )
  expect(await read(2)).toEqual([])
  await chain.pay(late.address, amount)
  expect(await read(10)).toEqual([amount])
  await chain.pay(late.address, amount + 1n)
  expect(await read(10)).toEqual([amount + 1n])
  expect(adapter.notice).toBeNull()
})

test('a closed address whose listed transactions do not make its balance is named after a minute', async () => {
  const late = await chain.newAddress()
  adapter.watched.add([late.addressBytes])
  await chain.pay(late.address, OLD_AMOUNT)
  const left = await chain.pay(late.address, OLD_AMOUNT + 1n)
  await begin()
  await chain.pay(late.address, amount)
  proxy.lie('getSignaturesForAddress', (told) =>
    (told as { signature: string }[]).filter(({ signature }) => signature !== left),
  )
  expect(await read(2)).toEqual([])
  expect(adapter.notice).toBeNull()
  await chain.mine(SLOTS_IN_A_MINUTE)
  expect(await read(1)).toEqual([])
  expect(adapter.notice).toMatch(new RegExp(`${late.address} is not whole.*paylink rescan`))
  proxy.tellTheTruth()
  expect((await read(2)).toSorted()).toEqual([OLD_AMOUNT, OLD_AMOUNT + 1n, amount].toSorted())
  expect(adapter.notice).toBeNull()
})

test.each([
  ['was seen empty', true],
  ['was not seen before', false],
])(
  'a payment that the list tells late, below one that it has, is found: the address %s',
  async (_, isSeen) => {
    const late = await chain.newAddress()
    if (isSeen) adapter.watched.add([late.addressBytes])
    await begin()
    expect(await read(2)).toEqual([])
    const left = await chain.pay(late.address, OLD_AMOUNT)
    await chain.mine(1)
    await chain.pay(late.address, amount)
    adapter.watched.add([late.addressBytes])
    proxy.lie('getSignaturesForAddress', (told) =>
      (told as { signature: string }[]).filter(({ signature }) => signature !== left),
    )
    const early = await read(2)
    proxy.tellTheTruth()
    await chain.mine(SLOTS_IN_A_MINUTE)
    const found = new Set([...early, ...(await read(4))])
    expect([...found].toSorted()).toEqual([OLD_AMOUNT, amount].toSorted())
    expect(adapter.notice).toBeNull()
  },
)

test('a payment beside one that the list never tells is found after a minute, and the address named', async () => {
  const late = await chain.newAddress()
  adapter.watched.add([late.addressBytes])
  await begin()
  expect(await read(2)).toEqual([])
  const left = await chain.pay(late.address, OLD_AMOUNT)
  await chain.mine(1)
  await chain.pay(late.address, amount)
  proxy.lie('getSignaturesForAddress', (told) =>
    (told as { signature: string }[]).filter(({ signature }) => signature !== left),
  )
  expect(await read(2)).toEqual([])
  await chain.mine(SLOTS_IN_A_MINUTE)
  expect(await read(2)).toEqual([amount])
  await chain.mine(SLOTS_IN_A_MINUTE)
  expect(await read(2)).toEqual([])
  expect(adapter.notice).toMatch(new RegExp(`${late.address} is not whole.*paylink rescan`))
})

test('of closed addresses that are too long to read, one is tried again in each round', async () => {
  const named = await Promise.all(Array.from({ length: 4 }, () => chain.newAddress()))
  adapter.watched.add(named.map(({ addressBytes }) => addressBytes))
  for (const { address } of named) await chain.pay(address, OLD_AMOUNT)
  await begin()
  const asked: unknown[] = []
  proxy.lie('getSignaturesForAddress', (_, { params }) => {
    asked.push(params[0])
    return pageOfFailed()
  })
  await read(1)
  expect(new Set(asked).size).toBe(4)
  for (let round = 0; round < 4; round++) {
    asked.length = 0
    await read(1)
    expect(new Set(asked).size).toBe(1)
  }
  proxy.tellTheTruth()
  expect(await read(5)).toHaveLength(4)
  expect(adapter.notice).toBeNull()
})

test('closed addresses whose whole list the node put away cost no calls in every round', async () => {
  const old = await Promise.all(Array.from({ length: 12 }, () => chain.newAddress()))
  for (const { address } of old) await chain.pay(address, OLD_AMOUNT)
  await begin()
  adapter.watched.add(old.map(({ addressBytes }) => addressBytes))
  let calls = 0
  proxy.lie('getSignaturesForAddress', () => {
    calls += 1
    return []
  })
  await read(2)
  calls = 0
  await read(5)
  expect(calls).toBeLessThanOrEqual(10)
  await chain.mine(SLOTS_IN_A_MINUTE)
  await read(1)
  calls = 0
  await read(5)
  expect(calls).toBeLessThanOrEqual(5)
  // Their lists were only late: in their turns all is found.
  proxy.tellTheTruth()
  expect(await read(old.length)).toHaveLength(old.length)
  expect(await read(2)).toEqual([])
  expect(adapter.notice).toBeNull()
})

const strangers = (count: number) => Array.from({ length: count }, () => randomBytes(32))

async function begin(): Promise<void> {
  await chain.mine(1)
  await adapter.connect()
  at = await adapter.tip()
}

/** What is found in so many rounds, each at a block of its own. */
async function read(rounds: number): Promise<bigint[]> {
  const found: bigint[] = []
  for (let round = 0; round < rounds; round++) {
    await chain.mine(1)
    const update = await adapter.nextUpdate(at, 100)
    at = update?.blocks.at(-1)?.block ?? at
    found.push(...(update?.blocks ?? []).flatMap(({ transfers }) => transfers.map((each) => each.amount)))
  }
  return found
}
