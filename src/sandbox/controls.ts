import type { AssetId } from '../core/assets.ts'
import type { PendingStep } from './pending-step.ts'

export type SignedTransaction = {
  readonly txid: string
  /** As the chain's own RPC takes it: base64 on Solana. */
  readonly hex: string
}

export type SignedPayment = SignedTransaction & {
  /** Spends the same coin back to the wallet for a higher fee, and does not pay the address. */
  readonly replacement: SignedTransaction
}

/**
 * What a test payment does with a sandbox chain. Whatever the chain refuses or does not answer is a
 * `SandboxUnavailable`.
 */
export type SandboxControls = {
  /** Signs a payment in base units, and the transaction that would replace it; sends neither. */
  signPayment(asset: AssetId, address: string, amount: bigint): Promise<SignedPayment>
  send(payment: SignedPayment): Promise<void>
  /** Sends a payment that can be taken back: once it was detected, or once it was confirmed. */
  show(payment: SignedPayment, until: 'detected' | 'confirmed'): Promise<void>
  /** Replaces a payment by a transaction that does not pay the invoice. */
  replace(payment: SignedPayment): Promise<void>
  /** Replaces the blocks that hold a payment by others without it. */
  withdraw(payment: SignedPayment): Promise<void>
  /** Lets a payment that was withdrawn into a block again. */
  release(payment: SignedPayment): Promise<void>
  /** Keeps what is left to do for when the chain starts again; absent if a chain cannot. */
  readonly pendingSteps?: { keep(step: PendingStep): Promise<void>; done(txid: string): Promise<void> }
}
