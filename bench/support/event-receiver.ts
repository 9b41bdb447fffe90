import { createServer, type Server } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { until } from '../../test/support/until.ts'
import type { Paylink } from './paylink.ts'

const WAIT_MS_MAX = 30_000

/** When each event of each invoice reached the receiver. */
export class EventReceiver {
  readonly #arrivals = new Map<string, number>()
  readonly #server: Server
  port = 0

  constructor() {
    this.#server = createServer(async (request, response) => {
      const at = performance.now()
      const body = JSON.parse((await buffer(request)).toString('utf8')) as Record<string, unknown>
      const { challenge } = body.data as { challenge?: string }
      if (challenge !== undefined) {
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ challenge }))
        return
      }
      const key = `${String(body.event_type)} ${String(body.resource_id)}`
      if (!this.#arrivals.has(key)) this.#arrivals.set(key, at)
      response.end()
    })
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the receiver has no port')
    this.port = address.port
  }

  async arrival(eventType: string, resourceId: string): Promise<number> {
    const key = `${eventType} ${resourceId}`
    await until(() => this.#arrivals.has(key), { what: `${key} arrives`, timeoutMs: WAIT_MS_MAX })
    return this.#arrivals.get(key) ?? 0
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  /** Registers this receiver for all events of a new merchant; how to call the API with that merchant's key. */
  async subscribe(
    paylink: Paylink,
  ): Promise<(path: string, body: object) => Promise<Record<string, unknown>>> {
    const { key } = await paylink.createKey()
    const call = async (path: string, body: object): Promise<Record<string, unknown>> => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const answer = await fetch(`${paylink.baseUrl}/api/v1${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      })
      const json = (await answer.json()) as Record<string, unknown>
      if (!answer.ok) throw new Error(`${path}: ${JSON.stringify(json)}`)
      return json
    }
    const url = `http://127.0.0.1:${this.port}/hook`
    const endpoint = await call('/webhook-endpoints', { url, subscribed_events: ['*'] })
    await call(`/webhook-endpoints/${String(endpoint.id)}/verify`, {})
    return call
  }
}
