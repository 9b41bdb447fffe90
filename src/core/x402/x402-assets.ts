import { ASSET_IDS, ASSETS, type AssetId, type Network } from '../assets.ts'

/** Whether programs may pay in it by x402: one token of a chain at most, whose holders sign its transfers. */
export const isX402Asset = (asset: AssetId): boolean =>
  ASSETS[asset].token?.standard === 'eip3009' || asset === 'USDC_SOLANA'

/** The token in which programs pay by x402 on a network; null where there is none. */
export const x402AssetOn = (network: Network): AssetId | null =>
  ASSET_IDS.find((asset) => isX402Asset(asset) && network.startsWith(`${ASSETS[asset].chain}-`)) ?? null
