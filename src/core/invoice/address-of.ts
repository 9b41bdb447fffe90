import { ASSETS, type AssetId } from '../assets.ts'
import type { Invoice } from './types.ts'

/** Where this asset is paid for the invoice: networks of one key family share an address. Empty where it has none there. */
export function addressOf(
  { asset, address, addressesBeside }: Pick<Invoice, 'asset' | 'address' | 'addressesBeside'>,
  paid: AssetId,
): string {
  const { keyFamily } = ASSETS[paid]
  return keyFamily === ASSETS[asset].keyFamily ? address : (addressesBeside[keyFamily] ?? '')
}
