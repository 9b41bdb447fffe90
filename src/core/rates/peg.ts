import { formatPrice, PRICE_UNIT } from '../money.ts'

/**
 * US dollars between which a dollar token's price lies in ordinary times; in those in which it does not (USDC on 11 March
 * 2023 was at 0.88), an invoice in dollars of any issuer takes none of it, at its rate or at a dollar.
 */
export const PEG_BAND = [(98n * PRICE_UNIT) / 100n, (102n * PRICE_UNIT) / 100n] as const

export const isAtPeg = (price: bigint): boolean => price >= PEG_BAND[0] && price <= PEG_BAND[1]

/** The band in words: `0.98 to 1.02`. */
export const PEG_BAND_TEXT = PEG_BAND.map(formatPrice).join(' to ')
