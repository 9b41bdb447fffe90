import type { z } from 'zod'
import { ChainUnavailable } from '../adapter.ts'
import { HttpConnection } from '../http-connection.ts'

const ANSWER_MS_MAX = 30_000
const CONNECTIONS_MAX = 4
/** The bytes of a full block with its extension block, or a page of transactions with their witnesses. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024
/** What is repeated of a server's own words. */
const REASON_LENGTH_MAX = 300

/** A URL of this scheme, `esplora+https://host/api`, is an Esplora server's and not a node's. */
export const ESPLORA_SCHEME = 'esplora+'

/** The server understood and said no; `reason` is its own words. */
export class EsploraRefusal extends ChainUnavailable {
  override name = 'EsploraRefusal'
  readonly reason: string

  constructor(where: string, status: number, reason: string) {
    super(`the Esplora server at ${where} refused with ${status}: ${reason}`)
    this.reason = reason
  }
}

/**
 * The HTTP API of Esplora servers (https://github.com/Blockstream/esplora/blob/master/API.md). Every failure is
 * a `ChainUnavailable` that names the fix.
 */
export class EsploraClient {
  readonly #connection: HttpConnection
  readonly #base: string
  readonly #where: string
  readonly #setting: string

  /** `url` begins with `esplora+`; `setting` is the name under which the operator configured it. */
  constructor(url: string, setting: string) {
    const parsed = new URL(url.slice(ESPLORA_SCHEME.length))
    this.#setting = setting
    this.#base = parsed.pathname.replace(/\/+$/, '')
    this.#connection = new HttpConnection(parsed, {
      kind: 'the Esplora server',
      setting,
      connections: CONNECTIONS_MAX,
      answerMsMax: ANSWER_MS_MAX,
      answerBytesMax: ANSWER_BYTES_MAX,
    })
    this.#where = this.#connection.where
  }

  /** The body at a path; null where the server does not have what is asked for. */
  async bytes(path: string): Promise<Buffer | null> {
    const { status, body } = await this.#request('GET', path)
    if (status === 404) return null
    if (status !== 200) throw this.#refusal(status, body)
    return body
  }

  /** A body of plain text, parsed; null where the server does not have what is asked for. */
  async text<Result>(path: string, schema: z.ZodType<Result>): Promise<Result | null> {
    const body = await this.bytes(path)
    return body === null ? null : this.#parsed(path, body.toString('utf8').trim(), schema)
  }

  /** A body of JSON, parsed; null where the server does not have what is asked for. */
  async json<Result>(path: string, schema: z.ZodType<Result>): Promise<Result | null> {
    const body = await this.bytes(path)
    if (body === null) return null
    let value: unknown
    try {
      value = JSON.parse(body.toString('utf8'))
    } catch (error) {
      throw new ChainUnavailable(this.#unknownForm(path), { cause: error })
    }
    return this.#parsed(path, value, schema)
  }

  /** Offers a transaction to the network. Throws `EsploraRefusal` with the node's reason where it is not taken. */
  async broadcast(hex: string): Promise<void> {
    const { status, body } = await this.#request('POST', '/tx', hex)
    if (status !== 200) throw this.#refusal(status, body)
  }

  /** Says that what every server has is missing. */
  missing(path: string): ChainUnavailable {
    return new ChainUnavailable(
      `what answers at ${this.#where} does not have ${path}: ${this.#setting} must point to an Esplora server's API, as in esplora+https://host/api`,
    )
  }

  /** Says that the server reported what cannot be. Another provider may take over. */
  untrue(what: string): ChainUnavailable {
    return new ChainUnavailable(
      `the Esplora server at ${this.#where} shows ${what}: it is broken or lies; replace it in ${this.#setting}`,
    )
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  #parsed<Result>(path: string, value: unknown, schema: z.ZodType<Result>): Result {
    const parsed = schema.safeParse(value)
    if (parsed.success) return parsed.data
    throw new ChainUnavailable(this.#unknownForm(path), { cause: parsed.error })
  }

  #unknownForm(path: string): string {
    return `${this.#where} answers ${path} in a form that is not known: ${this.#setting} must point to an Esplora server's API, as in esplora+https://host/api`
  }

  #request(method: 'GET' | 'POST', path: string, body?: string) {
    return this.#connection.requestPath(method, `${this.#base}${path}`, body)
  }

  #refusal(status: number, body: Buffer): ChainUnavailable {
    const start = `the Esplora server at ${this.#where}`
    if (status === 429) {
      return new ChainUnavailable(`${start} takes no more requests from us for now: run one of your own`)
    }
    if (status === 401 || status === 403) {
      return new ChainUnavailable(`${start} refuses us: correct the credentials in ${this.#setting}`)
    }
    if (status >= 500) return new ChainUnavailable(`${start} has a fault of its own (${status})`)
    return new EsploraRefusal(this.#where, status, body.toString('utf8').slice(0, REASON_LENGTH_MAX))
  }
}
