/** Who sells, as the shop wants it on receipts; null where it did not say. */
export type Seller = {
  readonly legalName: string | null
  /** At most five lines. */
  readonly postalAddress: string | null
  /** With the tax office or the register of companies. */
  readonly taxNumber: string | null
}

export const NO_SELLER: Seller = { legalName: null, postalAddress: null, taxNumber: null }

/** The seller's name and address, line by line; the name of the shop where no other is given, nothing where nothing is. */
export function sellerLines(
  { legalName, postalAddress, taxNumber }: Seller,
  shop: string,
): readonly string[] {
  if (legalName === null && postalAddress === null && taxNumber === null) return []
  return [legalName ?? shop, ...(postalAddress?.split('\n') ?? [])]
}
