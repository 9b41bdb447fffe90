import type { Finding } from '../db/ledger/audit.ts'

/** What came of comparing one network's chain with the books. */
export type ChainAudit =
  | {
      readonly kind: 'checked'
      readonly blocksRead: number
      readonly findings: Finding[]
      /** What of it could not be checked, and why; absent or null where nothing. */
      readonly unchecked?: string | null
    }
  /** Why the chain could not be asked. */
  | { readonly kind: 'not_checked'; readonly reason: string }
