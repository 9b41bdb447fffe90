import { ASSET_IDS, ASSETS, type Network } from '../../core/assets.ts'
import { hasTokenMoney } from '../../db/addresses/hot-wallets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import { loadSolanaSignerAccounts } from './solana-accounts.ts'
import { isX402Used, loadX402FeePayer } from './x402-fee-payer.ts'

/** Below this a fee payer needs topping up: 0.05 SOL, enough for thousands of payouts, or twenty payments by x402. */
const FEE_PAYER_LOW = 50_000_000n

/** SOL, and the tokens whose payouts take what the fee payer has. */
const PAID_FROM_VAULT = ASSET_IDS.filter((asset) => ASSETS[asset].chain === 'solana')

/** The balance of a fee payer on Solana: that of payouts, or that of payments by x402. */
type FeePayerBalance = {
  readonly network: Network
  /** Base58. */
  readonly feePayer: string
  /** Lamports. */
  readonly held: bigint
  readonly isLow: boolean
  /** Whether there is money on Solana that somebody may want paid out, or x402 was ever used there. */
  readonly isNeeded: boolean
}

export const FEE_PAYER_NETWORKS: readonly Network[] = ['solana-live', 'solana-test']

/** The balance of a network's fee payer; null if it has none, or it was not read yet. */
export async function readFeePayerBalance(db: Queryable, network: Network): Promise<FeePayerBalance | null> {
  const signerAccounts = FEE_PAYER_NETWORKS.includes(network)
    ? await loadSolanaSignerAccounts(db, network)
    : null
  if (signerAccounts?.reading == null) return null
  const held = signerAccounts.reading.feePayerLamports
  const isNeeded = await hasTokenMoney(db, PAID_FROM_VAULT, network.endsWith('-live'))
  return { network, feePayer: signerAccounts.feePayer, held, isLow: held < FEE_PAYER_LOW, isNeeded }
}

/** The balance of a network's fee payer of payments by x402; null if it has none, or it was not read yet. */
export async function readX402FeePayerBalance(
  db: Queryable,
  network: Network,
): Promise<FeePayerBalance | null> {
  const { address: feePayer, reading } = (await loadX402FeePayer(db, network)) ?? {}
  if (feePayer === undefined || reading == null) return null
  const { lamports: held } = reading
  const isNeeded = held > 0n || (await isX402Used(db, network))
  return { network, feePayer, held, isLow: held < FEE_PAYER_LOW, isNeeded }
}
