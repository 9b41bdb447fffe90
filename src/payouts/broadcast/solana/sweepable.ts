import type { TokenSource } from '../../store/solana-token-sweeps.ts'

/** What of a merchant's at deposit addresses can be swept, and what the others are worth; base units of one asset. */
export type Sweepable = {
  readonly sources: readonly TokenSource[]
  /** Of addresses that hold less than the books say. */
  readonly short: bigint
  /** Not for now. */
  readonly waiting: bigint
  /** Of those that their issuer lets nobody move. */
  readonly frozen: bigint
  /** Of those that are worth no more than it takes to sweep them. */
  readonly dust: bigint
}

export const NOTHING: Sweepable = { sources: [], short: 0n, waiting: 0n, frozen: 0n, dust: 0n }
