import { expect, test } from 'vitest'
import { NATIVE_MINT } from '../../core/chain/solana-mints.ts'
import { findTransfers } from './find-transfers.ts'
import type { TokenBalance, TransactionInBlock } from './solana-answers.ts'
import { TokenAccounts } from './token-accounts.ts'
import { addressBytesOf, ownerOf, WatchedOwners } from './watched-owners.ts'

const OURS = Uint8Array.from({ length: 32 }, (_, place) => place + 1)
const OTHER = ownerOf(Uint8Array.from({ length: 32 }, (_, place) => place + 101))
const ours = ownerOf(OURS)
const addressBytes = addressBytesOf(ours)
const SYSTEM = '11111111111111111111111111111111'

const watched = new WatchedOwners()
watched.add([OURS])
const sought = { watched, tokens: TokenAccounts.on('solana-live', { livemode: true }) }

/** A transaction of the other one that names us second. */
const transaction = (changes: Partial<TransactionInBlock>): TransactionInBlock => ({
  signature: 's'.repeat(88),
  failed: false,
  accounts: [OTHER, ours, SYSTEM],
  pre: [1_000n, 0n, 1n],
  post: [1_000n, 0n, 1n],
  preTokens: [],
  postTokens: [],
  ...changes,
})
const token = (owner: string | undefined, amount: string, mint = NATIVE_MINT): TokenBalance => ({
  accountIndex: 2,
  mint,
  ...(owner === undefined ? {} : { owner }),
  uiTokenAmount: { amount },
})
const amounts = (changes: Partial<TransactionInBlock>) =>
  findTransfers(transaction(changes), sought).map(({ amount, asset }) => [amount, asset])

test('what an owner gained in the whole transaction is one transfer, named by its place', () => {
  expect(findTransfers(transaction({ pre: [1_000n, 5n, 1n], post: [0n, 905n, 1n] }), sought)).toEqual([
    {
      addressBytes,
      txid: 's'.repeat(88),
      outputIndex: 1,
      asset: 'SOL',
      amount: 900n,
      minimumConfirmations: 1,
    },
  ])
})

test('a failed transaction brings nothing, whatever balances it shows', () => {
  expect(amounts({ failed: true, post: [0n, 900n, 1n], postTokens: [token(ours, '5')] })).toEqual([])
})

test('what leaves us, or is given back within the transaction, is no transfer', () => {
  expect(amounts({ pre: [1_000n, 900n, 1n], post: [1_890n, 0n, 1n] })).toEqual([])
  expect(amounts({ pre: [1_000n, 900n, 1n], post: [1_000n, 900n, 1n] })).toEqual([])
})

test('wrapped SOL that comes to our accounts, or to one that becomes ours, is another asset', () => {
  expect(amounts({ preTokens: [token(ours, '5')], postTokens: [token(ours, '12')] })).toEqual([[7n, 'WSOL']])
  expect(amounts({ postTokens: [token(ours, '12')] })).toEqual([[12n, 'WSOL']])
  expect(amounts({ preTokens: [token(OTHER, '12')], postTokens: [token(ours, '12')] })).toEqual([
    [12n, 'WSOL'],
  ])
  // Old nodes name no owner before.
  expect(amounts({ preTokens: [token(undefined, '12')], postTokens: [token(ours, '12')] })).toEqual([])
})

test('other tokens, others’ wrapped SOL and wrapped SOL that leaves us are nothing', () => {
  expect(amounts({ postTokens: [token(ours, '12', OTHER)] })).toEqual([])
  expect(amounts({ postTokens: [token(OTHER, '12')] })).toEqual([])
  expect(amounts({ preTokens: [token(ours, '12')], postTokens: [token(ours, '5')] })).toEqual([])
  expect(amounts({ preTokens: [token(ours, '12')], postTokens: [token(OTHER, '12')] })).toEqual([])
})

test('what the fee payer puts on an address is no payment; a payout whose fee it pays is one', () => {
  const signerAccounts = new WatchedOwners()
  signerAccounts.add([OURS])
  signerAccounts.feePayer = OTHER
  const found = (changes: Partial<TransactionInBlock>) =>
    findTransfers(transaction(changes), { ...sought, watched: signerAccounts }).length
  expect(found({ pre: [2_000_000n, 0n, 1n], post: [1_104_120n, 890_880n, 1n] })).toBe(0)
  const vault = 'vault'
  const accounts = [OTHER, vault, ours, SYSTEM]
  expect(found({ accounts, pre: [20_000n, 10n ** 9n, 0n, 1n], post: [20_000n, 0n, 999_990_000n, 1n] })).toBe(
    1,
  )
  // Where the chain takes a little more for it than was planned.
  expect(found({ accounts, pre: [20_000n, 10n ** 9n, 0n, 1n], post: [15_000n, 0n, 999_990_000n, 1n] })).toBe(
    1,
  )
})
