import { AnswerTooLarge, ChainUnavailable } from '../chain/adapter.ts'
import { HttpConnection } from '../chain/http-connection.ts'
import { elementsOf, membersOf, type Span } from './raw-json.ts'
import type { Call } from './read-calls.ts'
import { isWhole } from './shared-methods.ts'

/** As long as a cell waits for a node of Bitcoin's family, and longer than for others. */
export const ANSWER_MS_MAX = 30_000
/** More than a cell takes of any provider: which answer is too long for it, the cell finds itself. */
const ANSWER_BYTES_MAX = 500 * 1024 * 1024
const BAD_GATEWAY = 502
const GATEWAY_TIMEOUT = 504

export type Answer = {
  readonly status: number
  readonly bytes: Buffer
  /** Where it names its call; null where it is none of a node that understood the call. */
  readonly id: Span | null
  /** Whether it may be given to others later: it has a result. */
  readonly isKept: boolean
  /** Whether it did not come, or not all of it, in the time that it has. */
  readonly isLate: boolean
  /** When all of it was here, by `performance.now()`. */
  readonly endedAt: number
}

/** The calls to one provider. Whatever goes wrong is an answer too, as who stands before a node gives it (RFC 9110, section 15.6). */
export class ProviderCalls {
  readonly #connection: HttpConnection
  readonly #onFailure: (error: ChainUnavailable) => void
  #lastId = 0
  /** Calls that it was sent so far. */
  count = 0

  constructor(
    url: string,
    options: {
      readonly setting: string
      readonly connections: number
      readonly onFailure: (error: ChainUnavailable) => void
    },
  ) {
    const { setting, connections } = options
    this.#onFailure = options.onFailure
    this.#connection = new HttpConnection(new URL(url), {
      kind: 'the node',
      setting,
      connections,
      answerMsMax: ANSWER_MS_MAX,
      wholeAnswerMsMax: ANSWER_MS_MAX,
      answerBytesMax: ANSWER_BYTES_MAX,
    })
  }

  /** Passes a request on as it is, of so many calls. `gone`: nobody waits for it any more. */
  async forward(body: string | Buffer, calls: number, gone: AbortSignal): Promise<Answer> {
    this.count += calls
    try {
      const { status, body: bytes } = await this.#connection.postForBytes(body, gone)
      return { status, bytes, id: null, isKept: false, isLate: false, endedAt: performance.now() }
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error
      if (!gone.aborted) this.#onFailure(error)
      return failed(error instanceof AnswerTooLarge ? GATEWAY_TIMEOUT : BAD_GATEWAY, error.message)
    }
  }

  /** Sends calls, several in one request, with ids of our own; an answer to each. */
  async send(calls: readonly Call[], gone: AbortSignal): Promise<readonly Answer[]> {
    const numbered = calls.map((call) => {
      this.#lastId += 1
      return { call, id: `${this.#lastId}` }
    })
    const texts = numbered.map(({ call, id }) => `{"id":${id},${call.rest}}`)
    const [only] = texts
    const isOne = only !== undefined && texts.length === 1
    const answer = await this.forward(isOne ? only : `[${texts.join(',')}]`, calls.length, gone)
    const whole: Span = [0, answer.bytes.length]
    const spans = isOne ? [whole] : elementsOf(answer.bytes)
    if (spans === null) return calls.map(() => answer)
    const read = new Map(spans.map((span) => readAnswer(answer, span)))
    return numbered.map(({ call, id }) => {
      const found = read.get(id)
      if (found !== undefined) return { ...found, isKept: isKept(call, found) }
      return isOne ? answer : failed(BAD_GATEWAY, 'the node left out an answer of several')
    })
  }

  close(): Promise<void> {
    return this.#connection.close()
  }
}

type ReadAnswer = Answer & { readonly result: Buffer | null }

/** An answer by its id; a part of a batch is copied, so that it does not hold all of it. */
function readAnswer(whole: Answer, [start, end]: Span): readonly [string, ReadAnswer] {
  const isAll = end - start === whole.bytes.length
  const bytes = isAll ? whole.bytes : Buffer.from(whole.bytes.subarray(start, end))
  const members = membersOf(bytes)
  const partOf = (name: string) => {
    const span = members?.get(name)
    return span === undefined ? null : bytes.subarray(...span)
  }
  const error = partOf('error')
  const result = error === null || error.equals(NULL) ? partOf('result') : null
  const id = members?.get('id') ?? null
  return [partOf('id')?.toString('latin1') ?? '', { ...whole, bytes, id, result }]
}

const NULL = Buffer.from('null')
const OK = 200

const isKept = ({ sharing, method }: Call, { status, result }: ReadAnswer): boolean =>
  status === OK &&
  result !== null &&
  !result.equals(NULL) &&
  (sharing === 'moment' || isWhole(method, result))

const failed = (status: number, message: string): Answer => ({
  status,
  bytes: Buffer.from(`${message}\n`),
  id: null,
  isKept: false,
  isLate: status === GATEWAY_TIMEOUT,
  endedAt: performance.now(),
})
