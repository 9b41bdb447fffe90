import { z } from 'zod'
import type { AssetId } from '../../core/assets.ts'
import type { SandboxControls, SignedPayment } from '../controls.ts'
import { SandboxRpc } from '../sandbox-rpc.ts'

const signature = z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{64,88}$/)
const signedSchema = z.object({ txid: signature, hex: z.string() })
const paymentSchema = signedSchema.extend({ replacement: signedSchema })

/**
 * The controls of the Solana sandbox chain, in this process or another. Nothing waits in the open there: a payment that
 * is to be taken back is confirmed and not final yet, and a fork takes it out of the chain.
 */
export class SolanaSandboxClient implements SandboxControls {
  readonly #rpc: SandboxRpc

  constructor(rpcUrl: string) {
    this.#rpc = new SandboxRpc(rpcUrl)
  }

  signPayment(_asset: AssetId, address: string, amount: bigint): Promise<SignedPayment> {
    return this.#rpc.call('sandbox_signpayment', [address, amount.toString()], paymentSchema)
  }

  async send({ hex }: SignedPayment): Promise<void> {
    await this.#rpc.call('sendTransaction', [hex, { encoding: 'base64' }], signature)
  }

  async show({ hex }: SignedPayment, until: 'detected' | 'confirmed'): Promise<void> {
    const method = until === 'detected' ? 'sandbox_sendunsettled' : 'sendTransaction'
    await this.#rpc.call(method, [hex, { encoding: 'base64' }], signature)
  }

  /** The fork that drops it, and the same coins sent elsewhere. */
  async replace({ txid, replacement }: SignedPayment): Promise<void> {
    await this.#rpc.call('sandbox_drop', [txid], z.unknown())
    await this.#rpc.call('sendTransaction', [replacement.hex, { encoding: 'base64' }], signature)
  }

  async withdraw({ txid }: SignedPayment): Promise<void> {
    await this.#rpc.call('sandbox_reorganiseaway', [txid], z.unknown())
  }

  async release({ txid }: SignedPayment): Promise<void> {
    await this.#rpc.call('sandbox_release', [txid], z.boolean())
  }

  close(): Promise<void> {
    return this.#rpc.close()
  }
}
