import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Network } from '../core/assets.ts'
import type { Log } from '../runtime/log.ts'
import { pauseUnless } from '../runtime/repeat.ts'
import { cellOf } from './cell-name.ts'
import { ANSWER_MS_MAX, type Answer, type ProviderCalls } from './provider-calls.ts'
import { NoCall, readCalls } from './read-calls.ts'
import { Refused } from './refused.ts'
import type { SharedAnswers } from './shared-answers.ts'

/** A transaction of the largest kind in hex, or the addresses of a call for 15,000 balances, and twice that. */
const BODY_BYTES_MAX = 2 * 1024 * 1024
/** Each connection of a cell to a provider carries eight, and its processes have a few. */
const REQUESTS_PER_CELL_MAX = 64
const CONNECTIONS_MAX = 4_096
/** Of requests and of answers that are being sent; beyond it no more are taken. */
const HELD_BYTES_MAX = 1024 * 1024 * 1024
const HEADERS_MS_MAX = 10_000
const REQUEST_MS_MAX = 30_000
const KEEP_ALIVE_MS = 65_000
const HEADER_BYTES_MAX = 16 * 1024
/** As long as a cell waits for the whole of an answer. */
const SENDING_MS_MAX = 120_000
/** Behind the time that a cell gives to any answer: it gives up by itself. */
const GIVEN_UP_MS = ANSWER_MS_MAX + 1_000
/** It needs nothing but its port. */
const HEALTH_PATHS = ['/healthz', '/readyz']

export type Provider = {
  readonly network: Network
  readonly calls: ProviderCalls
  readonly shared: SharedAnswers
}

type GatewayOptions = {
  readonly host: string
  readonly port: number
  /** What cells show as the password of their URLs; null: none. */
  readonly token: string | null
  /** By path, such as `/bitcoin-live/0`. */
  readonly providers: ReadonlyMap<string, Provider>
  readonly log: Log
}

/** What is counted of a request until its answer is sent, or nobody waits for it. */
type Held = { readonly buffers: ArrayBufferLike[]; place: string | null }

/** Serves JSON-RPC over HTTP to cells; each path is a provider. Rejects where the address cannot be listened on. */
export async function startGateway(options: GatewayOptions): Promise<{ stop(): Promise<void> }> {
  const gateway = new Gateway(options)
  const server = createServer(
    {
      headersTimeout: HEADERS_MS_MAX,
      requestTimeout: REQUEST_MS_MAX,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
    },
    (request, response) => void gateway.serve(request, response),
  )
  server.maxConnections = CONNECTIONS_MAX
  // One for each request of a connection that is not answered yet.
  server.on('connection', (socket) => socket.setMaxListeners(0))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, resolve)
  })
  return {
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

class Gateway {
  readonly #options: GatewayOptions
  readonly #openAt = new Map<string, number>()
  /** By how many requests each is held: one answer may go to all cells at once. */
  readonly #holders = new Map<ArrayBufferLike, number>()
  #heldBytes = 0

  constructor(options: GatewayOptions) {
    this.#options = options
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController()
    const { socket } = request
    const closed = new Promise<void>((resolve) => {
      response.once('close', resolve)
      // A request behind another one of its connection hears of the connection's end only so.
      socket.once('close', resolve)
      response.once('close', () => socket.off('close', resolve))
    }).then(() => {
      gone.abort()
      response.destroy()
    })
    const held: Held = { buffers: [], place: null }
    try {
      await this.#answer(request, response, { held, gone: gone.signal })
    } catch (error) {
      this.#refuse(response, error)
    }
    await closed
    this.#release(held)
    if (held.place !== null) this.#count(held.place, -1)
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    { held, gone }: { readonly held: Held; readonly gone: AbortSignal },
  ): Promise<void> {
    if (request.method === 'GET' && HEALTH_PATHS.includes(request.url ?? ''))
      return send(response, 200, [Buffer.from('ok\n')])
    const arrivedAt = performance.now()
    const { token, providers } = this.#options
    const cell = cellOf(request, token)
    const path = request.url ?? ''
    const provider = providers.get(path)
    if (provider === undefined)
      throw new Refused(404, `there is no such path here: use one of ${[...providers.keys()].join(', ')}`)
    if (request.method !== 'POST') throw new Refused(405, 'calls come by POST')
    const place = `${cell} ${path}`
    if (this.#heldBytes > HELD_BYTES_MAX) throw new Refused(503, 'too much is being sent already: try again')
    if ((this.#openAt.get(place) ?? 0) >= REQUESTS_PER_CELL_MAX)
      throw new Refused(
        429,
        `${REQUESTS_PER_CELL_MAX} requests of this cell to this provider are open already`,
      )
    this.#count(place, 1)
    held.place = place
    const body = await this.#readBody(request, held)
    const { isBatch, count, calls } = readCalls(body, provider.network)
    if (calls === null) {
      const answer = await provider.calls.forward(body, count, gone)
      provider.shared.saw(cell, answer.endedAt)
      return this.#pass(response, answer, held, { arrivedAt, gone })
    }
    const answers = await provider.shared.ask(cell, calls, gone)
    const failed = answers.find(({ id }) => id === null)
    if (failed !== undefined) return this.#pass(response, failed, held, { arrivedAt, gone })
    const texts = answers.map((answer, index) => withId(answer, calls[index]?.id ?? 'null'))
    const status = isBatch ? 200 : (answers[0]?.status ?? 200)
    const parts = isBatch ? listOf(texts) : texts.flat()
    this.#hold(held, parts)
    send(response, status, parts)
  }

  /** An answer as it came. One that did not come keeps a cell waiting as the provider would. */
  async #pass(
    response: ServerResponse,
    { status, bytes, isLate }: Answer,
    held: Held,
    { arrivedAt, gone }: { readonly arrivedAt: number; readonly gone: AbortSignal },
  ): Promise<void> {
    if (isLate) {
      const untilGivenUp = Math.max(0, arrivedAt + GIVEN_UP_MS - performance.now())
      await pauseUnless(gone, untilGivenUp)
    }
    this.#hold(held, [bytes])
    send(response, status, [bytes])
  }

  async #readBody(request: IncomingMessage, held: Held): Promise<Buffer> {
    const pieces: Buffer[] = []
    let length = 0
    for await (const piece of request as AsyncIterable<Buffer>) {
      length += piece.length
      if (length > BODY_BYTES_MAX) throw new Refused(413, `a request has at most ${BODY_BYTES_MAX} bytes`)
      this.#hold(held, [piece])
      pieces.push(piece)
    }
    return Buffer.concat(pieces)
  }

  #hold(held: Held, parts: readonly Buffer[]): void {
    for (const { buffer } of parts) {
      const holders = this.#holders.get(buffer) ?? 0
      if (holders === 0) this.#heldBytes += buffer.byteLength
      this.#holders.set(buffer, holders + 1)
      held.buffers.push(buffer)
    }
  }

  #release({ buffers }: Held): void {
    for (const buffer of buffers) {
      const holders = (this.#holders.get(buffer) ?? 0) - 1
      if (holders > 0) {
        this.#holders.set(buffer, holders)
        continue
      }
      this.#holders.delete(buffer)
      this.#heldBytes -= buffer.byteLength
    }
  }

  #count(place: string, change: 1 | -1): void {
    const open = (this.#openAt.get(place) ?? 0) + change
    if (open === 0) this.#openAt.delete(place)
    else this.#openAt.set(place, open)
  }

  /** As text: an error of JSON-RPC is a node's own no, by which a payout is refused, or a block too much to trace. */
  #refuse(response: ServerResponse, error: unknown): void {
    if (response.destroyed) return
    const isBug = !(error instanceof Refused || error instanceof NoCall)
    if (isBug) this.#options.log.error({ err: error }, 'a request to the reader could not be answered')
    const status = error instanceof Refused ? error.status : isBug ? 500 : 400
    const message = isBug ? 'the reader is broken: its log says how' : `the reader: ${error.message}`
    // What is left of its body is not read.
    response.setHeader('connection', 'close')
    send(response, status, [Buffer.from(`${message}\n`)])
  }
}

/** An answer to one cell's call is another cell's with that one's id. */
const withId = ({ bytes, id }: Answer, ownId: string): Buffer[] =>
  id === null ? [bytes] : [bytes.subarray(0, id[0]), Buffer.from(ownId), bytes.subarray(id[1])]

const COMMA = Buffer.from(',')
const listOf = (texts: readonly Buffer[][]): Buffer[] => [
  Buffer.from('['),
  ...texts.flatMap((text, index) => (index === 0 ? text : [COMMA, ...text])),
  Buffer.from(']'),
]

/** Parts of what is kept are sent without a copy: whoever reads slowly holds what the cache holds. */
function send(response: ServerResponse, status: number, parts: readonly Buffer[]): void {
  // Who hung up waits for nothing, and is not waited for.
  if (response.destroyed) return
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length })
  const timer = setTimeout(() => response.destroy(), SENDING_MS_MAX)
  response.once('close', () => clearTimeout(timer))
  for (const part of parts) response.write(part)
  response.end()
}
