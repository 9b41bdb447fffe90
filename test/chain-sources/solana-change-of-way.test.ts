import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { SolanaAdapter } from '../../src/chain/solana/solana-adapter.ts'
import type { BlockRef } from '../../src/core/invoice/types.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { type DrivenSolana, solanaDriver } from '../support/solana-driver.ts'

/** What was paid to closed checkouts before so many are open that blocks are read. */

/** More than are looked at in three rounds. */
const STRANGERS = 350
/** One more than those whose accounts are asked for. */
const MANY = 2_001
const SLOTS_IN_A_MINUTE = 150

const { start, amount } = solanaDriver('accounts')
let chain: DrivenSolana
let proxy: RpcProxy
let adapter: SolanaAdapter
let open: readonly Uint8Array[]
let at: BlockRef

beforeAll(async () => {
  chain = await start()
})
beforeEach(async () => {
  proxy = await startRpcProxy(chain.url)
  adapter = openAdapter()
  open = []
})
afterEach(async () => {
  await adapter.close()
  await proxy.close()
})
afterAll(() => chain.remove())

function openAdapter(): SolanaAdapter {
  const { way: _way, ...options } = chain.recipe.options as ConstructorParameters<typeof SolanaAdapter>[0]
  const openAddresses = async () => open
  return new SolanaAdapter({ ...options, rpcUrl: proxy.url, clock: systemClock, openAddresses })
}

const strangers = (count: number) => Array.from({ length: count }, () => randomBytes(32))
const late = strangers(STRANGERS)
const many = strangers(MANY)

/** A node read up to a payment to a closed checkout whose turn has not come. */
async function beginBeforeItsTurn(): Promise<{ address: string; addressBytes: Uint8Array }> {
  const paid = await chain.newAddress()
  adapter.watched.add([...late, paid.addressBytes])
  await adapter.connect()
  at = await adapter.tip()
  await read(1)
  await chain.pay(paid.address, amount)
  expect(await read(1)).toEqual([])
  return paid
}

function openMany(): void {
  adapter.watched.add(many)
  open = many
}

/** What is found in so many rounds, each at a block of its own. */
async function read(rounds: number, each = 1): Promise<bigint[]> {
  const found: bigint[] = []
  for (let round = 0; round < rounds; round++) {
    await chain.mine(each)
    const update = await adapter.nextUpdate(at, 1_000)
    at = update?.blocks.at(-1)?.block ?? at
    found.push(...(update?.blocks ?? []).flatMap(({ transfers }) => transfers.map((one) => one.amount)))
  }
  return found
}

/** Rounds after which blocks are read, and every address was looked at once more, each look taking two. */
const ALL_ROUNDS = 2 + 2 * Math.ceil((STRANGERS + MANY) / 50)

test('a late payment that waits for its turn is found when more checkouts open and blocks are read', async () => {
  await beginBeforeItsTurn()
  openMany()
  expect(await read(ALL_ROUNDS)).toEqual([amount])
  const looks = () => proxy.calls.filter((method) => method === 'getMultipleAccounts').length
  const before = looks()
  expect(await read(3)).toEqual([])
  expect(looks()).toBe(before)
})

test('a late payment that waits for its turn is found by a process that begins with blocks', async () => {
  const { addressBytes } = await beginBeforeItsTurn()
  await adapter.close()
  adapter = openAdapter()
  adapter.watched.add([...late, addressBytes])
  openMany()
  await adapter.connect()
  expect(await read(ALL_ROUNDS)).toEqual([amount])
})

test('a late payment that is reported while blocks are read and not recorded is reported again', async () => {
  await beginBeforeItsTurn()
  openMany()
  let [before, found]: [BlockRef, bigint[]] = [at, []]
  for (let round = 0; round < ALL_ROUNDS && found.length === 0; round++) {
    before = at
    found = await read(1)
  }
  at = before
  expect([found, await read(10)]).toEqual([[amount], [amount]])
})

test('a late payment that the node lists a minute late is found', async () => {
  const { address } = await beginBeforeItsTurn()
  openMany()
  proxy.lie('getSignaturesForAddress', (told, { params }) => (params[0] === address ? [] : told))
  expect(await read(ALL_ROUNDS)).toEqual([])
  proxy.tellTheTruth()
  await chain.mine(SLOTS_IN_A_MINUTE)
  expect(await read(10)).toEqual([amount])
})

test('an address whose list has a gap is named while blocks are read, and looked at until it has none', async () => {
  const { address } = await beginBeforeItsTurn()
  const newest = await chain.pay(address, amount + 1n)
  expect(await read(1)).toEqual([])
  openMany()
  proxy.lie('getSignaturesForAddress', (told) =>
    (told as { signature: string }[]).filter(({ signature }) => signature !== newest),
  )
  expect(await read(ALL_ROUNDS)).toEqual([])
  for (let minute = 1; minute <= 3; minute++) {
    await chain.mine(SLOTS_IN_A_MINUTE)
    expect(await read(5)).toEqual([])
  }
  expect(adapter.notice).toMatch(new RegExp(`${address} is not whole`))
  proxy.tellTheTruth()
  await chain.mine(SLOTS_IN_A_MINUTE)
  expect((await read(10)).toSorted()).toEqual([amount, amount + 1n].toSorted())
  expect(adapter.notice).toBeNull()
})

test('addresses that cannot be looked at keep no block from being read, and are looked at afterwards', async () => {
  await beginBeforeItsTurn()
  openMany()
  proxy.forbid(({ method }) => method === 'getMultipleAccounts')
  const other = await chain.newAddress()
  adapter.watched.add([other.addressBytes])
  await chain.pay(other.address, amount + 1n)
  expect(await read(3)).toEqual([amount + 1n])
  expect(adapter.notice).toMatch(/addresses of closed checkouts/)
  proxy.tellTheTruth()
  await chain.mine(SLOTS_IN_A_MINUTE)
  expect(await read(ALL_ROUNDS)).toContain(amount)
  expect(adapter.notice).toBeNull()
})

test('an address that nobody can read hides a late payment to another for some minutes at most', async () => {
  await beginBeforeItsTurn()
  const bad = await chain.newAddress()
  await chain.pay(bad.address, amount)
  expect(await read(1)).toEqual([])
  adapter.watched.add([bad.addressBytes])
  openMany()
  proxy.lie('getSignaturesForAddress', (told, { params }) => {
    if (params[0] === bad.address) throw new Error('Internal error')
    return told
  })
  const found: bigint[] = []
  for (let minute = 0; minute < 4; minute++) {
    found.push(...(await read(25)))
    await chain.mine(SLOTS_IN_A_MINUTE)
  }
  expect(found).toEqual([amount])
})

test('a look that takes long holds up no block', async () => {
  await beginBeforeItsTurn()
  openMany()
  let answer = () => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  proxy.before('getMultipleAccounts', () => answered)
  const other = await chain.newAddress()
  adapter.watched.add([other.addressBytes])
  await chain.pay(other.address, amount + 1n)
  expect(await read(3)).toEqual([amount + 1n])
  expect(adapter.notice).toBeNull()
  answer()
  expect(await read(ALL_ROUNDS)).toContain(amount)
})
