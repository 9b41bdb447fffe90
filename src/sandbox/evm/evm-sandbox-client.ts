import { z } from 'zod'
import type { AssetId } from '../../core/assets.ts'
import type { SandboxControls, SignedPayment } from '../controls.ts'
import { SandboxRpc } from '../sandbox-rpc.ts'

const hash = z.string().regex(/^0x[0-9a-f]{64}$/)
const signedSchema = z.object({ txid: hash, hex: z.string() })
const paymentSchema = signedSchema.extend({ replacement: signedSchema })

/** The controls of an EVM sandbox chain, in this process or another. */
export class EvmSandboxClient implements SandboxControls {
  readonly #rpc: SandboxRpc

  constructor(rpcUrl: string) {
    this.#rpc = new SandboxRpc(rpcUrl)
  }

  signPayment(asset: AssetId, address: string, amount: bigint): Promise<SignedPayment> {
    return this.#rpc.call('sandbox_signpayment', [asset, address, amount.toString()], paymentSchema)
  }

  async send({ hex }: SignedPayment): Promise<void> {
    await this.#rpc.call('eth_sendRawTransaction', [hex], hash)
  }

  async show({ hex }: SignedPayment, until: 'detected' | 'confirmed'): Promise<void> {
    await this.#rpc.call('sandbox_show', [hex, until], hash)
  }

  async replace({ txid, replacement }: SignedPayment): Promise<void> {
    await this.#rpc.call('sandbox_replace', [txid, replacement.hex], z.boolean())
  }

  async withdraw({ txid }: SignedPayment): Promise<void> {
    await this.#rpc.call('sandbox_replace', [txid, null], z.boolean())
  }

  /** Its account has sent nothing since, so that it is as good as it was. */
  release(payment: SignedPayment): Promise<void> {
    return this.send(payment)
  }

  /** Hashes of the blocks made. */
  mine(count: number): Promise<string[]> {
    return this.#rpc.call('sandbox_mine', [count], z.array(hash))
  }

  close(): Promise<void> {
    return this.#rpc.close()
  }
}
