import { EventEmitter } from 'node:events'
import { Client } from 'undici'
import { isReset } from './outcome-code.ts'
import { type ConnectPolicy, connectVetted } from './vetted-connect.ts'

/** Connections kept for one lane, which is also how many requests of it run at once. */
export const CONNECTIONS_PER_LANE = 8
/** A socket older than this is not used again: names move. */
const SOCKET_AGE_MS_MAX = 5 * 60_000
/** An unused connection is closed after this long, unless its receiver asks for less. */
const KEEP_ALIVE_MS = 4_000
const KEEP_ALIVE_MS_MAX = 60_000
const IDLE_CLIENTS_MAX = 2_048
const IDLE_SWEEP_MS = 30_000
/** Behind the request's own deadline, in case that ever fails to fire. */
const SECOND_TIMEOUT_MS = 11_000
const HEADERS_BYTES_MAX = 16_384
/** A body up to this size is read away so that the connection can be used again; beyond it the connection goes. */
const DISCARD_BYTES_MAX = 16_384
const DISCARD_MS_MAX = 250

type PostRequest = {
  /** Whose connections to use: nobody else's slow receiver stands in the way. */
  readonly lane: string
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

/** One connection; it is used by one request at a time and reconnects by itself. */
type Line = {
  readonly client: Client
  readonly origin: string
  connects: number
  connectedAt: number
  usedAt: number
}

/** An HTTP client whose connections obey `policy`. */
export function createHttpClient(policy: ConnectPolicy): HttpClient {
  const idle = new Map<string, Line[]>()
  let idleCount = 0

  const openLine = (origin: string): Line => {
    const client = new Client(origin, {
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS_MAX,
      headersTimeout: SECOND_TIMEOUT_MS,
      bodyTimeout: SECOND_TIMEOUT_MS,
      maxHeaderSize: HEADERS_BYTES_MAX,
      connect: (options, callback) => {
        line.connects += 1
        line.connectedAt = performance.now()
        connectVetted(policy, options).then(
          (socket) => callback(null, socket),
          (error: Error) => callback(error, null),
        )
      },
    })
    const line: Line = { client, origin, connects: 0, connectedAt: 0, usedAt: 0 }
    return line
  }

  const takeLine = (lane: string, origin: string): Line => {
    const lines = idle.get(lane) ?? []
    const now = performance.now()
    for (let line = lines.pop(); line !== undefined; line = lines.pop()) {
      idleCount -= 1
      if (line.origin === origin && now - line.connectedAt < SOCKET_AGE_MS_MAX) return line
      discard(line)
    }
    return openLine(origin)
  }

  const giveBack = (lane: string, line: Line): void => {
    const lines = idle.get(lane) ?? []
    if (lines.length >= CONNECTIONS_PER_LANE || idleCount >= IDLE_CLIENTS_MAX) {
      discard(line)
      return
    }
    line.usedAt = performance.now()
    lines.push(line)
    idle.set(lane, lines)
    idleCount += 1
  }

  const sweep = setInterval(() => {
    const before = performance.now() - KEEP_ALIVE_MS_MAX
    for (const [lane, lines] of idle) {
      const kept = lines.filter((line) => line.usedAt >= before)
      for (const line of lines) if (line.usedAt < before) discard(line)
      idleCount -= lines.length - kept.length
      if (kept.length === 0) idle.delete(lane)
      else idle.set(lane, kept)
    }
  }, IDLE_SWEEP_MS)
  sweep.unref()

  const postOn = async (line: Line, request: PostRequest, deadline: Deadline): Promise<PostAnswer> => {
    const { statusCode, headers, body } = await line.client.request({
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

  return {
    post: async (request) => {
      const deadline = new Deadline(request.deadlineMs)
      let line = takeLine(request.lane, request.url.origin)
      try {
        const connectsBefore = line.connects
        let answer: PostAnswer
        try {
          answer = await postOn(line, request, deadline)
        } catch (error) {
          const reused = line.connects === connectsBefore
          if (!reused || !isReset(error) || deadline.aborted) throw error
          // The receiver closed a kept connection just as we wrote to it, and never saw the request: that is
          // no failure of its own. Once, on a fresh socket.
          discard(line)
          line = openLine(request.url.origin)
          answer = await postOn(line, request, deadline)
        }
        giveBack(request.lane, line)
        return answer
      } catch (error) {
        discard(line)
        throw error
      } finally {
        deadline.clear()
      }
    },
    close: async () => {
      clearInterval(sweep)
      const lines = [...idle.values()].flat()
      idle.clear()
      idleCount = 0
      await Promise.all(lines.map((line) => line.client.destroy()))
    },
  }
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

function discard(line: Line): void {
  line.client.destroy().catch(() => {
    // Destroying is best effort: the sockets go with it either way.
  })
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
