import type { PaymentAsset } from '../../core/assets.ts'
import { concurrently } from '../concurrently.ts'
import type { Reading } from './account-histories.ts'
import { ACCOUNTS_PER_CALL, type SolanaRpc } from './solana-rpc.ts'
import type { OwnersAccount, TokenAccounts } from './token-accounts.ts'

const CALLS_IN_FLIGHT = 4

/** Whether an open checkout may be paid in an asset other than its address's own coin. */
export type IsAsked = (owner: string, asset: PaymentAsset) => boolean

/** Owners that somebody may pay. Null: in whatever is looked for. */
export type Open = { readonly owners: readonly string[]; readonly isAsked: IsAsked | null }

/** Whose accounts a round reads: of the open ones those that somebody is asked to pay into, of the others all. */
export type Owners = { readonly open?: Open; readonly closed: readonly string[] }

/** The accounts that a round reads, and which of them are those of open checkouts. */
export async function accountsToRead(
  tokens: TokenAccounts,
  { open, closed }: Owners,
): Promise<{ readonly accounts: readonly OwnersAccount[]; readonly isOpen: ReadonlySet<string> }> {
  const accounts = new Map<string, OwnersAccount>()
  const { owners = [], isAsked = null } = open ?? {}
  for (const owner of owners)
    for (const each of await tokens.of(owner))
      if (each.mint === null || isAsked === null || isAsked(owner, each.mint.asset))
        accounts.set(each.account, each)
  const isOpen = new Set(accounts.keys())
  for (const owner of closed) for (const each of await tokens.of(owner)) accounts.set(each.account, each)
  return { accounts: [...accounts.values()], isOpen }
}

/** Balances: the lamports of an owner, or the tokens that an account of it holds. */
export async function readBalances(
  rpc: SolanaRpc,
  all: readonly OwnersAccount[],
  minSlot: number,
): Promise<Reading[]> {
  const batches: OwnersAccount[][] = []
  for (let at = 0; at < all.length; at += ACCOUNTS_PER_CALL)
    batches.push(all.slice(at, at + ACCOUNTS_PER_CALL))
  const readings = await concurrently(batches, CALLS_IN_FLIGHT, async (batch) => {
    const accounts = batch.map(({ account }) => account)
    const { slot, balances } = await rpc.balancesOf(accounts, minSlot)
    return batch.map(({ account, mint }, index): Reading => {
      const { lamports = 0n, tokens = 0n } = balances[index] ?? {}
      return { account, mint, balance: mint === null ? lamports : tokens, slot }
    })
  })
  return readings.flat()
}
