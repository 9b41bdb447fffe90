import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { ChainUnavailable } from '../../src/chain/adapter.ts'
import { SolanaCallFailed, SolanaRpc } from '../../src/chain/solana/solana-rpc.ts'
import { type Outside, PAGE, recordedAnswers, startOutside } from './outside.ts'

/** What Solana nodes and the companies that run them document, read by the client that finds payments. */

const { answer, unused } = recordedAnswers('solana')
const SETTING = 'SOLANA_RPC_URL'
const OWNER = '3Eq21vXNB5s86c62bVuUfTeaMif1N2kUqRPBmGRJhyTA'
let outside: Outside
let rpc: SolanaRpc
beforeAll(async () => {
  outside = await startOutside()
})
beforeEach(() => {
  rpc = new SolanaRpc(`${outside.url}/?api-key=planted-key`, SETTING)
})
afterEach(() => rpc.close())
afterAll(async () => {
  await outside.close()
  expect([...unused]).toEqual([])
})

test('a node’s answers are its slots, blocks, balances and signatures', async () => {
  outside.give(answer('slot'))
  expect(await rpc.slot('confirmed')).toBe(381_234_567)
  outside.give(answer('block head'))
  expect(await rpc.blockHead(381_234_567)).toMatchObject({ blockhash: OWNER, parentSlot: 381_234_566 })
  outside.give(answer('accounts'))
  expect(await rpc.balancesOf([OWNER, OWNER], 0)).toMatchObject({
    slot: 381_234_567,
    balances: [{ lamports: 88_849_814_690_250n }, { lamports: 0n }],
  })
  outside.give(answer('signatures of an address'))
  expect(await rpc.signaturesFor(OWNER, null, 0)).toMatchObject([{ slot: 381_234_114, err: null }])
})

test('transactions, alone and in a block, name every account with its balances', async () => {
  const [payer, paid, system] = [OWNER, 'mfcyqEXB3DnHXki6KjjmZck6YjmZLvpAByy2fj4nh6B', '1'.repeat(32)]
  const told = {
    signature: expect.stringMatching(/^5h6x/),
    failed: false,
    accounts: [payer, paid, system],
    pre: [1_000_005_000n, 0n, 1n],
    post: [750_000_000n, 250_000_000n, 1n],
    preTokens: [],
    postTokens: [{ accountIndex: 1, owner: paid, uiTokenAmount: { amount: '42' } }],
  }
  outside.give(answer('transaction'))
  expect(await rpc.transaction('x')).toMatchObject({ slot: 381_234_114, lifetime: OWNER, ...told })
  outside.give(answer('block with accounts'))
  expect(await rpc.blockWithAccounts(381_234_567)).toMatchObject({ transactions: [told] })
  outside.give(answer('statuses of signatures'))
  expect(await rpc.statuses(['a', 'b'])).toEqual(
    new Map([['a', { slot: 381_234_114, failed: false, isConfirmed: true, isFinal: true }]]),
  )
})

test.each([
  ['node behind', -32_005, /behind by 42 slots/],
  ['slot skipped', -32_007, /Slot 312 was skipped/],
  ['history not available', -32_011, /Transaction history is not available/],
  ['method not found', -32_601, /Method not found|does not exist/],
])('%s is a call that the node refused, in its words', async (recorded, code, words) => {
  outside.give(answer(recorded))
  const error = await rpc.blockHead(312).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(SolanaCallFailed)
  expect(error).toMatchObject({ code, message: expect.stringMatching(words) })
  expect(String(error)).not.toContain('planted-key')
})

test.each([
  ['public endpoint, too many calls', 'refuses so many calls (429): ask less, or take a larger plan'],
  ['public endpoint, forbidden', `refuses the key (403): correct it in ${SETTING}`],
  ['helius wrong key', `refuses the key (401): correct it in ${SETTING}`],
  ['helius too many calls, in a 200', `the node at ${SETTING} answers: rate limited (-32429)`],
  ['maintenance page', 'answers 503 and no JSON'],
])('%s: %s', async (recorded, words) => {
  outside.give(answer(recorded))
  const error = await rpc.slot('confirmed').catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ChainUnavailable)
  expect(error).not.toBeInstanceOf(SolanaCallFailed)
  expect(error).toMatchObject({ message: expect.stringContaining(words) })
  expect(String(error)).not.toContain('planted-key')
})

test('a page, and an answer without its fields, are no answers of a node', async () => {
  outside.give(() => PAGE)
  await expect(rpc.slot('confirmed')).rejects.toThrow(`the node at ${SETTING} answers 200 and no JSON`)
  outside.give(answer('block without a field'))
  await expect(rpc.blockHead(1)).rejects.toThrow(`getBlock at ${SETTING} gives an answer that is none`)
})
