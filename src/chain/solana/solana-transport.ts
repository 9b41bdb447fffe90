import { ChainUnavailable } from '../adapter.ts'
import { HttpConnection } from '../http-connection.ts'
import { parseLosslessJson } from './lossless-json.ts'

/** A block of mainnet with its accounts is some megabytes. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024
const ANSWER_MS_MAX = 20_000
const CONNECTIONS_MAX = 8

/** What calls cost, for whoever measures it. */
export type RpcCost = { calls: number; bytesSent: number; bytesReceived: number }

/** JSON-RPC over HTTP to one node. Throws `ChainUnavailable` where it cannot be asked or gives no JSON. */
export class SolanaTransport {
  readonly cost: RpcCost = { calls: 0, bytesSent: 0, bytesReceived: 0 }
  readonly #connection: HttpConnection
  readonly #setting: string

  constructor(rpcUrl: string, setting: string) {
    this.#setting = setting
    this.#connection = new HttpConnection(new URL(rpcUrl), {
      kind: 'the node',
      setting,
      connections: CONNECTIONS_MAX,
      answerMsMax: ANSWER_MS_MAX,
      answerBytesMax: ANSWER_BYTES_MAX,
    })
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  /** One call. */
  send = async ({ payload, signal }: { payload: unknown; signal?: AbortSignal }): Promise<unknown> => {
    const body = JSON.stringify(payload, (_key, value: unknown) =>
      typeof value === 'bigint' ? Number(value) : value,
    )
    this.cost.calls += 1
    this.cost.bytesSent += body.length
    const { status, text } = await this.#connection.postJson(body, signal)
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
