import { COINS, type PaymentAsset } from './assets.ts'

/**
 * What a chain's own consensus says about a block: `safe` and `finalized` on Ethereum and Base, `finalized` on
 * Solana.
 */
const BLOCK_TAGS = ['safe', 'finalized'] as const
export type BlockTag = (typeof BLOCK_TAGS)[number]

/** When a payment is final: at a number of confirmations, its own block counted, or once its block has a tag. */
export type Finality = number | BlockTag

/** How deep a block is, as far as a reading proves it. `tag` is absent where the chain has none or was not asked. */
export type BlockDepth = { readonly confirmations: number; readonly tag?: BlockTag }

/** Heights of the highest blocks that have each tag, read together with the tip. `finalized` is never above `safe`. */
export type BlockTags = { readonly safe: number; readonly finalized: number }

/** For an asset that an invoice has no rule for. */
const STRICTEST_COUNT = 24

/** Whether a block at this depth is final. A finalized block is also safe. */
export function isFinal(finality: Finality, { confirmations, tag }: BlockDepth): boolean {
  switch (finality) {
    case 'safe':
      return tag === 'safe' || tag === 'finalized'
    case 'finalized':
      return tag === 'finalized'
    default:
      return confirmations >= finality
  }
}

/** The tag of a block at this height. */
export function blockTagAt(height: number, blockTags: BlockTags | null): BlockTag | null {
  if (blockTags === null) return null
  if (height <= blockTags.finalized) return 'finalized'
  return height <= blockTags.safe ? 'safe' : null
}

/**
 * The stricter of a rule and what consensus demands before a coin can move at all. Chains with block tags demand nothing
 * more.
 */
export function atLeast(minimumConfirmations: number, finality: Finality): Finality {
  return typeof finality === 'number' ? Math.max(minimumConfirmations, finality) : finality
}

/** For money in an asset that the invoice has no rule for. */
export function strictestFinality(asset: PaymentAsset): Finality {
  return hasBlockTags(asset) ? 'finalized' : STRICTEST_COUNT
}

/** Whether the asset's chain has block tags, so that a count of blocks says little. */
export function hasBlockTags(asset: PaymentAsset): boolean {
  const { keyFamily } = COINS[asset]
  return keyFamily === 'evm' || keyFamily === 'solana'
}

/** The count of blocks in a rule; null where it is a tag. */
export function countOf(finality: Finality): number | null {
  return typeof finality === 'number' ? finality : null
}

/** Whether a stored or configured value is a rule for this asset: a tag only where its chain has it. */
export function isFinalityFor(asset: PaymentAsset, value: unknown, countMax: number): value is Finality {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 1 && value <= countMax
  if (value === 'safe') return COINS[asset].keyFamily === 'evm'
  return value === 'finalized' && hasBlockTags(asset)
}
