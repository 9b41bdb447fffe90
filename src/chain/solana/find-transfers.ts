import type { FoundTransfer } from '../adapter.ts'
import type { BlockWithAccounts, TransactionInBlock } from './solana-answers.ts'
import { addressBytesOf, type WatchedOwners } from './watched-owners.ts'

/** Of wrapped SOL: the coin inside a token account, which is another asset than what lies on the address itself. */
export const NATIVE_MINT = 'So11111111111111111111111111111111111111112'
/** Wrapped SOL is named by the account that holds it, beyond any index that an account of a transaction can have. */
const WRAPPED_FROM = 1_000

/** All that a block brought to watched owners. */
export const transfersIn = (block: BlockWithAccounts, watched: WatchedOwners): FoundTransfer[] => [
  ...block.transactions.flatMap((each) => findTransfers(each, watched)),
  ...findRewards(block, watched),
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
 * moved them and however many instructions; and wrapped SOL that token accounts of theirs received. A failed
 * transaction brings nothing. The installation's own fee payer puts on addresses what an account must hold, which is no
 * payment; a payout that it pays the fee of may well pay an invoice of this installation. The output index is the
 * account's place in the transaction, where all readings put it.
 */
export function findTransfers(transaction: TransactionInBlock, watched: WatchedOwners): FoundTransfer[] {
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
    const { owner, mint, accountIndex } = after
    if (mint !== NATIVE_MINT || owner === undefined || !watched.has(owner)) continue
    // An account that was somebody else's brings all that it holds.
    const before = transaction.preTokens.find(
      (each) => each.accountIndex === accountIndex && each.mint === mint && (each.owner ?? owner) === owner,
    )
    const amount = BigInt(after.uiTokenAmount.amount) - BigInt(before?.uiTokenAmount.amount ?? '0')
    if (amount <= 0n) continue
    found.push(transfer({ owner, txid, outputIndex: WRAPPED_FROM + accountIndex, amount }, 'WSOL'))
  }
  return found
}

function transfer(
  parts: {
    readonly owner: string
    readonly txid: string
    readonly outputIndex: number
    readonly amount: bigint
  },
  asset: 'SOL' | 'WSOL' = 'SOL',
): FoundTransfer {
  const { owner, txid, outputIndex, amount } = parts
  return { addressBytes: addressBytesOf(owner), txid, outputIndex, asset, amount, minimumConfirmations: 1 }
}
