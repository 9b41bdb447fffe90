/** Why the database refused a sale or a setting: the merchant is moving to another cell, or sells in that one now. */
type MerchantAway = { readonly kind: 'moving' } | { readonly kind: 'moved'; readonly cell: number }

/** Null for any other error. The codes are those of `refuse_away` in the migrations. */
export function merchantAway(error: unknown): MerchantAway | null {
  if (!(error instanceof Error) || !('code' in error)) return null
  if (error.code === 'PL003') return { kind: 'moving' }
  if (error.code !== 'PL004' || !('detail' in error)) return null
  return { kind: 'moved', cell: Number(error.detail) }
}
