import { type Dispatcher, Pool } from 'undici'
import { AnswerTooLarge, ChainUnavailable } from './adapter.ts'

const CONNECT_TIMEOUT_MS = 5_000
/** A block's traces are large; what takes longer than this trickles in to keep us waiting. */
const WHOLE_ANSWER_MS_MAX = 120_000

/** The connections to one HTTP server. A request that gets no answer is a `ChainUnavailable` that names the fix. */
export class HttpConnection {
  readonly #pool: Pool
  readonly #path: string
  readonly #authorization: string | null
  readonly #server: string
  readonly #setting: string
  readonly #wholeAnswerMsMax: number
  /** Host and port, for messages: the URL itself may hold credentials. */
  readonly where: string

  /** `kind` is what the server is, as in "the node"; `setting` is the name under which the operator configured `url`. */
  constructor(
    url: URL,
    options: {
      readonly kind: string
      readonly setting: string
      readonly connections: number
      /** For the first of an answer, and between its pieces. */
      readonly answerMsMax: number
      /** For all of it, the wait for a free connection included. */
      readonly wholeAnswerMsMax?: number
      /** What is longer is no answer of such a server; long answers are read in one piece. */
      readonly answerBytesMax: number
    },
  ) {
    this.where = url.host
    this.#server = `${options.kind} at ${url.host}`
    this.#setting = options.setting
    this.#wholeAnswerMsMax = options.wholeAnswerMsMax ?? WHOLE_ANSWER_MS_MAX
    this.#path = `${url.pathname}${url.search}`
    this.#authorization = basicAuthorization(url)
    this.#pool = new Pool(url.origin, {
      connections: options.connections,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      headersTimeout: options.answerMsMax,
      bodyTimeout: options.answerMsMax,
      maxResponseSize: options.answerBytesMax,
    })
  }

  /** Posts JSON to the URL itself. */
  async postJson(body: string, signal?: AbortSignal): Promise<{ status: number; text: string }> {
    return this.#request(
      { method: 'POST', path: this.#path, body },
      'application/json',
      async (answer) => ({ status: answer.statusCode, text: await answer.body.text() }),
      signal,
    )
  }

  /** The same for who passes the answer on: its bytes as they came. */
  async postForBytes(body: string | Buffer, signal: AbortSignal): Promise<{ status: number; body: Buffer }> {
    return this.#request({ method: 'POST', path: this.#path, body }, 'application/json', readBytes, signal)
  }

  /** Asks for a path of the server, in place of the URL's own. */
  async requestPath(
    method: 'GET' | 'POST',
    path: string,
    body?: string,
  ): Promise<{ status: number; body: Buffer }> {
    return this.#request({ method, path, ...(body === undefined ? {} : { body }) }, null, readBytes)
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }

  async #request<Answer>(
    request: Dispatcher.RequestOptions,
    contentType: string | null,
    read: (answer: Dispatcher.ResponseData) => Promise<Answer>,
    stop?: AbortSignal,
  ): Promise<Answer> {
    const headers = {
      ...(contentType === null ? {} : { 'content-type': contentType }),
      ...(this.#authorization === null ? {} : { authorization: this.#authorization }),
    }
    const deadline = AbortSignal.timeout(this.#wholeAnswerMsMax)
    const signal = stop === undefined ? deadline : AbortSignal.any([stop, deadline])
    try {
      return await read(await this.#pool.request({ ...request, headers, signal }))
    } catch (error) {
      const Failure = isTooLarge(error) ? AnswerTooLarge : ChainUnavailable
      throw new Failure(explainConnection(error, this.#server, this.#setting), { cause: error })
    }
  }
}

const readBytes = async ({ statusCode, body }: Dispatcher.ResponseData) => ({
  status: statusCode,
  body: Buffer.from(await body.arrayBuffer()),
})

/** HTTP Basic from the credentials of a URL (RFC 7617); null where it has none. */
function basicAuthorization(url: URL): string | null {
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return credentials === ':' ? null : `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}`
}

const TOO_LARGE = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_RES_EXCEEDED_MAX_SIZE']

/** Whether the server was reached, and what failed is the one answer. */
function isTooLarge(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error.name === 'TimeoutError' || ('code' in error && TOO_LARGE.includes(String(error.code)))
}

/** Why a server could not be asked, with the fix: `server` names it, `setting` is where its URL was configured. */
function explainConnection(error: unknown, server: string, setting: string): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `${server} does not answer in time`
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  switch (code) {
    case 'ECONNREFUSED':
      return `${server} refuses the connection: start it, or correct ${setting}`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${server} has a name that does not resolve: correct ${setting}`
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
    case 'ETIMEDOUT':
      return `${server} does not answer in time`
    case 'UND_ERR_RES_EXCEEDED_MAX_SIZE':
      return `${server} sends more than any answer can have`
    default:
      return `${server} ended the connection${code === '' ? '' : ` (${code})`}`
  }
}
