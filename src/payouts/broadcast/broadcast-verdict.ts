/** What a node said to a signed transaction. */
export type BroadcastVerdict =
  /** It has the transaction: now, from before, or in a block. */
  | { readonly kind: 'known' }
  /** Its inputs do not exist there, or are spent. */
  | { readonly kind: 'lacks_inputs' }
  | { readonly kind: 'refused'; readonly reason: string }
