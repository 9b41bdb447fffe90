import { z } from 'zod'
import { ID_PREFIXES } from '../../core/ids.ts'
import { ERROR_TYPES } from '../../wire/error-types.ts'
import { ERRORS, type ErrorCode } from '../../wire/errors.ts'
import { API_PREFIX, type Route } from '../api/route.ts'
import { type CodeSample, codeSamples } from './code-samples.ts'
import { exampleOf, type JsonSchema } from './schema-example.ts'

export type OpenApiParameter = {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description: string
  readonly schema: JsonSchema
  readonly example?: string
}

type MediaType = { readonly 'application/json': { readonly schema: JsonSchema; readonly example?: unknown } }

export type OpenApiOperation = {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly parameters: readonly OpenApiParameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: MediaType }
  readonly responses: {
    readonly [status: string]: {
      readonly description: string
      readonly headers?: { readonly [name: string]: unknown }
      readonly content?: MediaType
    }
  }
  /** Absent for what only a person signed in to the dashboard may call. */
  readonly 'x-codeSamples'?: readonly CodeSample[]
}

export type OpenApiDocument = {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly security: readonly unknown[]
  readonly tags: readonly { readonly name: string }[]
  readonly paths: { readonly [path: string]: { readonly [method: string]: OpenApiOperation } }
  readonly components: {
    readonly schemas: { readonly [name: string]: JsonSchema }
    readonly headers: { readonly [name: string]: unknown }
    readonly securitySchemes: { readonly [name: string]: unknown }
  }
}

const DASHBOARD_TAG = 'Dashboard'

const INTRODUCTION = `All requests and answers are JSON. Authenticate with \`Authorization: Bearer sk_test_…\` or \`sk_live_…\`: the key decides the merchant and the mode, and test and live see nothing of each other.

Send an \`Idempotency-Key\` with every create: the same request with the same key within 72 hours gets the same answer, byte for byte, with \`idempotent-replayed: true\`.

Every answer carries \`request-id\`; errors have one shape, with a \`code\` from the catalogue and the \`param\` at fault. Lists are newest first. New fields may appear in answers at any time.`

/**
 * The OpenAPI 3.1 document of the routes, made of the very schemas that validate requests and type answers.
 * Schemas with an id become components.
 */
export function openApiDocument(routes: readonly Route[], baseUrl: string): OpenApiDocument {
  const schemas: { [name: string]: JsonSchema } = { Error: errorSchema() }
  const paths: { [path: string]: { [method: string]: OpenApiOperation } } = {}
  for (const route of routes) {
    const path = `${API_PREFIX}${route.path.replace(':id', '{id}')}`
    paths[path] = { ...paths[path], [route.method]: operationOf(route, schemas, baseUrl) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Paylink API', version: '1', description: INTRODUCTION },
    servers: [{ url: baseUrl }],
    security: [{ bearer: [] }],
    tags: tagsOf(routes).map((name) => ({ name })),
    paths,
    components: {
      schemas,
      headers: HEADERS,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key: sk_test_… or sk_live_…' },
      },
    },
  }
}

/** In the order of the routes; last what no key may call. */
function tagsOf(routes: readonly Route[]): readonly string[] {
  const tags = [...new Set(routes.map(({ tag }) => tag))]
  return [...tags.filter((tag) => tag !== DASHBOARD_TAG), ...tags.filter((tag) => tag === DASHBOARD_TAG)]
}

const text = (description: string) => ({ description, schema: { type: 'string' } })
const count = (description: string) => ({ description, schema: { type: 'integer' } })

const HEADERS = {
  'request-id': text('Names this request in our log.'),
  'ratelimit-limit': count('Requests that the key may send at once.'),
  'ratelimit-remaining': count('Requests left now.'),
  'ratelimit-reset': count('Seconds until all of them are there again.'),
  'idempotent-replayed': text('`true` where the answer was given before.'),
  'retry-after': count('Seconds to wait before the next try.'),
}
const headerRefs = (...names: (keyof typeof HEADERS)[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
const RATE_HEADERS = ['request-id', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'] as const

function operationOf(
  route: Route,
  schemas: { [name: string]: JsonSchema },
  baseUrl: string,
): OpenApiOperation {
  const { success } = route
  const scope = route.scope === null ? 'Any key may call this.' : `Scope: \`${route.scope}\`.`
  const live = route.live === undefined ? '' : ` ${LIVE_NOTES[route.live]}`
  const content =
    success.schema === undefined ? {} : { content: json(schemaOf(success.schema, schemas), answerOf(route)) }
  const headers =
    route.create === undefined
      ? headerRefs(...RATE_HEADERS)
      : headerRefs(...RATE_HEADERS, 'idempotent-replayed')
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: `${route.description === undefined ? '' : `${route.description}\n\n`}${scope}${live}`,
    parameters: parametersOf(route, schemas),
    ...(route.body === undefined
      ? {}
      : {
          requestBody: {
            required: route.bodyOptional !== true,
            content: json(schemaOf(route.body, schemas), route.example),
          },
        }),
    responses: {
      ...(success.found === undefined ? {} : { 200: { description: success.found, headers, ...content } }),
      [success.status]: { description: success.description, headers, ...content },
      ...errorResponses(problemCodesOf(route)),
    },
    ...(route.dashboardOnly === true ? {} : { 'x-codeSamples': codeSamples(sampleOf(route, baseUrl)) }),
  }
}

/** The answer to the route's own example: what was asked for is in it as it was asked. */
function answerOf(route: Route): unknown {
  const schemas: { [name: string]: JsonSchema } = {}
  if (route.success.schema === undefined) return undefined
  const example = exampleOf(schemaOf(route.success.schema, schemas), schemas) as { [field: string]: unknown }
  const asked = Object.entries(route.example ?? {}).filter(([field]) => field in example)
  const list = example.object === 'list' ? { url: pathOf(route) } : {}
  return { ...example, ...Object.fromEntries(asked), ...list }
}

function sampleOf(route: Route, baseUrl: string) {
  // A payout in test mode is approved by a key alone; what a person proves in live mode is no server's.
  const isProof = route.provesFactor === true
  return {
    operationId: route.operationId,
    method: route.method.toUpperCase(),
    path: pathOf(route),
    baseUrl,
    ...(route.example === undefined || isProof ? {} : { body: route.example }),
    isCreate: route.create !== undefined,
    hasAnswer: route.success.schema !== undefined,
  }
}

/** What `:id` stands for, by the words of the path before it. */
const ID_KINDS = {
  invoices: 'invoice',
  'test/invoices': 'invoice',
  'test/deposit-addresses': 'depositAddress',
  'payment-links': 'paymentLink',
  'checkout-sessions': 'checkoutSession',
  'deposit-addresses': 'depositAddress',
  deposits: 'deposit',
  'webhook-endpoints': 'webhookEndpoint',
  events: 'event',
  payouts: 'payout',
  'payout-destinations': 'payoutDestination',
  'api-keys': 'apiKey',
  'request-logs': 'requestLog',
} as const

function idOf(route: Route): string {
  const before = route.path.slice(1, route.path.indexOf('/:id'))
  const kind = Object.entries(ID_KINDS).find(([path]) => path === before)?.[1]
  if (kind === undefined) throw new Error(`no kind of id for ${route.path}: add it to ID_KINDS`)
  return `${ID_PREFIXES[kind]}_01jd0w5f3e8gqv7n5k2m9x4c6t`
}

const pathOf = (route: Route): string =>
  API_PREFIX + (route.path.includes(':id') ? route.path.replace(':id', idOf(route)) : route.path)

const LIVE_NOTES = {
  session: 'In live mode this needs a dashboard session in place of a key.',
  test_only: 'Test mode only.',
} as const

function parametersOf(route: Route, schemas: { [name: string]: JsonSchema }): OpenApiParameter[] {
  const parameters: OpenApiParameter[] = []
  if (route.path.includes(':id')) {
    const id = { name: 'id', in: 'path', required: true, description: 'Id of the resource.' } as const
    parameters.push({ ...id, schema: { type: 'string' }, example: idOf(route) })
  }
  for (const [name, field] of Object.entries(route.query?.shape ?? {})) {
    const schema = schemaOf(field as z.ZodType, schemas)
    const description = typeof schema.description === 'string' ? schema.description : ''
    parameters.push({ name, in: 'query', required: false, description, schema })
  }
  if (route.create !== undefined) {
    parameters.push({
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description: 'Makes a repeat of this request safe; kept 72 hours.',
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    })
  }
  return parameters
}

function errorResponses(codes: readonly ErrorCode[]): OpenApiOperation['responses'] {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of codes) {
    const { status } = ERRORS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => [
      status,
      {
        description: ofStatus.map((code) => `\`${code}\`: ${ERRORS[code].message}`).join('\n\n'),
        headers:
          status === 429 || status === 503
            ? headerRefs('request-id', 'retry-after')
            : headerRefs('request-id'),
        content: json({
          allOf: [
            { $ref: '#/components/schemas/Error' },
            { properties: { error: { properties: { code: { enum: ofStatus } } } } },
          ],
        }),
      },
    ]),
  )
}

function errorSchema(): JsonSchema {
  const nullableText = { type: ['string', 'null'] }
  const properties = {
    type: { enum: ERROR_TYPES },
    code: { enum: Object.keys(ERRORS), description: 'From the catalogue; never renamed.' },
    message: { type: 'string', description: 'For people; may change.' },
    param: { ...nullableText, description: 'The parameter at fault.' },
    doc_url: { type: 'string', format: 'uri' },
    request_id: { type: 'string' },
  }
  const reason = { type: 'string', description: 'What exactly went wrong; only with codes that say so.' }
  return {
    type: 'object',
    required: ['error'],
    properties: {
      error: { type: 'object', required: Object.keys(properties), properties: { ...properties, reason } },
    },
  }
}

const json = (schema: JsonSchema, example?: unknown): MediaType => ({
  'application/json': { schema, ...(example === undefined ? {} : { example }) },
})

/** A schema's JSON Schema, its named parts moved to the components. */
function schemaOf(schema: z.ZodType, schemas: { [name: string]: JsonSchema }): JsonSchema {
  const { $schema: _, $defs, ...root } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  for (const [name, part] of Object.entries($defs ?? {})) schemas[name] = withComponentRefs(part)
  return withComponentRefs(root)
}

function withComponentRefs(schema: object): JsonSchema {
  const text = JSON.stringify(schema).replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/')
  return JSON.parse(text) as JsonSchema
}

/** Codes that need no route: the path or the method is wrong. */
export const CODES_OUTSIDE_ROUTES: readonly ErrorCode[] = ['path_not_found', 'method_not_allowed']

/** Every code that a route can answer with, in the order in which mistakes are reported. */
export function problemCodesOf(route: Route): readonly ErrorCode[] {
  const when = (condition: boolean, ...codes: ErrorCode[]): ErrorCode[] => (condition ? codes : [])
  const hasId = route.path.includes('/:id')
  return [
    'api_key_missing',
    'api_key_invalid',
    'cell_wrong',
    'rate_limited',
    ...when(route.method !== 'get', 'cross_origin_refused'),
    ...when(route.scope !== null, 'scope_missing'),
    'role_insufficient',
    ...when(route.live === 'session' || route.dashboardOnly === true, 'dashboard_session_required'),
    ...when(route.live === 'session', 'second_factor_required'),
    ...when(route.live === 'test_only', 'test_mode_only'),
    ...when(route.method !== 'get', 'unsupported_media_type', 'body_too_large'),
    ...when(hasId, 'not_found'),
    ...when(route.method !== 'get', 'body_invalid'),
    ...when(route.body !== undefined, 'parameter_missing'),
    'parameter_invalid',
    'parameter_unknown',
    'parameter_duplicate',
    ...when(route.create !== undefined, 'idempotency_key_invalid'),
    ...route.problems,
    ...when(route.create !== undefined, 'idempotency_key_in_use', 'idempotency_key_reused'),
    'internal_error',
    'service_unavailable',
  ]
}
