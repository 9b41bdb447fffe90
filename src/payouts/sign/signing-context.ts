import type { HDKey } from '@scure/bip32'
import type { Keyspace } from '../../core/assets.ts'
import type { Pool } from '../../postgres/pool.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { DeduplicatedLog } from '../../runtime/deduplicated-log.ts'
import type { Log } from '../../runtime/log.ts'
import type { SolanaKeys } from '../../signer/solana-addresses.ts'
import type { ApprovalMemory } from './approval-memory.ts'
import type { FirstSeen } from './first-seen.ts'
import type { PayoutJournal } from './payout-journal.ts'
import type { ValueLimits } from './signing-limits.ts'

/** What the signer needs to check who approved. */
type ApproverChecks = {
  readonly memory: ApprovalMemory
  /** To which codes and secrets of authenticator apps are sealed. */
  readonly sealKey: Uint8Array
  /** Origin of the dashboard, where passkeys are used. */
  readonly baseUrl: string
}

/** What every part of signing shares. */
export type SigningContext = {
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly folder: string
  /** Live payouts are on private chains: nothing is signed for a public one. */
  readonly staging: boolean
  /** Where the API writes its public key for approvals. */
  readonly approvalKeyFile: string
  readonly journal: PayoutJournal
  readonly seen: FirstSeen
  readonly limits: ValueLimits
  /** Accounts below which keys are derived without hardening, with their private keys. */
  readonly accounts: ReadonlyMap<Keyspace, HDKey>
  readonly solana: SolanaKeys
  /** By which approvals of live payouts are checked. */
  readonly approvers: ApproverChecks
  /** The alarms that were raised. */
  readonly alerts: DeduplicatedLog
  /** For tests that stop it in between. */
  readonly reached?: (point: SigningPoint) => Promise<void>
}

export type SigningPoint = 'before_journal' | 'after_journal' | 'after_commit'
