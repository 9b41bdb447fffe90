import { Pool } from 'undici'
import { ChainUnavailable } from '../adapter.ts'
import { parseLosslessJson } from './lossless-json.ts'

/** A block of mainnet with its accounts is some megabytes. */
const RESPONSE_BYTES_MAX = 64 * 1024 * 1024
const TIMEOUT_MS = 20_000
const CONNECTIONS = 8

/** What calls cost, for whoever measures it. */
export type RpcCost = { calls: number; bytesSent: number; bytesReceived: number }

/** JSON-RPC over HTTP to one node. Throws `ChainUnavailable` where it cannot be asked or gives no JSON. */
export class SolanaTransport {
  readonly cost: RpcCost = { calls: 0, bytesSent: 0, bytesReceived: 0 }
  readonly #pool: Pool
  readonly #path: string
  readonly #headers: { [name: string]: string }
  readonly #setting: string

  constructor(rpcUrl: string, setting: string) {
    const url = new URL(rpcUrl)
    this.#setting = setting
    this.#path = `${url.pathname}${url.search}`
    this.#headers = { 'content-type': 'application/json' }
    if (url.username !== '' || url.password !== '') {
      const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
      this.#headers.authorization = `Basic ${Buffer.from(credentials).toString('base64')}`
    }
    this.#pool = new Pool(url.origin, {
      connections: CONNECTIONS,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      maxResponseSize: RESPONSE_BYTES_MAX,
    })
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }

  /** One call. */
  send = async ({ payload, signal }: { payload: unknown; signal?: AbortSignal }): Promise<unknown> => {
    const body = JSON.stringify(payload, (_key, value: unknown) =>
      typeof value === 'bigint' ? Number(value) : value,
    )
    this.cost.calls += 1
    this.cost.bytesSent += body.length
    let text: string
    let status: number
    try {
      const response = await this.#pool.request({
        path: this.#path,
        method: 'POST',
        headers: this.#headers,
        body,
        ...(signal === undefined ? {} : { signal }),
      })
      status = response.statusCode
      text = await response.body.text()
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new ChainUnavailable(`the node at ${this.#setting} cannot be asked: ${reason}`, { cause: error })
    }
    this.cost.bytesReceived += text.length
    if (status === 429)
      throw new ChainUnavailable(
        `the node at ${this.#setting} refuses so many calls (429): ask less, or take a larger plan`,
      )
    try {
      return parseLosslessJson(text)
    } catch (error) {
      throw new ChainUnavailable(`the node at ${this.#setting} answers ${status} and no JSON`, {
        cause: error,
      })
    }
  }
}
