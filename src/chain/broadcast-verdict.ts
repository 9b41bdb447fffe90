/** What a node made of signed bytes. */
export type BroadcastVerdict =
  /** It has the transaction: now, from before, or in a block. */
  | { readonly kind: 'known' }
  /** What it spends does not exist there, or was spent. */
  | { readonly kind: 'lacks_inputs' }
  | { readonly kind: 'refused'; readonly reason: string }
