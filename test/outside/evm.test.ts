import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { EvmNode } from '../../src/chain/evm/evm-node.ts'
import { EvmRpcError } from '../../src/chain/evm/evm-rpc.ts'
import { type Outside, PAGE, recordedAnswers, startOutside } from './outside.ts'

/** What EVM nodes and the companies that run them document, read by the client that finds payments. */

const { answer, unused } = recordedAnswers('evm')
const SETTING = 'BASE_RPC_URL'
const HASH = `0x${'2'.repeat(64)}`
const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'
let outside: Outside
let node: EvmNode
beforeAll(async () => {
  outside = await startOutside()
})
beforeEach(() => {
  node = new EvmNode(`${outside.url}/v2/planted-key`, SETTING)
})
afterEach(() => node.rpc.close())
afterAll(async () => {
  await outside.close()
  expect([...unused]).toEqual([])
})

async function failure(ask: () => Promise<unknown>): Promise<Error> {
  const error = await ask().then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof Error)) throw new Error('it did not fail')
  expect(error.message).not.toContain('planted-key')
  return error
}

test('a node’s answers are its chain, its blocks and their logs', async () => {
  outside.give(answer('chain id'))
  expect(await node.chainId()).toBe(8453)
  outside.give(answer('syncing'))
  expect(await node.isSynced()).toBe(false)
  outside.give(answer('block header'))
  expect(await node.headerAt('latest')).toMatchObject({ number: 436, hash: HASH, transactions: [] })
  outside.give(answer('logs'))
  expect(await node.logsOf(HASH, [USDC])).toMatchObject([
    { address: USDC, blockHash: HASH, data: expect.stringMatching(/0f4240$/), removed: false },
  ])
})

test('a whole block of Base, its receipts with the fee for Ethereum, and its traces', async () => {
  const [deposit, paid] = [`0x${'5'.repeat(64)}`, `0x${'4'.repeat(64)}`]
  outside.give(answer('block without withdrawals and fees, in full'))
  const block = await node.blockOf(HASH)
  expect(block.sent).toMatchObject([{ hash: deposit }, { hash: paid, value: 100n }])
  outside.give(answer('receipts of Base'))
  expect(await node.receiptsOf(block)).toMatchObject([
    { type: 0x7e, depositNonce: 2_000_001n, depositReceiptVersion: 1n },
    { type: 2, status: 1, gasUsed: 21_000n, effectiveGasPrice: 1_000_000n, l1Fee: 1_562_500_000n },
  ])
  outside.give(answer('traces in diff mode'))
  expect(await node.tracesOf(block)).toMatchObject([
    { txHash: deposit, result: { pre: {}, post: {} } },
    { txHash: paid, result: { post: { [`0x${'2'.repeat(40)}`]: { balance: 100n } } } },
  ])
})

/** Only a range that is too large is asked for again in halves; only a missing method is done without. */
test.each([
  ['alchemy free tier range', 'range_too_large'],
  ['alchemy response size', 'range_too_large'],
  ['infura too many results', 'range_too_large'],
  ['quicknode range', 'range_too_large'],
  ['drpc free tier range', 'range_too_large'],
  ['llamarpc range', 'range_too_large'],
  ['reth results', 'range_too_large'],
  ['publicnode range', 'range_too_large'],
  ['base answer too large', 'range_too_large'],
  ['alchemy throughput, in a 200', 'not_now'],
  ['infura daily limit', 'not_now'],
  ['infura throughput, in a 200', 'not_now'],
  ['quicknode throughput, in a 200', 'not_now'],
  ['base over its rate', 'not_now'],
  ['geth without the method', 'no_such_method'],
  ['alchemy plan without traces', 'no_such_method'],
  ['geth reverted', 'other'],
  ['geth without the state', 'other'],
  ['base without a backend', 'not_now'],
])('%s is %s', async (recorded, kind) => {
  outside.give(answer(recorded))
  const error = await failure(() => node.rpc.call('debug_traceBlockByHash', [HASH], expect.anything()))
  expect(error).toBeInstanceOf(EvmRpcError)
  expect(error).toMatchObject({ kind })
})

test("a response that is not a node's is reported with the setting to correct", async () => {
  const told = async (given: Parameters<Outside['give']>[0]) => {
    outside.give(given)
    return (await failure(() => node.headerAt('latest'))).message
  }
  const { host } = outside
  expect(await told(answer('infura throughput'))).toBe(
    `${host} answers only so many calls (429): raise its plan`,
  )
  expect(await told(answer('alchemy wrong key'))).toBe(
    `${host} refuses the key or password: correct it in ${SETTING}`,
  )
  expect(await told(answer('cloud front page'))).toBe(`${host} fails with HTTP 502`)
  expect(await told(() => PAGE)).toBe(`what answers at ${host} is no Ethereum node: correct ${SETTING}`)
  expect(await told(answer('block without a field'))).toBe(
    `what answers eth_getBlockByNumber at ${host} is no Ethereum node: correct ${SETTING}`,
  )
})
