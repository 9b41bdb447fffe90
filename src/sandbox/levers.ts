import type { AssetId } from '../core/assets.ts'
import type { Plan } from './plan.ts'
import type { SandboxClient } from './utxo/utxo-sandbox-client.ts'
import type { SignedPayment } from './utxo/utxo-wallet.ts'

/**
 * What a test payment does with a sandbox chain. Whatever the chain refuses or does not answer is a
 * `ChainUnavailable`.
 */
export type SandboxLevers = {
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
  readonly plans?: { keep(plan: Plan): Promise<void>; done(txid: string): Promise<void> }
}

/** On a chain with a mempool a payment is detected there, and its replacement is one by fee. */
export function utxoLevers(client: SandboxClient): SandboxLevers {
  return {
    signPayment: (_asset, address, amount) => client.signPayment(address, amount),
    send: async ({ hex }) => {
      await client.send(hex)
    },
    show: async ({ hex }, until) => {
      if (until === 'detected') await client.sendHeld(hex)
      else await client.send(hex)
    },
    replace: async ({ replacement }) => {
      await client.send(replacement.hex)
    },
    withdraw: async ({ txid }) => {
      await client.reorganiseAway(txid)
    },
    release: ({ txid }) => client.release(txid),
    plans: { keep: (plan) => client.plan(plan), done: (txid) => client.done(txid) },
  }
}
