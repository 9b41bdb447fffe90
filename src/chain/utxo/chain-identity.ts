import type { UtxoParameters } from '../../core/chain/utxo-parameters.ts'
import type { ChainProvider } from '../adapter.ts'

/** Its proof of work, or the address it pays, makes a chain's first block its own; genesis is the same for all. */
const FIRST_HEIGHT = 1

/** See `ChainAdapter.identity`. */
export async function identityOf(
  parameters: UtxoParameters,
  provider: Pick<ChainProvider, 'hashAt'>,
): Promise<string | null> {
  return parameters.isolated ? provider.hashAt(FIRST_HEIGHT) : parameters.name
}
