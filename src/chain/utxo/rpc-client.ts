import { z } from 'zod'
import { ChainUnavailable } from '../adapter.ts'
import { HttpConnection } from '../http-connection.ts'

const ANSWER_MS_MAX = 30_000
/** A node's own queue holds 16 requests (-rpcworkqueue). */
const CONNECTIONS_MAX = 8
/** The hex of a full block with its extension block, or the ids of a mempool of nearly two million transactions. */
const ANSWER_BYTES_MAX = 128 * 1024 * 1024

/** Error codes of Bitcoin Core's `rpc/protocol.h` that mean something to us. */
export const RPC_CODES = {
  misc: -1,
  notFound: -5,
  outOfRange: -8,
  verifyRejected: -26,
  alreadyInChain: -27,
  warmingUp: -28,
  methodNotFound: -32601,
} as const

/** The node understood and said no. */
export class RpcError extends ChainUnavailable {
  override name = 'RpcError'
  readonly code: number

  constructor(method: string, code: number, message: string) {
    super(`the node answered ${method} with: ${message} (${code})`)
    this.code = code
  }
}

/** Whether a node says that it has thrown a block away, as it may where `prune=` is set. */
export const isPruned = (error: RpcError): boolean => /pruned/i.test(error.message)

const answerSchema = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).nullish(),
})
type Answer = z.infer<typeof answerSchema>
type RpcCall = { readonly method: string; readonly params: readonly unknown[] }
const batchSchema = z.array(answerSchema.extend({ id: z.number() }))

/** JSON-RPC over HTTP with a node of Bitcoin Core's family. Every failure is a `ChainUnavailable` that names the fix. */
export class RpcClient {
  readonly #connection: HttpConnection
  readonly #where: string
  readonly #setting: string
  #lastId = 0

  /** `setting` is the name under which the operator configured `url`. */
  constructor(url: string, setting: string) {
    this.#setting = setting
    this.#connection = new HttpConnection(new URL(url), {
      kind: 'the node',
      setting,
      connections: CONNECTIONS_MAX,
      answerMsMax: ANSWER_MS_MAX,
      answerBytesMax: ANSWER_BYTES_MAX,
    })
    this.#where = this.#connection.where
  }

  /** Calls a method and parses its result. Throws `RpcError` where the node refuses, else `ChainUnavailable`. */
  async call<Result>(method: string, params: readonly unknown[], schema: z.ZodType<Result>): Promise<Result> {
    return this.parseResult(method, await this.callRaw(method, params), schema)
  }

  /**
   * Calls a method once for each of these parameters, all in one request; results in their order. Throws and is null as
   * `callTogether`.
   */
  async callEach<Result>(
    method: string,
    each: readonly (readonly unknown[])[],
    schema: z.ZodType<Result>,
  ): Promise<Result[] | null> {
    const results = await this.callTogether(each.map((params) => ({ method, params })))
    return results?.map((result) => this.parseResult(method, result, schema)) ?? null
  }

  /**
   * Several calls in one request (JSON-RPC 2.0, section 6); results in their order, whose form the caller checks. Throws
   * as `call` does, for the first that failed. Null where what answers serves no batches, as some that stand before a
   * node do not.
   */
  async callTogether(calls: readonly RpcCall[]): Promise<unknown[] | null> {
    const firstId = this.#lastId + 1
    this.#lastId += calls.length
    const numbered = calls.map((call, index) => ({ jsonrpc: '1.0', id: firstId + index, ...call }))
    const { status, text } = await this.#connection.postJson(JSON.stringify(numbered))
    this.#refuseStatus(status)
    const batch = batchSchema.safeParse(parsedOrNull(text))
    if (!batch.success) return null
    const answers = new Map(batch.data.map((answer) => [answer.id, answer]))
    return numbered.map(({ id, method }) => {
      const answer = answers.get(id)
      if (answer === undefined) {
        throw new ChainUnavailable(`${this.#where} left out an answer of several to ${method}`)
      }
      return this.#resultOf(method, answer)
    })
  }

  /** Like `call`, for large results whose form the caller checks itself. */
  async callRaw(method: string, params: readonly unknown[]): Promise<unknown> {
    this.#lastId += 1
    const body = JSON.stringify({ jsonrpc: '1.0', id: this.#lastId, method, params })
    const { status, text } = await this.#connection.postJson(body)
    this.#refuseStatus(status)
    return this.#resultOf(method, this.#parse(text))
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  #resultOf(method: string, { result, error }: Answer): unknown {
    if (!error) return result
    if (error.code === RPC_CODES.warmingUp) {
      throw new ChainUnavailable(`the node at ${this.#where} is starting: ${error.message}`)
    }
    throw new RpcError(method, error.code, error.message)
  }

  /** Throws `ChainUnavailable` where a result has another form. */
  parseResult<Result>(method: string, result: unknown, schema: z.ZodType<Result>): Result {
    const parsed = schema.safeParse(result)
    if (parsed.success) return parsed.data
    throw new ChainUnavailable(
      `${this.#where} answers ${method} in a form that is not known: ${this.#setting} must point to a node of Bitcoin Core's family`,
      { cause: parsed.error },
    )
  }

  #refuseStatus(status: number): void {
    // 200 and 500 (and 400 and 404 for malformed or unknown calls) carry a JSON-RPC answer.
    if (status === 401) {
      throw new ChainUnavailable(
        `the node at ${this.#where} refuses the user name or password: correct them in ${this.#setting}`,
      )
    }
    if (status === 403) {
      throw new ChainUnavailable(
        `the node at ${this.#where} does not serve this address: add it to the node's rpcallowip`,
      )
    }
    if (status === 429) {
      throw new ChainUnavailable(`${this.#where} answers only so many calls (429): raise its plan`)
    }
    if (status === 503) {
      throw new ChainUnavailable(`the node at ${this.#where} is overloaded: raise its rpcworkqueue`)
    }
    if (status > 500) throw new ChainUnavailable(`${this.#where} fails with HTTP ${status}`)
  }

  #parse(text: string): Answer {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (error) {
      throw new ChainUnavailable(this.#noRpc(), { cause: error })
    }
    const parsed = answerSchema.safeParse(value)
    if (!parsed.success) throw new ChainUnavailable(this.#noRpc(), { cause: parsed.error })
    return parsed.data
  }

  #noRpc(): string {
    return `what answers at ${this.#where} is no node of Bitcoin Core's family: correct ${this.#setting}`
  }
}

/** What is no JSON is no list of answers either: asked one by one, the other end says what it is. */
function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
