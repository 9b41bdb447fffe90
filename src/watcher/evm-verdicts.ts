import type { EvmReceiptFound } from '../chain/evm/payout-carrier.ts'
import type { EvmPayoutChain } from './evm-carriage.ts'

/** Whether this block is final, and has this transaction with this outcome. */
export async function isFinalWith(
  chain: EvmPayoutChain,
  txid: string,
  { hash, succeeded }: EvmReceiptFound,
): Promise<boolean> {
  const receipt = await finalReceiptOf(chain, txid)
  return receipt?.hash === hash && receipt.succeeded === succeeded
}

/** Whether a final block has this transaction, and it did nothing there but use up its nonce. */
export async function isRevertedForGood(chain: EvmPayoutChain, txid: string): Promise<boolean> {
  return (await finalReceiptOf(chain, txid))?.succeeded === false
}

async function finalReceiptOf(chain: EvmPayoutChain, txid: string): Promise<EvmReceiptFound | null> {
  const finalized = await chain.finalizedHeight()
  const receipt = await chain.receiptOf(txid)
  return receipt !== null && finalized !== null && receipt.height <= finalized ? receipt : null
}

type Place = { readonly sender: Uint8Array; readonly nonce: number }

/** Whether a final block has the nonce of an account and, as far as the provider keeps receipts, none of these transactions. */
export async function isNonceGone(
  chain: EvmPayoutChain,
  place: Place,
  txids: () => Promise<readonly string[]>,
): Promise<boolean> {
  if ((await chain.nonceOf(place.sender, 'finalized')) <= place.nonce) return false
  // Asked after the nonce: what was in the final block then, is in it now, and what was signed meanwhile is listed.
  for (const txid of await txids()) if ((await chain.receiptOf(txid)) !== null) return false
  return true
}

/**
 * Whether no block will ever have one of these transactions: something else has their nonce, in a final block. `dropped`:
 * the provider has not kept the receipts of their time, and cannot say. No block below `fromHeight` can have them; without
 * that height nobody can tell.
 */
export async function hasNonceElsewhere(
  chain: EvmPayoutChain,
  place: Place,
  of: { readonly txids: () => Promise<readonly string[]>; readonly fromHeight: number | null },
): Promise<'elsewhere' | 'open' | 'dropped'> {
  if (!(await isNonceGone(chain, place, of.txids))) return 'open'
  const isKept = of.fromHeight !== null && (await chain.keepsReceiptsFrom(of.fromHeight))
  return isKept ? 'elsewhere' : 'dropped'
}
