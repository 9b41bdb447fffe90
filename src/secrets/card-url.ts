/** Where the sealed URL of a card provider's session belongs: it opens for this purchase alone. */
export const cardUrlContext = (merchantId: string, purchaseId: string): string =>
  `card_purchase/${merchantId}/${purchaseId}`
