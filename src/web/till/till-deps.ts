import type { Takings, TillFacts } from '../../core/checkout/till.ts'

/** What the tills' pages ask for. */
export type TillDeps = {
  /** Null for a slug that opens no till. `session` is what the cookie holds. */
  read(slug: string, session: string | undefined): Promise<TillFacts | null>
  /** What the cookie of somebody with this code holds. Tries are counted, for each till and for each caller. */
  signIn(slug: string, given: { readonly code: string; readonly headers: Headers }): Promise<SignedInAtTill>
  readonly sessionSeconds: number
  /** Counts a sale; false where a till has sold more just now than people can. */
  maySell(linkId: string): boolean
  takings(till: TillFacts, sinceMs: number): Promise<Takings>
}

type SignedInAtTill =
  | { readonly kind: 'signed_in'; readonly session: string }
  | { readonly kind: 'wrong' | 'limited' }
