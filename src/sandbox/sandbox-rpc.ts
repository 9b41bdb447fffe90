import { Pool } from 'undici'
import { z } from 'zod'

const CONNECTIONS_MAX = 8
const ANSWER_TIMEOUT_MS = 30_000

const answerSchema = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).nullish(),
})
type Answer = z.output<typeof answerSchema>

/** A sandbox chain did not answer. */
export class SandboxUnavailable extends Error {
  override name = 'SandboxUnavailable'
}

/** A sandbox chain understood and refused. */
export class SandboxRefused extends SandboxUnavailable {
  override name = 'SandboxRefused'
}

/** JSON-RPC with a sandbox chain, in this process or another. */
export class SandboxRpc {
  readonly #pool: Pool
  readonly #authorization: string
  #lastId = 0

  /** `rpcUrl` carries the chain's user name and password. */
  constructor(rpcUrl: string) {
    const { origin, username, password } = new URL(rpcUrl)
    this.#pool = new Pool(origin, { connections: CONNECTIONS_MAX, headersTimeout: ANSWER_TIMEOUT_MS })
    this.#authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  }

  /** Calls a method and parses its result. Throws `SandboxRefused`, and `SandboxUnavailable` without an answer. */
  async call<Result>(method: string, params: readonly unknown[], schema: z.ZodType<Result>): Promise<Result> {
    const { result, error } = await this.#ask(method, params)
    if (error) throw new SandboxRefused(`the sandbox chain answered ${method} with: ${error.message}`)
    return schema.parse(result)
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }

  async #ask(method: string, params: readonly unknown[]): Promise<Answer> {
    try {
      const { body } = await this.#pool.request({
        method: 'POST',
        path: '/',
        headers: { 'content-type': 'application/json', authorization: this.#authorization },
        body: JSON.stringify({ jsonrpc: '2.0', id: ++this.#lastId, method, params }),
      })
      return answerSchema.parse(await body.json())
    } catch (error) {
      throw new SandboxUnavailable(`the sandbox chain did not answer ${method}`, { cause: error })
    }
  }
}
