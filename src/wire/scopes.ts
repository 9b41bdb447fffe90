/** What API keys may be allowed, each to read and to write. A key has none unless it was given some. */
export const SCOPE_AREAS = [
  'invoices',
  'payment_links',
  'checkout_sessions',
  'deposits',
  'webhooks',
  'events',
  'payouts',
  'balances',
] as const

export type Scope = `${(typeof SCOPE_AREAS)[number]}:${'read' | 'write'}`

export const SCOPES: readonly Scope[] = SCOPE_AREAS.flatMap((area): Scope[] => [
  `${area}:read`,
  `${area}:write`,
])

/** Whether a text names a scope. */
export const isScope = (text: string): text is Scope => SCOPES.some((scope) => scope === text)
