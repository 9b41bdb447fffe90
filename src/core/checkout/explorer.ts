import { type Chain, COINS, type PaymentAsset } from '../assets.ts'

/** Where anybody can look a transaction up; its id comes after it. */
const EXPLORERS: { readonly [chain in Chain]: string } = {
  bitcoin: 'https://mempool.space/tx/',
  litecoin: 'https://litecoinspace.org/tx/',
  ethereum: 'https://etherscan.io/tx/',
  base: 'https://basescan.org/tx/',
  solana: 'https://solscan.io/tx/',
}

/** The page of a public explorer on a transaction of live money. */
export const explorerUrl = (asset: PaymentAsset, txid: string): string =>
  `${EXPLORERS[COINS[asset].chain]}${txid}`
