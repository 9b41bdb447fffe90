import { z } from 'zod'
import type { SignedPayment } from '../controls.ts'
import type { PendingStep } from '../pending-step.ts'
import { SandboxRpc } from '../sandbox-rpc.ts'

const txidSchema = z.string().regex(/^[0-9a-f]{64}$/)
const signedSchema = z.object({ txid: txidSchema, hex: z.string() })
const paymentSchema = signedSchema.extend({ replacement: signedSchema })
const reorganisedSchema = z.object({ fork_height: z.int(), height: z.int() })

/** The controls of a Bitcoin or Litecoin sandbox chain, one method each. Throws as `SandboxRpc` does. */
export class UtxoSandboxClient {
  readonly #rpc: SandboxRpc

  constructor(rpcUrl: string) {
    this.#rpc = new SandboxRpc(rpcUrl)
  }

  /** Signs a payment in base units, and the transaction that would replace it; sends neither. */
  signPayment(address: string, amount: bigint): Promise<SignedPayment> {
    return this.#rpc.call('sandbox_signpayment', [address, amount.toString()], paymentSchema)
  }

  send(hex: string): Promise<string> {
    return this.#rpc.call('sendrawtransaction', [hex], txidSchema)
  }

  /** Sends what no block takes until it is released. */
  sendHeld(hex: string): Promise<string> {
    return this.#rpc.call('sandbox_sendheld', [hex], txidSchema)
  }

  async release(txid: string): Promise<void> {
    await this.#rpc.call('sandbox_release', [txid], z.null())
  }

  /** Keeps what a scenario has left to do, until `done`: a chain that starts again does it itself. */
  async keepStep(step: PendingStep): Promise<void> {
    await this.#rpc.call('sandbox_plan', [JSON.stringify(step)], z.null())
  }

  async done(txid: string): Promise<void> {
    await this.#rpc.call('sandbox_done', [txid], z.null())
  }

  /** Hashes of the blocks mined. */
  mine(count: number): Promise<string[]> {
    return this.#rpc.call('sandbox_mine', [count], z.array(txidSchema))
  }

  /** Replaces the newest blocks by a branch that is one block longer. */
  async reorganise(depth: number): Promise<{ forkHeight: number; height: number }> {
    const { fork_height, height } = await this.#rpc.call('sandbox_reorganise', [depth], reorganisedSchema)
    return { forkHeight: fork_height, height }
  }

  /** Replaces the branch that holds a transaction by one without it; the transaction waits, held. */
  async reorganiseAway(txid: string): Promise<{ forkHeight: number; height: number }> {
    const { fork_height, height } = await this.#rpc.call('sandbox_reorganiseaway', [txid], reorganisedSchema)
    return { forkHeight: fork_height, height }
  }

  subscribe(wake: () => void): () => void {
    return this.#rpc.subscribe(wake)
  }

  close(): Promise<void> {
    return this.#rpc.close()
  }
}
