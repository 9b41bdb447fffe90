import { brandColours, type HexColour } from '../../core/checkout/brand-colours.ts'
import { NO_SELLER, type Seller } from '../../core/receipt/seller.ts'

/** How a merchant's pages look, and who sells. */
export type Branding = {
  readonly colour: HexColour | null
  readonly logo: Logo | null
  readonly seller: Seller
}

type Logo = {
  /** Path on our own origin. */
  readonly path: string
  /** Pixels at twice the size at which it is shown. */
  readonly width: number
  readonly height: number
}

export const NO_BRANDING: Branding = { colour: null, logo: null, seller: NO_SELLER }

/** The merchant's colours over those of the style; empty where they chose none. */
export function brandStyle({ colour }: Branding): string {
  if (colour === null) return ''
  const { fill, onFill, light, dark } = brandColours(colour)
  return `:root{--fill:${fill};--on-fill:${onFill};--accent:${light}}@media(prefers-color-scheme:dark){:root{--accent:${dark}}}`
}
