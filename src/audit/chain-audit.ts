import type { Finding } from '../db/ledger/audit.ts'

/** What came of comparing one network's chain with the books. */
export type ChainAudit =
  | { readonly kind: 'checked'; readonly blocksRead: number; readonly findings: Finding[] }
  /** Why the chain could not be asked. */
  | { readonly kind: 'not_checked'; readonly reason: string }
