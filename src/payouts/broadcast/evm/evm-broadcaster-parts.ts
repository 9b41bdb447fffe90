import type { AssetId, Network } from '../../../core/assets.ts'
import type { EvmToken } from '../../../core/chain/evm-parameters.ts'
import type { Pool } from '../../../postgres/pool.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Log } from '../../../runtime/log.ts'
import type { BroadcastVerdict } from '../broadcaster.ts'
import type { OutcomeSealer } from '../outcome-sealer.ts'
import type { PayoutProvider, PayoutProviders } from '../payout-providers.ts'
import type { EvmAccount, EvmTerms } from './evm-payout-client.ts'
import type { EvmReceiptFound } from './evm-receipt.ts'
import type { SweeperState } from './sweeper-state.ts'

/** An account-based chain, as payouts see it; `EvmPayoutClient` reads it. */
export type EvmPayoutChain = PayoutProvider & {
  accountOf(account: Uint8Array): Promise<EvmAccount>
  nonceOf(account: Uint8Array, at: 'latest' | 'finalized'): Promise<number>
  balanceOf(account: Uint8Array): Promise<bigint>
  tokenBalanceOf(asset: AssetId, account: Uint8Array): Promise<bigint>
  finalizedHeight(): Promise<number | null>
  receiptOf(txid: string): Promise<EvmReceiptFound | null>
  nonceUser(
    place: { sender: Uint8Array; nonce: number },
    lowest: number,
  ): Promise<string | 'searching' | 'unseen'>
  termsOf(txid: string): Promise<EvmTerms | 'other' | null>
  gasOf(payment: { from: Uint8Array; to: Uint8Array; value: bigint }): Promise<bigint>
  failureOf(
    call: { asset: AssetId; from: Uint8Array; data: Uint8Array },
    height?: number | null,
  ): Promise<string | null>
  sweeperOf(hot: Uint8Array): Promise<SweeperState>
  isDelegated(deposit: Uint8Array, hot: Uint8Array): Promise<boolean>
  broadcast(raw: Uint8Array): Promise<BroadcastVerdict>
}

export type EvmBroadcasterParts = {
  readonly network: Network
  readonly providers: PayoutProviders<EvmPayoutChain>
  readonly sealer: OutcomeSealer
  /** Those of the network, in which payouts are made as well. */
  readonly tokens: readonly EvmToken[]
  /** Pause between two looks at the chain while something is on its way, milliseconds. */
  readonly lookEveryMs: number
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  /** On a sandbox chain, what gives the hot wallet ether for gas. */
  readonly topUp: ((address: Uint8Array) => Promise<void>) | null
}
