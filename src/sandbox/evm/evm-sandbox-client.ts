import { Pool } from 'undici'
import { z } from 'zod'
import { ChainUnavailable } from '../../chain/adapter.ts'
import type { AssetId } from '../../core/assets.ts'
import type { SandboxLevers } from '../levers.ts'
import type { SignedPayment } from '../utxo/utxo-wallet.ts'

const CONNECTIONS_MAX = 4
const ANSWER_TIMEOUT_MS = 30_000

const hash = z.string().regex(/^0x[0-9a-f]{64}$/)
const signedSchema = z.object({ txid: hash, hex: z.string() })
const paymentSchema = signedSchema.extend({ replacement: signedSchema })
const answerSchema = z.object({
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
})

/** The levers of an EVM sandbox chain, in this process or another. */
export class EvmSandboxClient implements SandboxLevers {
  readonly #pool: Pool
  readonly #authorization: string
  #lastId = 0

  constructor(rpcUrl: string) {
    const { origin, username, password } = new URL(rpcUrl)
    this.#pool = new Pool(origin, { connections: CONNECTIONS_MAX, headersTimeout: ANSWER_TIMEOUT_MS })
    this.#authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  }

  signPayment(asset: AssetId, address: string, amount: bigint): Promise<SignedPayment> {
    return this.#call('sandbox_signpayment', [asset, address, amount.toString()], paymentSchema)
  }

  async send({ hex }: SignedPayment): Promise<void> {
    await this.#call('eth_sendRawTransaction', [hex], hash)
  }

  async show({ hex }: SignedPayment, until: 'detected' | 'confirmed'): Promise<void> {
    await this.#call('sandbox_show', [hex, until], hash)
  }

  async replace({ txid, replacement }: SignedPayment): Promise<void> {
    await this.#call('sandbox_replace', [txid, replacement.hex], z.boolean())
  }

  async withdraw({ txid }: SignedPayment): Promise<void> {
    await this.#call('sandbox_replace', [txid, null], z.boolean())
  }

  /** Its account has sent nothing since, so that it is as good as it was. */
  release(payment: SignedPayment): Promise<void> {
    return this.send(payment)
  }

  /** Hashes of the blocks made. */
  mine(count: number): Promise<string[]> {
    return this.#call('sandbox_mine', [count], z.array(hash))
  }

  async close(): Promise<void> {
    await this.#pool.close()
  }

  async #call<Result>(
    method: string,
    params: readonly unknown[],
    schema: z.ZodType<Result>,
  ): Promise<Result> {
    const { result, error } = await this.#ask(method, params)
    if (error !== undefined)
      throw new ChainUnavailable(`the sandbox chain answered ${method} with: ${error.message}`)
    return schema.parse(result)
  }

  async #ask(method: string, params: readonly unknown[]): Promise<z.output<typeof answerSchema>> {
    try {
      const { body } = await this.#pool.request({
        method: 'POST',
        path: '/',
        headers: { 'content-type': 'application/json', authorization: this.#authorization },
        body: JSON.stringify({ jsonrpc: '2.0', id: ++this.#lastId, method, params }),
      })
      return answerSchema.parse(await body.json())
    } catch (error) {
      throw new ChainUnavailable(`the sandbox chain did not answer ${method}`, { cause: error })
    }
  }
}
