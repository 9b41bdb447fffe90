import { Pool } from 'undici'
import { z } from 'zod'
import { ChainUnavailable } from '../../chain/adapter.ts'
import type { AssetId } from '../../core/assets.ts'
import type { SandboxLevers } from '../levers.ts'
import type { SignedPayment } from '../utxo/utxo-wallet.ts'

const CONNECTIONS_MAX = 4
const ANSWER_TIMEOUT_MS = 30_000

const signature = z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{64,88}$/)
/** `hex` is base64 here, as Solana sends transactions. */
const signedSchema = z.object({ txid: signature, hex: z.string() })
const paymentSchema = signedSchema.extend({ replacement: signedSchema })
const answerSchema = z.object({
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
})

/**
 * The levers of the Solana sandbox chain, in this process or another. Nothing waits in the open there: a payment that
 * is to be taken back is confirmed and not final yet, and a fork takes it out of the chain.
 */
export class SolanaSandboxClient implements SandboxLevers {
  readonly #pool: Pool
  readonly #authorization: string

  constructor(rpcUrl: string) {
    const { origin, username, password } = new URL(rpcUrl)
    this.#pool = new Pool(origin, { connections: CONNECTIONS_MAX, headersTimeout: ANSWER_TIMEOUT_MS })
    this.#authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  }

  signPayment(_asset: AssetId, address: string, amount: bigint): Promise<SignedPayment> {
    return this.#call('sandbox_signpayment', [address, amount.toString()], paymentSchema)
  }

  async send({ hex }: SignedPayment): Promise<void> {
    await this.#call('sendTransaction', [hex, { encoding: 'base64' }], signature)
  }

  async show({ hex }: SignedPayment, until: 'detected' | 'confirmed'): Promise<void> {
    const method = until === 'detected' ? 'sandbox_sendunsettled' : 'sendTransaction'
    await this.#call(method, [hex, { encoding: 'base64' }], signature)
  }

  /** The fork that drops it, and the same coins sent elsewhere. */
  async replace({ txid, replacement }: SignedPayment): Promise<void> {
    await this.#call('sandbox_drop', [txid], z.unknown())
    await this.#call('sendTransaction', [replacement.hex, { encoding: 'base64' }], signature)
  }

  async withdraw({ txid }: SignedPayment): Promise<void> {
    await this.#call('sandbox_reorganiseaway', [txid], z.unknown())
  }

  async release({ txid }: SignedPayment): Promise<void> {
    await this.#call('sandbox_release', [txid], z.boolean())
  }

  async close(): Promise<void> {
    await this.#pool.close()
  }

  async #call<Schema extends z.ZodType>(
    method: string,
    params: readonly unknown[],
    schema: Schema,
  ): Promise<z.output<Schema>> {
    const answer = await this.#ask(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    if (answer.error !== undefined) throw new ChainUnavailable(answer.error.message)
    return schema.parse(answer.result)
  }

  async #ask(body: string): Promise<z.output<typeof answerSchema>> {
    try {
      const headers = { authorization: this.#authorization, 'content-type': 'application/json' }
      const response = await this.#pool.request({ path: '/', method: 'POST', headers, body })
      return answerSchema.parse(await response.body.json())
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new ChainUnavailable(`the sandbox chain does not answer: ${reason}`, { cause: error })
    }
  }
}
