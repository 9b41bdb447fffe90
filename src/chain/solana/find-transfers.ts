import type { PaymentAsset } from '../../core/assets.ts'
import type { SolanaMint } from '../../core/chain/solana-mints.ts'
import type { FoundTransfer } from '../adapter.ts'
import type { BlockWithAccounts, TokenBalance, TransactionInBlock } from './solana-answers.ts'
import { associatedTokenAccount, type TokenAccounts } from './token-accounts.ts'
import { addressBytesOf, type WatchedOwners } from './watched-owners.ts'

/** Who is watched, and what tokens are looked for. */
export type Sought = { readonly watched: WatchedOwners; readonly tokens: TokenAccounts }

/** All that a block brought to watched owners. */
export const transfersIn = (block: BlockWithAccounts, sought: Sought): FoundTransfer[] => [
  ...block.transactions.flatMap((each) => findTransfers(each, sought)),
  ...findRewards(block, sought.watched),
]

/**
 * A validator's revenue goes to whatever account it names (SIMD-0232), outside of all transactions: the block itself stands
 * in their place.
 */
function findRewards(
  { blockhash: txid, rewards }: BlockWithAccounts,
  watched: WatchedOwners,
): FoundTransfer[] {
  const sums = new Map<string, bigint>()
  for (const { pubkey: owner, lamports } of rewards ?? [])
    if (watched.has(owner)) sums.set(owner, (sums.get(owner) ?? 0n) + lamports)
  return [...sums].flatMap(([owner, amount]) =>
    amount > 0n ? [transfer({ owner, txid, outputIndex: 0, amount })] : [],
  )
}

/**
 * What a transaction brought to watched owners: for each the whole difference of its lamports, whichever program
 * moved them and however many instructions; and what their token accounts received of the mints that are looked for: the
 * difference, so that what a mint keeps of a transfer is no part of it. A failed transaction brings nothing. The installation's own fee payer puts on addresses what an account must hold, which is no
 * payment; a payout that it pays the fee of may well pay an invoice of this installation. The output index is the
 * account's place in the transaction, where all readings put it.
 */
export function findTransfers(transaction: TransactionInBlock, { watched, tokens }: Sought): FoundTransfer[] {
  const { failed, signature: txid, accounts, pre, post } = transaction
  if (failed) return []
  // Of a payout the vault pays the fee too, and nothing is left for the fee payer to give.
  const given = accounts[0] === watched.feePayer ? (pre[0] ?? 0n) - (post[0] ?? 0n) : 0n
  const found: FoundTransfer[] = []
  for (const [index, owner] of accounts.entries()) {
    if (!watched.has(owner)) continue
    const amount = (post[index] ?? 0n) - (pre[index] ?? 0n)
    if (amount > 0n && amount > given) found.push(transfer({ owner, txid, outputIndex: index, amount }))
  }
  for (const after of transaction.postTokens) {
    const { owner, accountIndex } = after
    const mint = tokens.mintOf(after.mint)
    if (mint === null || owner === undefined || !watched.has(owner)) continue
    if (!mint.isAnyAccount && accounts[accountIndex] !== associatedTokenAccount(owner, mint)) continue
    // An account that was somebody else's brings all that it holds.
    const amount =
      balanceIn(transaction.postTokens, accountIndex, mint, owner) -
      balanceIn(transaction.preTokens, accountIndex, mint, owner)
    if (amount <= 0n) continue
    const outputIndex = mint.outputIndex + accountIndex
    found.push(transfer({ owner, txid, outputIndex, amount }, mint.asset))
  }
  return found
}

/** What the account at a place of a transaction holds of a mint, as far as it is this owner's; null: whoever's it is. */
export function balanceIn(
  balances: readonly TokenBalance[],
  accountIndex: number,
  { mint }: SolanaMint,
  owner: string | null,
): bigint {
  const found = balances.find(
    (each) =>
      each.accountIndex === accountIndex &&
      each.mint === mint &&
      (owner === null || (each.owner ?? owner) === owner),
  )
  return BigInt(found?.uiTokenAmount.amount ?? '0')
}

function transfer(
  parts: {
    readonly owner: string
    readonly txid: string
    readonly outputIndex: number
    readonly amount: bigint
  },
  asset: PaymentAsset = 'SOL',
): FoundTransfer {
  const { owner, txid, outputIndex, amount } = parts
  return { addressBytes: addressBytesOf(owner), txid, outputIndex, asset, amount, minimumConfirmations: 1 }
}
