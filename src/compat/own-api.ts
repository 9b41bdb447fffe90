import { z } from 'zod'
import { ID_PATTERN } from '../core/ids.ts'
import type { Log } from '../runtime/log.ts'

/** Our own API's answer to a request that it refused. */
export class Refused extends Error {
  override name = 'Refused'
  readonly status: number
  readonly code: string
  readonly param: string | null
  readonly retryAfter: string | null

  constructor(
    status: number,
    error: { code: string; message: string; param?: string | null },
    retryAfter: string | null = null,
  ) {
    super(error.message)
    this.status = status
    this.code = error.code
    this.param = error.param ?? null
    this.retryAfter = retryAfter
  }
}

/** Whom a key belongs to. */
export type KeyHolder = {
  readonly merchantId: string
  readonly name: string
  readonly livemode: boolean
  readonly scopes: ReadonlySet<string>
}

type OwnApiDeps = {
  /** Our own API, in this process. */
  ask(request: Request): Response | Promise<Response>
  /** Null if the key is unknown. */
  holderOf(key: string): Promise<KeyHolder | null>
}

export type CompatDeps = OwnApiDeps & { readonly clock: () => Date; readonly log: Log }

export type OwnApi = ReturnType<typeof createOwnApi>

type Call = {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below `/api/v1`. */
  readonly path: string
  readonly query?: { readonly [name: string]: string | undefined }
  readonly body?: object
  readonly idempotencyKey?: string | undefined
}

/** Never looked up: the API in this process answers whatever the name. */
const ORIGIN = 'http://paylink'

/**
 * Our own API, called with one caller's key. A translation does everything by these calls, so that the rights, limits
 * and audit records of any other client apply to it.
 */
export function createOwnApi(deps: OwnApiDeps, key: string | null) {
  const call = async <View>(request: Call, schema: z.ZodType<View>): Promise<View> =>
    schema.parse(withNewerFields(schema, await answerOf(deps, key, request)))
  const holder = async (): Promise<KeyHolder> => {
    const found = key === null ? null : await deps.holderOf(key)
    if (found === null)
      throw new Refused(401, { code: 'api_key_invalid', message: 'The API key is unknown.' })
    return found
  }
  return { call, holder }
}

/** A repeated request gets its first answer, which a release before may have given: what it did not know yet is null. */
function withNewerFields(schema: z.ZodType, answer: unknown): unknown {
  if (!(schema instanceof z.ZodObject) || answer === null || typeof answer !== 'object') return answer
  return { ...Object.fromEntries(Object.keys(schema.shape).map((name) => [name, null])), ...answer }
}

async function answerOf(deps: OwnApiDeps, key: string | null, request: Call): Promise<unknown> {
  const url = new URL(`/api/v1${request.path}`, ORIGIN)
  for (const [name, value] of Object.entries(request.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, value)
  }
  const headers = new Headers()
  if (key !== null) headers.set('authorization', `Bearer ${key}`)
  if (request.idempotencyKey !== undefined) headers.set('idempotency-key', request.idempotencyKey)
  if (request.body !== undefined) headers.set('content-type', 'application/json')
  const body = request.body === undefined ? null : JSON.stringify(request.body)
  const answer = await deps.ask(new Request(url, { method: request.method, headers, body }))
  const fields: unknown = answer.status === 204 ? undefined : await answer.json()
  if (answer.ok) return fields
  const { error } = fields as { error: { code: string; message: string; param: string | null } }
  throw new Refused(answer.status, error, answer.headers.get('retry-after'))
}

export function ownId(id: string): string {
  if (ID_PATTERN.test(id)) return id
  throw new Refused(404, { code: 'not_found', message: 'Nothing was found under this id.' })
}
