import { parseTransaction } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { EvmPayoutWorld } from '../support/evm-payout-world.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'

const ETHER = 10n ** 18n
const GWEI = 10n ** 9n
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Of `transfer(address,uint256)` (EIP-20). */
const TRANSFER_SELECTOR = '0xa9059cbb'
/** A plain payment to an address without an account: 21,000, and 120 bytes of state at 1,530 each (EIP-8037). */
const NEW_ACCOUNT_GAS = 204_600n

let world: EvmPayoutWorld
let proxy: RpcProxy
let second: RpcProxy
beforeAll(async () => {
  world = await EvmPayoutWorld.open('base')
  proxy = await startRpcProxy(world.anvil.url)
  second = await startRpcProxy(world.anvil.url)
})
afterAll(async () => {
  await proxy?.close()
  await second?.close()
  await world?.close()
})

/** A node that asks so much for a plain payment to anybody but the hot wallet. */
function chargeForNewAccounts(): void {
  const hot = encodeEvmAddress(world.hot).toLowerCase()
  proxy.lie('eth_estimateGas', (estimate, { params: [call] }) => {
    const { to } = call as { to: string }
    return to.toLowerCase() === hot ? estimate : `0x${NEW_ACCOUNT_GAS.toString(16)}`
  })
}

const trackerAtProxy = () => world.trackerOf([{ name: 'the node', chain: world.clientAt(proxy.url) }])

test('where a new account costs ten times a plain payment, a payout to one is priced so, and arrives', async () => {
  chargeForNewAccounts()
  const tracker = trackerAtProxy()
  const tenant = await world.openShop('ETH_BASE', [ETHER / 2n, ETHER / 2n])
  await tracker.pass()
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  expect(payout.networkFee).toBeGreaterThan(NEW_ACCOUNT_GAS * GWEI)
  for (let turn = 0; turn < 6 && (await world.load(tenant, payout.id)).status !== 'confirmed'; turn++) {
    await tracker.pass()
    await world.sign()
    await tracker.pass()
    await world.anvil.mine(1)
  }
  const done = await world.load(tenant, payout.id)
  expect(done).toMatchObject({ status: 'confirmed' })
  expect(done.networkFee).toBeLessThanOrEqual(payout.networkFeeMax)
  const { rows } = await world.database.owner.query<{ raw: Buffer }>(
    'select raw from payout_transaction where payout_id = $1',
    [payout.id],
  )
  const { gas } = parseTransaction(`0x02${rows[0]?.raw.toString('hex').slice(2)}`)
  expect(gas).toBeGreaterThanOrEqual(NEW_ACCOUNT_GAS)
})

test.each([
  ['does not say what a new account costs', 'insufficient funds for transfer'],
  ['says that a new account costs more than any may', 'gas required exceeds allowance (400000)'],
])('a node that %s stops no payout', async (_what, words) => {
  proxy.lie('eth_estimateGas', () => {
    throw new Error(words)
  })
  await trackerAtProxy().pass()
  proxy.tellTheTruth()
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await world.until(tenant, payout.id, 'confirmed')
})

test.each([
  ['ETH_BASE', ETHER],
  ['USDC_BASE', 1_000_000n],
] as const)(
  'one provider of two by which a destination of %s refuses ends no payout',
  async (asset, amount) => {
    for (const method of ['eth_estimateGas', 'eth_call'])
      proxy.lie(method, (answer, { params: [call] }) => {
        const { data = '0x' } = call as { data?: string }
        if (method === 'eth_call' && !data.startsWith(TRANSFER_SELECTOR)) return answer
        throw new Error('execution reverted')
      })
    const tenant = await world.openShop(asset, [2n * amount])
    const payout = await world.payout(tenant, asset, '1')
    const chains = [proxy.url, world.anvil.url].map((url, at) => ({
      name: `provider ${at}`,
      chain: world.clientAt(url),
    }))
    const [lying, honest] = chains
    if (lying === undefined || honest === undefined) throw new Error('there are two')
    const tracker = world.trackerOf([lying, honest])
    for (let turn = 0; turn < 6; turn++) {
      await tracker.pass()
      await world.sign()
      await world.anvil.mine(1)
    }
    expect((await world.load(tenant, payout.id)).status).toBe('approved')
    expect(world.logged.join('')).toContain('provider 1 does not say so')
    proxy.tellTheTruth()
    await world.until(tenant, payout.id, 'confirmed')
  },
)

async function pass(tracker: ReturnType<EvmPayoutWorld['trackerOf']>, turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await tracker.pass()
    await world.sign()
    await world.anvil.mine(1)
  }
}

const later = (ms: number) => {
  world.now = new Date(world.now.getTime() + ms)
}

/** So many hours of passes: what a payout waits for is asked again at each. */
async function passFor(tracker: ReturnType<EvmPayoutWorld['trackerOf']>, hours: number): Promise<void> {
  for (let half = 0; half < 2 * hours; half++) {
    later(HOUR_MS / 2)
    await tracker.pass()
    await world.sign()
  }
}

/** The node answers so when it is asked what a payment to this address takes. */
const refuseGas = (to: string, words: string) =>
  proxy.lie('eth_estimateGas', (estimate, { params: [call] }) => {
    if ((call as { to: string }).to.toLowerCase() !== to.toLowerCase()) return estimate
    throw new Error(words)
  })

test('a payout held for days ends by no single refusal: the day counts from when it was first refused', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  const tracker = world.trackerOf([
    { name: 'the first', chain: world.clientAt(proxy.url) },
    { name: 'the second', chain: world.clientAt(world.anvil.url) },
  ])
  later(3 * DAY_MS)
  refuseGas(payout.destination, 'execution reverted')
  await pass(tracker, 4)
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  await passFor(tracker, 23)
  // A refusal that nobody repeats for long is another one.
  later(2 * HOUR_MS)
  await passFor(tracker, 2)
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  proxy.tellTheTruth()
  await world.until(tenant, payout.id, 'confirmed')
})

test('a node that judges no address at all for days ends no payout', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  proxy.lie('eth_estimateGas', () => {
    throw new Error('missing trie node')
  })
  const tracker = trackerAtProxy()
  await pass(tracker, 4)
  await passFor(tracker, 50)
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  proxy.tellTheTruth()
  await world.until(tenant, payout.id, 'confirmed')
})

test('where no provider can judge a destination, in whatever words, the payout ends after a day', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  refuseGas(payout.destination, 'words that nobody knows')
  const tracker = trackerAtProxy()
  await pass(tracker, 4)
  await passFor(tracker, 23)
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  await passFor(tracker, 2)
  await pass(tracker, 2)
  expect(await world.load(tenant, payout.id)).toMatchObject({
    status: 'failed',
    failureCode: 'destination_refuses',
  })
  expect(await world.balances(tenant)).toMatchObject({ available: ETHER, reserved: 0n })
  proxy.tellTheTruth()
})

test('while two providers refuse a payout’s destination in words of their own, others are confirmed', async () => {
  const [stuck, other] = [
    await world.openShop('ETH_BASE', [ETHER]),
    await world.openShop('ETH_BASE', [ETHER]),
  ]
  const refused = await world.payout(stuck, 'ETH_BASE', '1')
  const refuse = (at: RpcProxy, words: string) =>
    at.lie('eth_estimateGas', (estimate, { params: [call] }) => {
      const { to } = call as { to: string }
      if (to.toLowerCase() !== refused.destination.toLowerCase()) return estimate
      throw new Error(words)
    })
  refuse(proxy, 'execution reverted')
  refuse(second, 'EVM error: words that nobody knows')
  const tracker = world.trackerOf([
    { name: 'the first', chain: world.clientAt(proxy.url) },
    { name: 'the second', chain: world.clientAt(second.url) },
  ])
  const payout = await world.payout(other, 'ETH_BASE', '1')
  for (let turn = 0; turn < 12 && (await world.load(other, payout.id)).status !== 'confirmed'; turn++) {
    await tracker.pass()
    await world.sign()
    await world.anvil.mine(1)
  }
  expect((await world.load(other, payout.id)).status).toBe('confirmed')
  expect((await world.load(stuck, refused.id)).status).toBe('approved')
  await passFor(tracker, 25)
  await pass(tracker, 2)
  expect(await world.load(stuck, refused.id)).toMatchObject({
    status: 'failed',
    failureCode: 'destination_refuses',
  })
})
