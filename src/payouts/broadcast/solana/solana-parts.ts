import type { SolanaRpc } from '../../../chain/solana/solana-rpc.ts'
import type { Network } from '../../../core/assets.ts'
import type { Pool } from '../../../postgres/pool.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Log } from '../../../runtime/log.ts'
import type { OutcomeSealer } from '../outcome-sealer.ts'
import type { PayoutProviders } from '../payout-providers.ts'
import type { PayoutToken } from './vault-tokens.ts'

/** What those that look after a Solana network's payouts share. */
export type SolanaParts = {
  readonly network: Network
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly providers: PayoutProviders<SolanaRpc>
  readonly sealer: OutcomeSealer
  readonly tokens: readonly PayoutToken[]
}
