import { concurrently } from '../concurrently.ts'
import type { Reading } from './account-histories.ts'
import { ACCOUNTS_PER_CALL, type SolanaRpc } from './solana-rpc.ts'
import type { OwnersAccount, TokenAccounts } from './token-accounts.ts'

const CALLS_IN_FLIGHT = 4

/** The balances of owners: their lamports, and their tokens of each mint where wallets put them. */
export async function readBalances(
  rpc: SolanaRpc,
  tokenAccounts: TokenAccounts,
  owners: readonly string[],
  minSlot: number,
): Promise<Reading[]> {
  const all: OwnersAccount[] = []
  for (const owner of new Set(owners)) all.push(...(await tokenAccounts.of(owner)))
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
