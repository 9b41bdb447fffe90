import * as kit from '@solana/kit'
import { z } from 'zod'
import { ChainUnavailable } from '../adapter.ts'
import { HttpConnection } from '../http-connection.ts'

/** What every long integer outside of a string looks like; a string may look so too. */
const LONG_INTEGER = /(^|[\s:,[-])[0-9]{16}/
/** Digits that a double may not hold exactly. */
const LONG_INTEGER_OR_STRING = /"|-?[0-9]{16,}/g

/**
 * JSON whose long integers come out as strings of their digits, so that none is rounded: a balance may have 20 digits.
 * Throws `SyntaxError`. One pass, whatever the text.
 */
export function parseLosslessJson(text: string): unknown {
  if (!LONG_INTEGER.test(text)) return JSON.parse(text)
  let quoted = ''
  let copied = 0
  const token = new RegExp(LONG_INTEGER_OR_STRING)
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    if (match[0] === '"') {
      token.lastIndex = endOfString(text, match.index)
      continue
    }
    const end = match.index + match[0].length
    const isFraction = /[.eE+]/.test(text[match.index - 1] ?? '') || /[.eE]/.test(text[end] ?? '')
    if (isFraction) continue
    quoted += `${text.slice(copied, match.index)}"${match[0]}"`
    copied = end
  }
  return JSON.parse(copied === 0 ? text : quoted + text.slice(copied))
}

/** The place after the quote that ends the string beginning at `start`; the text's end where none does. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text[at - 1 - slashes] === '\\') slashes += 1
    if (slashes % 2 === 0) return at + 1
  }
  return text.length
}

/** A block of mainnet with its accounts is some megabytes. Somebody may fill one to a hundred times as much. */
const ANSWER = { answerBytesMax: 64 * 1024 * 1024, answerMsMax: 20_000 }
/** Below what a string of V8 can hold. */
const LONG_ANSWER = { answerBytesMax: 500 * 1024 * 1024, answerMsMax: 300_000 }
const CONNECTIONS_MAX = 8

const failedSchema = z.object({ error: z.object({ code: z.number(), message: z.string() }) })
/** Codes that kit makes errors of. It breaks on others, which say something of the provider, as that a limit is reached. */
const KNOWN_CODES = new Set(
  Object.entries(kit).flatMap(([name, code]) => (name.startsWith('SOLANA_ERROR__JSON_RPC__') ? [code] : [])),
)

/** What calls cost, for measurements. */
export type RpcCost = { calls: number; bytesSent: number; bytesReceived: number }

/** JSON-RPC over HTTP to one node. Throws `ChainUnavailable` where it cannot be asked or gives no JSON. */
export class SolanaTransport {
  readonly cost: RpcCost = { calls: 0, bytesSent: 0, bytesReceived: 0 }
  readonly #connection: HttpConnection
  readonly #setting: string

  /** `isPatient`: takes answers that are too long, and too late, for who has to keep up with the chain. */
  constructor(rpcUrl: string, setting: string, isPatient: boolean) {
    this.#setting = setting
    this.#connection = new HttpConnection(new URL(rpcUrl), {
      kind: 'the node',
      setting,
      connections: CONNECTIONS_MAX,
      ...(isPatient ? LONG_ANSWER : ANSWER),
    })
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  #parse(status: number, text: string): unknown {
    try {
      return parseLosslessJson(text)
    } catch (error) {
      throw new ChainUnavailable(`the node at ${this.#setting} answers ${status} and no JSON`, {
        cause: error,
      })
    }
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
    if (status === 401 || status === 403)
      throw new ChainUnavailable(
        `the node at ${this.#setting} refuses the key (${status}): correct it in ${this.#setting}`,
      )
    const answer = this.#parse(status, text)
    const failed = failedSchema.safeParse(answer)
    if (failed.success && !KNOWN_CODES.has(failed.data.error.code)) {
      const { code, message } = failed.data.error
      throw new ChainUnavailable(`the node at ${this.#setting} answers: ${message} (${code})`)
    }
    return answer
  }
}
