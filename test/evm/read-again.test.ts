import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { EvmAdapter, type EvmAdapterOptions } from '../../src/chain/evm/evm-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { bytecodeOf, callData } from '../support/evm-contracts.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { until } from '../support/until.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** A block that is read twice, by a node that errs in one of both readings. */

const DIRECT = 3n * 10n ** 15n
const BY_CONTRACT = 7n * 10n ** 15n

let watched: WatchedChain<DrivenAnvil>
let proxy: RpcProxy
let batch: string
beforeAll(async () => {
  watched = await WatchedChain.open(evmDriver('ETH', { nativeMode: 'balances' }))
  batch = await watched.chain.anvil.deploy(await bytecodeOf('BatchPayer'))
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

/** Receipts say from now on that every transaction failed: what they paid shows in balances alone. */
const lie = () =>
  proxy.lie('eth_getBlockReceipts', (told) => (told as object[]).map((each) => ({ ...each, status: '0x0' })))

test.each([
  ['first', lie, () => proxy.tellTheTruth()],
  ['second', () => {}, lie],
] as const)('all that a block brought is booked where the %s reading was wrong', async (_, first, second) => {
  const watcher = await watched.watchAtTip({ adapter: watched.chain.adapter(proxy.url) })
  const invoice = await watched.openInvoice([watcher])
  const before = await watched.availableBalance()
  const { anvil } = watched.chain
  const mend = await watched.breakCheckpoints()
  first()
  await anvil.send({ to: invoice.address, value: DIRECT })
  const data = callData('pay(address[],uint256[])', [invoice.address], [BY_CONTRACT])
  await anvil.send({ to: batch, value: BY_CONTRACT, data, gas: 200_000 })
  await watched.chain.mine(1)
  await watched.untilStatus(invoice.id, 'confirming')
  await watched.stopWatchers()
  second()
  await mend()
  await watched.watchAtTip({ adapter: watched.chain.adapter(proxy.url) })
  proxy.tellTheTruth()
  await watched.chain.mine(3)
  await until(async () => (await watched.availableBalance()) - before === DIRECT + BY_CONTRACT, {
    what: 'all of it is booked',
  })
  expect(await watched.statusOf(invoice.id)).toBe('paid')
  expect(await findings()).toEqual([])
})

const FINNEY = 10n ** 15n

type Trace = { readonly result: { readonly pre: object; readonly post: object } }

/** What the address has after its block, as it is told the first time; the truth when it is asked again. */
type Once = (of: { address: string; paid: bigint; told: bigint }) => void

const asWord = (amount: bigint) => amount.toString(16).padStart(64, '0')

const tracesOnce: Once = ({ address, told: amount }) => {
  let lies = 1
  proxy.lie('debug_traceBlockByHash', (told) => {
    if ((told as Trace[]).length === 0 || lies-- <= 0) return told
    return (told as Trace[]).map(({ result: { pre, post } }) => ({
      result: {
        pre: { ...pre, [address]: { balance: '0x0' } },
        post: { ...post, [address]: { balance: `0x${amount.toString(16)}` } },
      },
    }))
  })
}

const balancesOnce: Once = ({ paid, told: amount }) => {
  let lies = 1
  proxy.lie('eth_call', (told) => {
    const words: string[] = String(told).slice(2).match(/.{64}/g) ?? []
    if (!words.includes(asWord(paid)) || lies-- <= 0) return told
    const wrong = words.map((word) => (word === asWord(paid) ? asWord(amount) : word))
    return `0x${wrong.join('')}`
  })
}

test.each([
  ['trace', 'too high', 'traces', tracesOnce, 9n * FINNEY, 8n * FINNEY],
  ['balance', 'too high', 'balances', balancesOnce, 9n * FINNEY, 6n * FINNEY],
  ['balance', 'too low', 'balances', balancesOnce, 2n * FINNEY, 5n * FINNEY],
  ['balance', 'nothing', 'balances', balancesOnce, 0n, 4n * FINNEY],
] as const)('a %s that was once %s is read again, and the right amount is paid', async (...given) => {
  const [, , nativeMode, lieOnce, told, paid] = given
  const { options } = watched.chain.recipe as { options: EvmAdapterOptions }
  const tracing = () => new EvmAdapter({ ...options, url: proxy.url, nativeMode, clock: systemClock })
  const adapter = nativeMode === 'traces' ? tracing() : watched.chain.adapter(proxy.url)
  const watcher = await watched.watchAtTip({ adapter })
  const invoice = await watched.openInvoice([watcher], { amount: paid, ...watched.needs(3) })
  const before = await watched.availableBalance()
  lieOnce({ address: invoice.address, paid, told })
  const data = callData('pay(address[],uint256[])', [invoice.address], [paid])
  await watched.chain.anvil.send({ to: batch, value: paid, data, gas: 200_000 })
  await watched.chain.mine(1)
  await watched.untilRead()
  await watched.chain.mine(4)
  await watched.untilStatus(invoice.id, 'paid')
  expect((await watched.availableBalance()) - before).toBe(paid)
  expect(await findings()).toEqual([])
})

async function findings(): Promise<string[]> {
  const { driver, chain, database } = watched
  const place = { network: driver.network, chain: 'ethereum', livemode: false, sandbox: null } as const
  const urls = { rpcUrl: chain.url, rpcSetting: 'TEST_ETHEREUM_RPC_URL', furtherUrls: [], zmqUrl: null }
  const results = await runAudit(database.owner, [{ ...place, ...urls, tokenContracts: {} }])
  return results.flatMap(({ name, findings }) =>
    findings.map(({ subject, detail }) => `${name}: ${subject} ${detail}`),
  )
}
