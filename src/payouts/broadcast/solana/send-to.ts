import { SOLANA_CODES, SolanaCallFailed, type SolanaRpc } from '../../../chain/solana/solana-rpc.ts'
import type { BroadcastVerdict } from '../broadcaster.ts'

/** What a node says of bytes has one of these codes; anything else says something of the node. */
const REFUSALS: ReadonlySet<number> = new Set([
  SOLANA_CODES.preflightFailure,
  SOLANA_CODES.signatureVerification,
  SOLANA_CODES.invalidParams,
])

/** Sends a signed transaction to a node; `isUntried`: without the node's trying it first. */
export async function sendTo(
  rpc: SolanaRpc,
  raw: Uint8Array,
  { isUntried = false } = {},
): Promise<BroadcastVerdict> {
  try {
    await rpc.sendTransaction(raw, isUntried)
    return { kind: 'known' }
  } catch (error) {
    if (!(error instanceof SolanaCallFailed)) throw error
    if (error.isAlreadyProcessed) return { kind: 'known' }
    if (!REFUSALS.has(error.code)) throw error
    return { kind: 'refused', reason: error.message }
  }
}
