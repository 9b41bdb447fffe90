import { Pool } from 'undici'
import { z } from 'zod'
import { pauseUnless } from '../runtime/repeat.ts'
import { CHANGES_PATH } from './password-server.ts'

const CONNECTIONS_MAX = 8
const ANSWER_TIMEOUT_MS = 30_000
/** A chain that is away is asked for its changes again this much later. */
const CHANGES_RETRY_MS = 500

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

  /** Calls `wake` at each change of the chain, and when it can be asked again after it was away; returns how to stop it. */
  subscribe(wake: () => void): () => void {
    const stopping = new AbortController()
    void this.#followChanges(wake, stopping.signal)
    return () => stopping.abort()
  }

  async #followChanges(wake: () => void, stop: AbortSignal): Promise<void> {
    let known = 0
    while (!stop.aborted && !this.#pool.destroyed) {
      try {
        const count = await this.#nextCount(known, stop)
        if (count !== known) wake()
        known = count
      } catch {
        // Whoever follows the chain asks it in its own time too, and reports what is wrong.
        known = 0
        await pauseUnless(stop, CHANGES_RETRY_MS)
      }
    }
  }

  async #nextCount(known: number, signal: AbortSignal): Promise<number> {
    const { statusCode, body } = await this.#pool.request({
      method: 'GET',
      path: `${CHANGES_PATH}${known}`,
      headers: { authorization: this.#authorization },
      signal,
    })
    const text = await body.text()
    if (statusCode !== 200)
      throw new SandboxUnavailable(`the sandbox chain streams no changes: ${statusCode}`)
    return Number(text)
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
