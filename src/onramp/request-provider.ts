import { Agent, type Dispatcher, request } from 'undici'

/** For the whole answer, headers and body. It is short, because a buyer is waiting. */
export const REQUEST_DEADLINE_MS = 6_000
const CONNECT_TIMEOUT_MS = 3_000
const CONNECTIONS_PER_PROVIDER = 6

/** The answer, parsed as JSON and not checked further. */
export type ProviderResponse =
  | { readonly kind: 'answer'; readonly status: number; readonly body: unknown }
  | { readonly kind: 'failed'; readonly reason: string; readonly cause?: unknown }

type ProviderRequest = {
  readonly method: 'GET' | 'POST'
  readonly url: URL
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string
  /** A longer answer is not read. */
  readonly bytesMax: number
  readonly deadlineMs: number
}

export const openProviderConnections = (): Agent =>
  new Agent({
    connections: CONNECTIONS_PER_PROVIDER,
    pipelining: 1,
    connect: { timeout: CONNECT_TIMEOUT_MS },
  })

/** Sends one request to a card provider and follows no redirect. Faults of the network or the provider are returned, not thrown. */
export async function requestProvider(
  dispatcher: Dispatcher,
  providerRequest: ProviderRequest,
): Promise<ProviderResponse> {
  const { method, url, headers = {}, body, bytesMax, deadlineMs } = providerRequest
  try {
    const response = await request(url, {
      dispatcher,
      method,
      signal: AbortSignal.timeout(deadlineMs),
      headers: { accept: 'application/json', 'user-agent': 'paylink', ...headers },
      ...(body === undefined ? {} : { body }),
    })
    // A body that is given up emits an error; its cause has been reported by then.
    response.body.on('error', () => {})
    const text = await readCapped(response.body, bytesMax)
    if (text === null) return { kind: 'failed', reason: `more than ${bytesMax} bytes` }
    return answerOf(response.statusCode, text)
  } catch (cause) {
    return { kind: 'failed', reason: reasonOf(cause), cause }
  }
}

function answerOf(status: number, text: string): ProviderResponse {
  try {
    return { kind: 'answer', status, body: JSON.parse(text) }
  } catch (cause) {
    return { kind: 'failed', reason: status < 400 ? 'not JSON' : `HTTP status ${status}`, cause }
  }
}

async function readCapped(body: Dispatcher.ResponseData['body'], bytesMax: number): Promise<string | null> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    if (!(chunk instanceof Uint8Array)) throw new Error('a body of no bytes')
    length += chunk.length
    if (length > bytesMax) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function reasonOf(cause: unknown): string {
  if (cause instanceof Error && cause.name === 'TimeoutError') return 'too slow'
  return 'no connection, or one that broke'
}
