import type { Network } from '../core/assets.ts'
import { elementsOf, membersOf, type Span } from './raw-json.ts'
import { type Sharing, sharingOf } from './shared-methods.ts'

/** Calls in one request; cells put 200 in one. */
const BATCH_MAX = 1_000
/** What is longer is about so much of one cell's own that no other asks it. */
const SHARED_BYTES_MAX = 64 * 1024

/** A call whose answer several cells may have. Its parts are JSON as the cell wrote it. */
export type Call = {
  readonly id: string
  readonly method: string
  /** All but the id: calls with the same have the same answer. */
  readonly rest: string
  readonly sharing: Sharing
}

/** A request that no node could answer; the message names the fix. */
export class NoCall extends Error {
  override name = 'NoCall'
}

/**
 * Reads a request, one call or a batch (JSON-RPC 2.0, section 6). `calls` is null where the node itself must have all of it.
 * Throws `NoCall`.
 */
export function readCalls(
  body: Buffer,
  network: Network,
): { readonly isBatch: boolean; readonly count: number; readonly calls: readonly Call[] | null } {
  const parsed = parse(body)
  const isBatch = Array.isArray(parsed)
  const items: readonly unknown[] = isBatch ? parsed : [parsed]
  if (items.length === 0 || items.length > BATCH_MAX)
    throw new NoCall(`a batch has 1 to ${BATCH_MAX} calls, and this one ${items.length}`)
  if (!items.every(hasMethod))
    throw new NoCall('a call is an object with the name of a method (JSON-RPC 2.0)')
  const whole = { isBatch, count: items.length, calls: null }
  if (body.length > SHARED_BYTES_MAX) return whole
  const spans: readonly Span[] | null = isBatch ? elementsOf(body) : [[0, body.length]]
  const calls = spans?.map((span) => readCall(body, span, network)) ?? []
  const shared = calls.flatMap((call) => call ?? [])
  return shared.length === items.length ? { ...whole, calls: shared } : whole
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch (error) {
    throw new NoCall('the request is no JSON', { cause: error })
  }
}

const hasMethod = (item: unknown): boolean =>
  typeof item === 'object' && item !== null && 'method' in item && typeof item.method === 'string'

/** Null where its answer is only for who asks. */
function readCall(body: Buffer, span: Span, network: Network): Call | null {
  const members = membersOf(body, span)
  const textOf = (name: string) => {
    const place = members?.get(name)
    return place === undefined ? undefined : body.toString('utf8', ...place)
  }
  const [id, method, params = '[]'] = [textOf('id'), textOf('method'), textOf('params')]
  // Without an id no answer is wanted.
  if (id === undefined || method === undefined) return null
  const name: unknown = JSON.parse(method)
  const given: unknown = JSON.parse(params)
  if (typeof name !== 'string' || !Array.isArray(given)) return null
  const sharing = sharingOf(network, name, given)
  if (sharing === null) return null
  const version = textOf('jsonrpc')
  const versionText = version === undefined ? '' : `"jsonrpc":${version},`
  return { id, method: name, rest: `${versionText}"method":${method},"params":${params}`, sharing }
}
