import type { AccessKind, SealedModel, SealedRow } from './sealed-rows.ts'

type AccessSet = {
  readonly ownerId: string
  readonly kind: AccessKind
  /** `<id> <seal>` of each row, in order. */
  readonly entries: readonly string[]
}

/** Seals of the rows that decide who may do what, under a key that the database does not hold. */
export type AccessSeals = {
  seal(model: SealedModel, row: SealedRow): string
  isSealed(model: SealedModel, row: SealedRow): boolean
  /** The same; a row without its seal is counted, and logged once. */
  accepts(model: SealedModel, row: SealedRow): boolean
  sealSet(set: AccessSet): string
  isSetSealed(set: AccessSet & { readonly seal: string }): boolean
  /** Since the start. */
  readonly refusals: { readonly count: number }
}
