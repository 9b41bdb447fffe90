import { EventEmitter } from 'node:events'
import type { Client } from 'undici'
import { ConnectionPool, discard } from './connection-pool.ts'
import { isReset } from './outcome-code.ts'
import type { ConnectPolicy } from './vetted-connect.ts'

/** A body up to this size is read away so that the connection can be used again; beyond it the connection goes. */
const DISCARD_BYTES_MAX = 16_384
const DISCARD_MS_MAX = 250

type PostRequest = {
  /** Whose connections to use: nobody else's slow receiver stands in the way. */
  readonly queue: string
  readonly url: URL
  readonly headers: Record<string, string>
  readonly body: Uint8Array
  /** For all of it, from before the name is looked up. */
  readonly deadlineMs: number
  /** Bytes of the answer's body to hand back; 0 discards it unread. */
  readonly readBytesMax: number
}

export type PostAnswer = {
  readonly status: number
  /** Header names in lower case. */
  readonly headers: Record<string, string | string[] | undefined>
  /** Null where it was longer than `readBytesMax`. */
  readonly body: Buffer | null
}

export type HttpClient = {
  /** One POST, no redirects. Throws `ConnectFailed` or an error of undici, an `AbortError` past the deadline. */
  post(request: PostRequest): Promise<PostAnswer>
  close(): Promise<void>
}

/** An HTTP client whose connections obey `policy`. */
export function createHttpClient(policy: ConnectPolicy): HttpClient {
  const pool = new ConnectionPool(policy)
  return {
    post: async (request) => {
      const deadline = new Deadline(request.deadlineMs)
      let connection = pool.take(request.queue, request.url.origin)
      try {
        const connectsBefore = connection.connects
        let answer: PostAnswer
        try {
          answer = await postOn(connection.client, request, deadline)
        } catch (error) {
          const reused = connection.connects === connectsBefore
          if (!reused || !isReset(error) || deadline.aborted) throw error
          // The receiver closed a kept connection just as we wrote to it, and never saw the request: that is
          // no failure of its own. Once, on a fresh socket.
          discard(connection)
          connection = pool.open(request.url.origin)
          answer = await postOn(connection.client, request, deadline)
        }
        pool.keep(request.queue, connection)
        return answer
      } catch (error) {
        discard(connection)
        throw error
      } finally {
        deadline.clear()
      }
    },
    close: () => pool.close(),
  }
}

async function postOn(client: Client, request: PostRequest, deadline: Deadline): Promise<PostAnswer> {
  const { statusCode, headers, body } = await client.request({
    method: 'POST',
    path: request.url.pathname + request.url.search,
    headers: request.headers,
    body: request.body,
    signal: deadline,
  })
  if (request.readBytesMax > 0) {
    return { status: statusCode, headers, body: await readUpTo(body, request.readBytesMax) }
  }
  await discardBody(body)
  return { status: statusCode, headers, body: null }
}

/** What undici takes for a signal, at a fraction of an AbortSignal's cost, and cleared when it is not needed. */
class Deadline extends EventEmitter {
  aborted = false
  readonly #timer: NodeJS.Timeout

  constructor(ms: number) {
    super()
    this.#timer = setTimeout(() => {
      this.aborted = true
      this.emit('abort')
    }, ms)
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}

type ResponseBody = Awaited<ReturnType<Client['request']>>['body']

/** Reads a short body away; a long or slow one costs the connection. Either way none of it is kept. */
async function discardBody(body: ResponseBody): Promise<void> {
  const timer = setTimeout(() => body.destroy(), DISCARD_MS_MAX)
  try {
    await body.dump({ limit: DISCARD_BYTES_MAX })
  } catch {
    // The status is the answer; what comes after it, or does not, changes nothing.
    body.destroy()
  } finally {
    clearTimeout(timer)
  }
}

async function readUpTo(body: ResponseBody, bytesMax: number): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    const bytes = Buffer.from(chunk as Uint8Array)
    length += bytes.length
    if (length > bytesMax) return null
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}
