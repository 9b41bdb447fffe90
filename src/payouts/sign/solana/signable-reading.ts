import { isBlockhash } from '@solana/kit'
import type { SolanaReading } from '../../store/solana-accounts.ts'

/** A reading over which something can be signed, and written down; null otherwise: the watcher's login writes any text and number. */
export function signableReading(reading: SolanaReading | null): SolanaReading | null {
  if (reading === null || !isBlockhash(reading.blockhash)) return null
  const { lastValidHeight } = reading
  return Number.isSafeInteger(lastValidHeight) && lastValidHeight >= 0 ? reading : null
}
