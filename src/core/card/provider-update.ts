/**
 * What a provider reported about a purchase; `abandoned` where, asked long after the buyer left, it knew of none. It changes
 * what the page says and offers, and nothing else.
 */
export const PROVIDER_UPDATES = ['abandoned', 'pending', 'completed', 'failed'] as const
export type ProviderUpdate = (typeof PROVIDER_UPDATES)[number]

const RANKS: { readonly [update in ProviderUpdate]: number } = {
  abandoned: 0,
  pending: 1,
  failed: 2,
  completed: 3,
}

/**
 * The updates that `update` of the same transaction may follow. Providers report things twice and out of order; what
 * ended stays ended.
 */
export const updatesBefore = (update: ProviderUpdate): readonly ProviderUpdate[] =>
  PROVIDER_UPDATES.filter((known) => RANKS[update] > RANKS[known])
