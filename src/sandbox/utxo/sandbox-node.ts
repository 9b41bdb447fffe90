import type { Clock } from '../../runtime/clock.ts'
import type { Acceptance } from './accept-transaction.ts'
import type { ChainState } from './chain-state.ts'
import type { ChainTransaction } from './chain-transaction.ts'
import type { Miner } from './miner.ts'
import type { Wallet } from './utxo-wallet.ts'

/** The chain with its wallet, its miner and its clock: what an RPC method works on. */
export class SandboxNode {
  readonly state: ChainState
  readonly wallet: Wallet
  readonly miner: Miner
  private readonly clock: Clock
  private readonly startedAtMs: number

  constructor(parts: { state: ChainState; wallet: Wallet; miner: Miner; clock: Clock }) {
    this.state = parts.state
    this.wallet = parts.wallet
    this.miner = parts.miner
    this.clock = parts.clock
    this.startedAtMs = this.nowMs
  }

  get nowMs(): number {
    return this.clock().getTime()
  }

  get uptimeS(): number {
    return Math.floor((this.nowMs - this.startedAtMs) / 1000)
  }

  /** Takes a transaction in and sees to it that a block follows. */
  submit(transaction: ChainTransaction): Acceptance {
    const verdict = this.state.submit(transaction, this.nowMs)
    if (verdict.kind === 'accepted') this.miner.wake()
    return verdict
  }
}
