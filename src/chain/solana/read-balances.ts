import { concurrently } from '../concurrently.ts'
import type { Reading } from './account-histories.ts'
import { ACCOUNTS_PER_CALL, type SolanaRpc } from './solana-rpc.ts'
import type { TokenAccounts } from './token-accounts.ts'

const CALLS_IN_FLIGHT = 4

/** The balances of owners, and of the token accounts where wallets put wrapped SOL. */
export async function readBalances(
  rpc: SolanaRpc,
  tokenAccounts: TokenAccounts,
  owners: readonly string[],
  minSlot: number,
): Promise<Reading[]> {
  const accounts = new Set<string>()
  for (const owner of owners) {
    accounts.add(owner)
    accounts.add(await tokenAccounts.of(owner))
  }
  const all = [...accounts]
  const batches: string[][] = []
  for (let at = 0; at < all.length; at += ACCOUNTS_PER_CALL)
    batches.push(all.slice(at, at + ACCOUNTS_PER_CALL))
  const readings = await concurrently(batches, CALLS_IN_FLIGHT, async (batch) => {
    const { slot, lamports } = await rpc.lamportsOf(batch, minSlot)
    return batch.map((account, index): Reading => ({ account, lamports: lamports[index] ?? 0n, slot }))
  })
  return readings.flat()
}
