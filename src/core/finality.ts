import { COINS, type PaymentAsset } from './assets.ts'

/**
 * What a chain's own consensus says about a block: `safe` and `finalized` on Ethereum and Base, `finalized` on
 * Solana.
 */
const CONSENSUS_MARKS = ['safe', 'finalized'] as const
export type BlockTag = (typeof CONSENSUS_MARKS)[number]

/** When a payment is final: at a number of confirmations, its own block counted, or once its block has a mark. */
export type Finality = number | BlockTag

/** How deep a block is, as far as a reading proves it. `mark` is absent where the chain has none or was not asked. */
export type BlockDepth = { readonly confirmations: number; readonly mark?: BlockTag }

/** Heights of the highest blocks that have each mark, read together with the tip. `finalized` is never above `safe`. */
export type BlockTags = { readonly safe: number; readonly finalized: number }

/** For an asset that an invoice has no rule for. */
const STRICTEST_COUNT = 24

/** Whether a block at this depth is final. A finalized block is also safe. */
export function isFinal(finality: Finality, { confirmations, mark }: BlockDepth): boolean {
  switch (finality) {
    case 'safe':
      return mark === 'safe' || mark === 'finalized'
    case 'finalized':
      return mark === 'finalized'
    default:
      return confirmations >= finality
  }
}

/** The mark of a block at this height. */
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
  return isMarked(asset) ? 'finalized' : STRICTEST_COUNT
}

/** Whether the asset's chain marks blocks, so that a count of them says little. */
export function isMarked(asset: PaymentAsset): boolean {
  const { keyFamily } = COINS[asset]
  return keyFamily === 'evm' || keyFamily === 'solana'
}

/** The count of blocks in a rule; null where it is a mark. */
export function countOf(finality: Finality): number | null {
  return typeof finality === 'number' ? finality : null
}

/** Whether a stored or configured value is a rule for this asset: a mark only where its chain has it. */
export function isFinalityFor(asset: PaymentAsset, value: unknown, countMax: number): value is Finality {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 1 && value <= countMax
  if (value === 'safe') return COINS[asset].keyFamily === 'evm'
  return value === 'finalized' && isMarked(asset)
}
