import { type Chain, COINS, type PaymentAsset } from '../assets.ts'
import { type EvmChain, evmNetworkOf, isEvmChain } from '../chain/evm-networks.ts'

/** Where anybody can look a transaction up. */
const EXPLORERS: { readonly [chain in Exclude<Chain, EvmChain>]: string } = {
  bitcoin: 'https://mempool.space',
  litecoin: 'https://litecoinspace.org',
  solana: 'https://solscan.io',
}

/** The page of a public explorer on a transaction of live money. */
export function explorerUrl(asset: PaymentAsset, txid: string): string {
  const { chain } = COINS[asset]
  const explorer = isEvmChain(chain) ? evmNetworkOf(chain).main.explorer : EXPLORERS[chain]
  return `${explorer}/tx/${encodeURIComponent(txid)}`
}
