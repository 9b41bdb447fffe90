import { afterAll, beforeAll, expect, test } from 'vitest'
import { EvmAdapter } from '../../src/chain/evm/evm-adapter.ts'
import { nativeAssetOf } from '../../src/core/assets.ts'
import { EVM_CHAINS, type EvmChain } from '../../src/core/chain/evm-networks.ts'
import { rpcSettingOf } from '../../src/nodes/chain-nodes.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Anvil, newEvmAddress, startAnvil } from '../support/anvil.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { networkState, type Watching, watchWith } from '../support/watched-network.ts'

const AMOUNT = 10n ** 16n
/** Each of them is a test network, and on the same node a private one in the place of the live network. */
const SHARED_CHAIN_ID = 31_337

type Followed = {
  readonly network: `${EvmChain}-${'live' | 'test'}`
  readonly chain: EvmChain
  readonly anvil: Anvil
  readonly proxy: RpcProxy
  readonly watching: Watching
  readonly tenant: Tenant
}

let database: TestDatabase
const anvils: Anvil[] = []
const followed: Followed[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  for (const chain of EVM_CHAINS) {
    const anvil = await startAnvil()
    anvils.push(anvil)
    await anvil.mine(1)
    const { hash: genesis } = await anvil.rpc<{ hash: string }>('eth_getBlockByNumber', ['0x0', false])
    for (const livemode of [true, false]) {
      const network = `${chain}-${livemode ? 'live' : 'test'}` as const
      const proxy = await startRpcProxy(anvil.url)
      const privateChain = livemode ? { genesis, chainId: SHARED_CHAIN_ID } : null
      const adapter = new EvmAdapter({
        chain,
        livemode,
        privateChain,
        url: proxy.url,
        setting: rpcSettingOf(network),
        clock: systemClock,
        tokenContracts: {},
        probeIntervalMs: 30,
      })
      const tenant = { ...(await seedMerchant(database)), livemode }
      followed.push({ network, chain, anvil, proxy, watching: watchWith(database, adapter), tenant })
    }
  }
})
afterAll(async () => {
  await Promise.all(followed.map(({ watching }) => watching.stop()))
  await Promise.all(followed.map(({ proxy }) => proxy.close()))
  await Promise.all(anvils.map((anvil) => anvil.remove()))
  await database.drop()
})

const onNetwork = (network: string): Followed => {
  const found = followed.find((each) => each.network === network)
  if (found === undefined) throw new Error(`${network} is not followed`)
  return found
}

const statusOf = async ({ network }: Followed) => (await networkState(database, network)).status

/** An invoice on each network, paid on its node; the invoices' ids by network. */
async function payOnEach(): Promise<Map<string, string>> {
  const invoices = new Map<string, string>()
  for (const { network, chain, anvil, watching, tenant } of followed) {
    const { address, addressBytes } = newEvmAddress()
    watching.adapter.watched.add([addressBytes])
    const asset = nativeAssetOf(chain)
    const terms = { asset, amount: AMOUNT, address, confirmations: { [asset]: 1 }, createdAtMs: Date.now() }
    const deadline = { expiresAtMs: Date.now() + 3_600_000 }
    const { id } = await seedInvoice(database, tenant, { ...terms, ...deadline }, addressBytes)
    invoices.set(network, id)
    await anvil.send({ to: address, value: AMOUNT })
  }
  for (const anvil of anvils) await anvil.mine(2)
  return invoices
}

async function paidOf(invoices: ReadonlyMap<string, string>): Promise<string[]> {
  const { rows } = await database.owner.query<{ id: string }>(
    `select id from invoice where id = any($1) and status = 'paid'`,
    [[...invoices.values()]],
  )
  const paid = new Set(rows.map(({ id }) => id))
  return [...invoices].flatMap(([network, id]) => (paid.has(id) ? [network] : [])).sort()
}

test('of eight networks one that hangs and one that lies hold up none of the others', async () => {
  const all = followed.map(({ network }) => network).sort()
  for (const each of followed)
    await until(
      async () => {
        const { rowCount } = await database.owner.query(
          `select from network_state where network = $1 and status = 'ok'`,
          [each.network],
        )
        return rowCount === 1
      },
      { what: `${each.network} is read` },
    )
  const [hanging, lying] = [onNetwork('base-test'), onNetwork('arbitrum-live')]
  hanging.proxy.hang()
  // Blocks that do not build on one another.
  const other = `0x${'ab'.repeat(32)}`
  for (const method of ['eth_getBlockByNumber', 'eth_getBlockByHash'])
    lying.proxy.lie(method, (block) => (block === null ? null : { ...(block as object), parentHash: other }))
  const first = await payOnEach()
  const healthy = all.filter((network) => network !== hanging.network && network !== lying.network)
  await until(async () => (await paidOf(first)).length >= healthy.length, {
    what: 'what came on the other six is paid',
  })
  expect(await paidOf(first)).toEqual(healthy)
  await until(async () => (await statusOf(lying)) !== 'ok', { what: 'the liar is not believed' })
  // They are no less prompt the longer it lasts: the calls that hang pile up nowhere.
  const second = await payOnEach()
  await until(async () => (await paidOf(second)).length >= healthy.length, { what: 'and again' })
  expect(await paidOf(second)).toEqual(healthy)
  hanging.proxy.tellTheTruth()
  lying.proxy.tellTheTruth()
  await until(async () => (await paidOf(first)).length === all.length, { what: 'the two have caught up' })
  await until(async () => (await paidOf(second)).length === all.length, { what: 'with all' })
})
