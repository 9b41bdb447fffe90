import { Client } from 'undici'
import { type ConnectPolicy, connectVetted } from './vetted-connect.ts'

/** Connections kept for one queue, which is also how many requests of it run at once. */
export const CONNECTIONS_PER_ENDPOINT = 8
/** A socket older than this is not used again: names move. */
const SOCKET_AGE_MS_MAX = 5 * 60_000
/** An unused connection is closed after this long, unless its receiver asks for less. */
const KEEP_ALIVE_MS = 4_000
const KEEP_ALIVE_MS_MAX = 60_000
const IDLE_CONNECTIONS_MAX = 2_048
const IDLE_SWEEP_MS = 30_000
/** Behind the request's own deadline, in case that ever fails to fire. */
const SECOND_TIMEOUT_MS = 11_000
const HEADERS_BYTES_MAX = 16_384

/** It is used by one request at a time and reconnects by itself. */
type Connection = {
  readonly client: Client
  readonly origin: string
  /** Sockets opened so far: one request that leaves this as it was went over a kept socket. */
  connects: number
  connectedAt: number
  usedAt: number
}

/** Connections that obey `policy`, kept by queue while nobody uses them: no queue's slow receiver takes another's. */
export class ConnectionPool {
  readonly #policy: ConnectPolicy
  readonly #idle = new Map<string, Connection[]>()
  readonly #sweeping: NodeJS.Timeout
  #idleCount = 0

  constructor(policy: ConnectPolicy) {
    this.#policy = policy
    this.#sweeping = setInterval(() => this.#sweep(), IDLE_SWEEP_MS)
    this.#sweeping.unref()
  }

  /** A kept connection of the queue to this origin, or a new one. It is the caller's until it is kept or discarded. */
  take(queue: string, origin: string): Connection {
    const connections = this.#idle.get(queue) ?? []
    const now = performance.now()
    for (let kept = connections.pop(); kept !== undefined; kept = connections.pop()) {
      this.#idleCount -= 1
      if (kept.origin === origin && now - kept.connectedAt < SOCKET_AGE_MS_MAX) return kept
      discard(kept)
    }
    return this.open(origin)
  }

  open(origin: string): Connection {
    const client = new Client(origin, {
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS_MAX,
      headersTimeout: SECOND_TIMEOUT_MS,
      bodyTimeout: SECOND_TIMEOUT_MS,
      maxHeaderSize: HEADERS_BYTES_MAX,
      connect: (options, callback) => {
        connection.connects += 1
        connection.connectedAt = performance.now()
        connectVetted(this.#policy, options).then(
          (socket) => callback(null, socket),
          (error: Error) => callback(error, null),
        )
      },
    })
    const connection: Connection = { client, origin, connects: 0, connectedAt: 0, usedAt: 0 }
    return connection
  }

  /** Takes a connection back for the queue's next request, or discards it where enough are kept. */
  keep(queue: string, connection: Connection): void {
    const connections = this.#idle.get(queue) ?? []
    if (connections.length >= CONNECTIONS_PER_ENDPOINT || this.#idleCount >= IDLE_CONNECTIONS_MAX) {
      discard(connection)
      return
    }
    connection.usedAt = performance.now()
    connections.push(connection)
    this.#idle.set(queue, connections)
    this.#idleCount += 1
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeping)
    const connections = [...this.#idle.values()].flat()
    this.#idle.clear()
    this.#idleCount = 0
    await Promise.all(connections.map(({ client }) => client.destroy()))
  }

  #sweep(): void {
    const before = performance.now() - KEEP_ALIVE_MS_MAX
    for (const [queue, connections] of this.#idle) {
      const kept = connections.filter(({ usedAt }) => usedAt >= before)
      for (const connection of connections) if (connection.usedAt < before) discard(connection)
      this.#idleCount -= connections.length - kept.length
      if (kept.length === 0) this.#idle.delete(queue)
      else this.#idle.set(queue, kept)
    }
  }
}

export function discard(connection: Connection): void {
  connection.client.destroy().catch(() => {
    // Destroying is best effort: the sockets go with it either way.
  })
}
