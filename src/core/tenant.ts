/** Whose rows something is about: one merchant's, in one mode. */
export type Tenant = { readonly merchantId: string; readonly livemode: boolean }

/** The tenant of a payout, an invoice or whatever else belongs to one. */
export const tenantOf = ({ merchantId, livemode }: Tenant): Tenant => ({ merchantId, livemode })
