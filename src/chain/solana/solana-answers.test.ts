import { expect, test } from 'vitest'
import {
  blockWithAccountsSchema,
  signatureEntriesSchema,
  statusesSchema,
  transactionSchema,
} from './solana-answers.ts'

const name = (letter: string) => letter.repeat(44)
const token = { accountIndex: 1, mint: name('m'), owner: name('o'), uiTokenAmount: { amount: '5' } }
const meta = {
  err: null,
  preBalances: [10, '18446744073709551615'],
  postBalances: [5, 0],
  preTokenBalances: null,
  postTokenBalances: [token],
}
const transaction = {
  accountKeys: [{ pubkey: name('a') }, { pubkey: name('b') }],
  signatures: ['s'.repeat(88)],
}
const blockOf = (listed: unknown) => ({
  blockhash: name('h'),
  previousBlockhash: name('g'),
  parentSlot: 1,
  blockTime: 1,
  transactions: [listed],
})

test('a listed transaction is read with every balance, to the lamport', () => {
  expect(blockWithAccountsSchema.parse(blockOf({ transaction, meta })).transactions).toEqual([
    {
      signature: 's'.repeat(88),
      failed: false,
      accounts: [name('a'), name('b')],
      pre: [10n, 18446744073709551615n],
      post: [5n, 0n],
      preTokens: [],
      postTokens: [token],
    },
  ])
})

test.each([
  ['no meta', { transaction }],
  ['no word on whether it failed', { transaction, meta: { ...meta, err: undefined } }],
  ['no signature', { transaction: { ...transaction, signatures: [] }, meta }],
  ['a name that is none', { transaction: { ...transaction, signatures: ['short'] }, meta }],
  ['an account without a name', { transaction: { ...transaction, accountKeys: [{}, {}] }, meta }],
  ['no accounts', { transaction: { ...transaction, accountKeys: [] }, meta }],
  ['fewer balances than accounts', { transaction, meta: { ...meta, postBalances: [5] } }],
  ['balances that are no list', { transaction, meta: { ...meta, preBalances: null } }],
  ['a balance below zero', { transaction, meta: { ...meta, postBalances: [-1, 0] } }],
  ['a balance of a fraction', { transaction, meta: { ...meta, postBalances: [0.5, 0] } }],
  ['a balance beyond 64 bits', { transaction, meta: { ...meta, postBalances: ['18446744073709551616', 0] } }],
  ['a token balance without an amount', { transaction, meta: { ...meta, postTokenBalances: [{}] } }],
])('a block whose transaction has %s is refused', (_what, listed) => {
  expect(blockWithAccountsSchema.safeParse(blockOf(listed)).success).toBe(false)
})

test('a transaction asked for by its name says whether it failed, or is refused', () => {
  const message = { accountKeys: [name('a'), name('b')], recentBlockhash: name('h') }
  const alone = { slot: 1, transaction: { message, signatures: ['s'.repeat(88)] } }
  expect(transactionSchema.parse({ ...alone, meta })).toMatchObject({
    failed: false,
    pre: [10n, 2n ** 64n - 1n],
  })
  expect(transactionSchema.parse({ ...alone, meta: { ...meta, err: 'x' } })).toMatchObject({ failed: true })
  const { err: _err, ...silent } = meta
  expect(transactionSchema.safeParse({ ...alone, meta: silent }).success).toBe(false)
})

test('an entry of a list, or a status, that says not whether its transaction failed is refused', () => {
  const entry = { signature: 's'.repeat(88), slot: 1 }
  expect(signatureEntriesSchema.safeParse([{ ...entry, err: null }]).success).toBe(true)
  expect(signatureEntriesSchema.safeParse([entry]).success).toBe(false)
  const status = { slot: 1, confirmationStatus: 'finalized' }
  expect(statusesSchema.safeParse({ value: [{ ...status, err: null }, null] }).success).toBe(true)
  expect(statusesSchema.safeParse({ value: [status] }).success).toBe(false)
})
