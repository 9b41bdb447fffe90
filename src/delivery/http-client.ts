import type { IncomingHttpHeaders } from 'node:http'
import type { Client, Dispatcher } from 'undici'
import { ConnectionPool, discard } from './connection-pool.ts'
import { isReset } from './outcome-code.ts'
import type { ConnectPolicy } from './vetted-connect.ts'

/** A body up to this size is read away so that the connection can be used again; beyond it the connection goes. */
const DISCARD_BYTES_MAX = 16_384
const DISCARD_MS_MAX = 250
/** Statuses below it announce a response and are none (RFC 9110 §15.2). */
const INFORMATIONAL_END = 200

type PostRequest = {
  /** Whose connections to use: nobody else's slow receiver stands in the way. */
  readonly queue: string
  readonly url: URL
  readonly headers: Record<string, string>
  readonly body: Uint8Array
  /** For all of it, from before the name is looked up. */
  readonly deadlineMs: number
  /** Bytes of the response's body to hand back; 0 discards it unread. */
  readonly readBytesMax: number
}

export type PostResponse = {
  readonly status: number
  /** Header names in lower case. */
  readonly headers: Record<string, string | string[] | undefined>
  /** Null where it was longer than `readBytesMax`. */
  readonly body: Buffer | null
}

export type HttpClient = {
  /** One POST, no redirects. Throws `ConnectFailed` or an error of undici, an `AbortError` past the deadline. */
  post(request: PostRequest): Promise<PostResponse>
  close(): Promise<void>
}

/** An HTTP client whose connections obey `policy`. */
export function createHttpClient(policy: ConnectPolicy): HttpClient {
  const pool = new ConnectionPool(policy)
  return {
    post: async (request) => {
      const endsAt = performance.now() + request.deadlineMs
      let connection = pool.take(request.queue, request.url.origin)
      try {
        const connectsBefore = connection.connects
        let response: PostResponse
        try {
          response = await postOn(connection.client, request, endsAt)
        } catch (error) {
          const reused = connection.connects === connectsBefore
          if (!reused || !isReset(error)) throw error
          // The receiver closed a kept connection just as we wrote to it, and never saw the request: that is
          // no failure of its own. Once, on a fresh socket.
          discard(connection)
          connection = pool.open(request.url.origin)
          response = await postOn(connection.client, request, endsAt)
        }
        pool.keep(request.queue, connection)
        return response
      } catch (error) {
        discard(connection)
        throw error
      }
    },
    close: () => pool.close(),
  }
}

function postOn(client: Client, request: PostRequest, endsAt: number): Promise<PostResponse> {
  return new Promise((resolve, reject) => {
    const exchange = new Exchange(request.readBytesMax, endsAt, { resolve, reject })
    const path = request.url.pathname + request.url.search
    client.dispatch({ method: 'POST', path, headers: request.headers, body: request.body }, exchange)
  })
}

type Settle = {
  readonly resolve: (response: PostResponse) => void
  readonly reject: (error: unknown) => void
}

/** What undici calls while one request is answered: a third less processor time than its `request` takes. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #settle: Settle
  readonly #bodyBytesMax: number
  /** What was read of the body; null where none of it is kept. */
  readonly #chunks: Buffer[] | null
  readonly #deadline: NodeJS.Timeout
  #discarding: NodeJS.Timeout | undefined
  #controller: Dispatcher.DispatchController | null = null
  #response: { readonly status: number; readonly headers: IncomingHttpHeaders } | null = null
  #bodyBytes = 0

  constructor(readBytesMax: number, endsAt: number, settle: Settle) {
    this.#settle = settle
    this.#chunks = readBytesMax > 0 ? [] : null
    this.#bodyBytesMax = readBytesMax > 0 ? readBytesMax : DISCARD_BYTES_MAX
    this.#deadline = setTimeout(() => this.#expire(), endsAt - performance.now())
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
  }

  onResponseStart(_controller: unknown, status: number, headers: IncomingHttpHeaders): void {
    if (status < INFORMATIONAL_END) return
    this.#response = { status, headers }
    if (this.#chunks === null) this.#discarding = setTimeout(() => this.#cutOff(), DISCARD_MS_MAX)
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.#bodyBytes += chunk.length
    if (this.#bodyBytes > this.#bodyBytesMax) this.#cutOff()
    else this.#chunks?.push(chunk)
  }

  onResponseEnd(): void {
    this.#finish(this.#chunks === null ? null : Buffer.concat(this.#chunks))
  }

  /** Of a body that is not kept, the status decides: what comes after it, or does not, changes nothing. */
  onResponseError(_controller: unknown, error: Error): void {
    if (this.#response !== null && this.#chunks === null) this.#finish(null)
    else this.#fail(error)
  }

  /** A body that is too long or too slow costs the connection. */
  #cutOff(): void {
    this.#finish(null)
    this.#controller?.abort(new Error('the rest of the body is not read'))
  }

  /** Before the connection is made there is no controller: the caller discards the connection and what waits for it. */
  #expire(): void {
    const error = new DOMException('the receiver did not answer in time', 'TimeoutError')
    this.#fail(error)
    this.#controller?.abort(error)
  }

  #finish(body: Buffer | null): void {
    this.#clear()
    if (this.#response !== null) this.#settle.resolve({ ...this.#response, body })
  }

  #fail(error: unknown): void {
    this.#clear()
    this.#settle.reject(error)
  }

  #clear(): void {
    clearTimeout(this.#deadline)
    clearTimeout(this.#discarding)
  }
}
