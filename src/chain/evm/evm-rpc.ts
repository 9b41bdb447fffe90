import { z } from 'zod'
import { AnswerTooLarge, ChainUnavailable } from '../adapter.ts'
import { HttpConnection } from '../http-connection.ts'

const ANSWER_MS_MAX = 20_000
const CONNECTIONS_MAX = 8
/** The traces of a full block are some tens of megabytes. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024

/** JSON-RPC 2.0, and EIP-1474's own codes. */
const METHOD_NOT_FOUND = [-32601, -32004]
const LIMIT_EXCEEDED = -32005
const RESOURCE_NOT_FOUND = -32001
const UNKNOWN_BLOCK_WORDS = /(block|header)s?( .*)? not found|unknown block/i
/** The code and message of a reverted call. What follows the message was written by the contract's author, who may be anybody. */
const REVERTED = 3
const REVERTED_WORD = /\brevert/i
/** What providers say where a range of blocks, or its answer, is too large for them. */
const RANGE_LABELS =
  /block range|ranges? over|range (is )?too (large|wide)|limit(ed)? to|more than \d+ (results|logs)|response (size|too large)|too many (results|blocks)|max(imum)? (range|results)|exceeds? (the )?(max|range|limit)/i
const METHOD_PATTERN =
  /method .*(not|n't) |not (supported|available|whitelisted|allowed|enabled)|unsupported method/i
/** State of a block that the node no longer has is "not available", and the method is. */
const STATE_PATTERN = /missing trie node|\bstate\b.*(not |un)available/i
/** Infura's for a day's credits, HTTP's for too many requests, QuickNode's for those of a second. */
const NOT_NOW = [402, 429, -32007]
const NOT_NOW_WORDS =
  /rate.?(limit|exceeded)|too many requests|capacity|throttl|daily request|no backend|backend (is|offline)/i

/** The node understood the request and rejected it. */
export class EvmRpcError extends ChainUnavailable {
  override name = 'EvmRpcError'
  readonly code: number
  /** `not_now`: a limit of its plan is reached, or the gateway has no node behind it. */
  readonly kind: 'no_such_method' | 'range_too_large' | 'not_now' | 'other'
  /** The node does not have the block yet, or does not have its state any more: the words are the same. */
  readonly isUnknownBlock: boolean

  constructor(where: string, method: string, answer: { code: number; message: string }) {
    super(`the node at ${where} answered ${method} with: ${answer.message} (${answer.code})`)
    this.code = answer.code
    this.kind = kindOf(answer)
    this.isUnknownBlock =
      this.kind === 'other' &&
      (answer.code === RESOURCE_NOT_FOUND || UNKNOWN_BLOCK_WORDS.test(answer.message))
  }
}

/** HTTP 429. */
class TooManyCalls extends ChainUnavailable {
  override name = 'TooManyCalls'
}

/** Whether this one question is too much for the node: others, about the same block, it may answer. */
export function isTooMuch(error: unknown): error is ChainUnavailable {
  return error instanceof AnswerTooLarge || (error instanceof EvmRpcError && error.kind !== 'not_now')
}

/** Whether a limit of the provider's is reached: the same question may be answered later, and another one not now. */
export function isNotNow(error: unknown): boolean {
  return error instanceof TooManyCalls || (error instanceof EvmRpcError && error.kind === 'not_now')
}

function kindOf({ code, message }: { code: number; message: string }): EvmRpcError['kind'] {
  if (code === REVERTED || REVERTED_WORD.test(message)) return 'other'
  if (METHOD_NOT_FOUND.includes(code)) return 'no_such_method'
  if (NOT_NOW.includes(code) || NOT_NOW_WORDS.test(message)) return 'not_now'
  // Before a missing method: a range, too, may be "not supported".
  if (RANGE_LABELS.test(message)) return 'range_too_large'
  if (METHOD_PATTERN.test(message) && !STATE_PATTERN.test(message)) return 'no_such_method'
  if (code === LIMIT_EXCEEDED) return 'range_too_large'
  return 'other'
}

const answerSchema = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).nullish(),
})

/** Ethereum's JSON-RPC over HTTP (EIP-1474). Every failure is a `ChainUnavailable` that names the fix. */
export class EvmRpc {
  readonly #connection: HttpConnection
  /** Host and port, for messages: the URL itself holds credentials. */
  readonly where: string
  readonly #setting: string
  #lastId = 0

  /** `setting` is the name under which the operator configured `url`. */
  constructor(url: string, setting: string, answerMsMax: number = ANSWER_MS_MAX) {
    this.#setting = setting
    this.#connection = new HttpConnection(new URL(url), {
      kind: 'the node',
      setting,
      connections: CONNECTIONS_MAX,
      answerMsMax,
      answerBytesMax: ANSWER_BYTES_MAX,
    })
    this.where = this.#connection.where
  }

  /** Calls a method and parses its result. Throws `EvmRpcError` where the node refuses, else `ChainUnavailable`. */
  async call<Result>(method: string, params: readonly unknown[], schema: z.ZodType<Result>): Promise<Result> {
    this.#lastId += 1
    const body = JSON.stringify({ jsonrpc: '2.0', id: this.#lastId, method, params })
    const { status, text } = await this.#connection.postJson(body)
    const answer = this.#parse(method, status, text)
    if (answer.error) throw new EvmRpcError(this.where, method, answer.error)
    const parsed = schema.safeParse(answer.result)
    if (parsed.success) return parsed.data
    throw new ChainUnavailable(
      `what answers ${method} at ${this.where} is no Ethereum node: correct ${this.#setting}`,
      { cause: parsed.error },
    )
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  #parse(method: string, status: number, text: string): z.infer<typeof answerSchema> {
    if (status === 429)
      throw new TooManyCalls(`${this.where} answers only so many calls (429): raise its plan`)
    if ((status === 401 || status === 403) && !isWithoutTraces(method, text)) {
      throw new ChainUnavailable(`${this.where} refuses the key or password: correct it in ${this.#setting}`)
    }
    if (status >= 500 && !text.startsWith('{')) {
      throw new ChainUnavailable(`${this.where} fails with HTTP ${status}`)
    }
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (error) {
      throw new ChainUnavailable(this.#noNode(), { cause: error })
    }
    const parsed = answerSchema.safeParse(value)
    if (!parsed.success) throw new ChainUnavailable(this.#noNode(), { cause: parsed.error })
    return parsed.data
  }

  #noNode(): string {
    return `what answers at ${this.where} is no Ethereum node: correct ${this.#setting}`
  }
}

/** Some providers refuse what a plan does not include as they refuse a wrong key: 403, and the reason in the error. */
function isWithoutTraces(method: string, text: string): boolean {
  return method.startsWith('debug_') && text.startsWith('{') && METHOD_PATTERN.test(text)
}
