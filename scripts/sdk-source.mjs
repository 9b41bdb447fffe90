/**
 * Writes the SDK's types from the OpenAPI document, which is made of the very schemas that the server validates and answers
 * with. Only what such a document of ours contains is understood; anything else throws.
 */

const HEAD = `// Written by \`npm run sdk\` from the server's own schemas; a test fails when it is out of date. Do not change it by hand.
// biome-ignore-all format: it is compared letter by letter with what the generator writes.
`
const PREFIX = '/api/v1'

/** The texts of `src/api.ts`, types alone, and `src/tables.ts`, what the client reads when it runs. */
export function sdkSource(document) {
  const operations = Object.entries(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    )
    .sort((one, other) => (one.operation.operationId < other.operation.operationId ? -1 : 1))
  const schemas = namedSchemas(document, operations)
  const asked = new Set(operations.flatMap(({ operation }) => bodyNames(operation)))
  const types = Object.entries(schemas)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(
      ([name, schema]) =>
        `${comment(schema, '')}export type ${name} = ${typeOf(schema, '', asked.has(name))}\n`,
    )
  const { type, code } = document.components.schemas.Error.properties.error.properties
  const words = [
    `export type ErrorType =${union(type.enum)}\n`,
    `/** From the catalogue of docs/errors.md; a code is added, never renamed. */\nexport type ErrorCode =${union(code.enum)}\n`,
    `export type EventType =${union(eventTypes(document))}\n`,
  ]
  const api = [
    HEAD,
    ...types,
    ...words,
    `/** What each operation of the API takes and gives. */\nexport type Operations = {\n${operations.map(operationType).join('')}}\n`,
  ].join('\n')
  return { api, tables: tablesOf(document, operations) }
}

/** Method, path and whether an Idempotency-Key makes a repetition safe. */
function tablesOf(document, operations) {
  const rows = operations.map(({ path, method, operation }) => {
    const keyed = operation.parameters.some(({ name }) => name === 'Idempotency-Key')
    const row = [method.toUpperCase(), path.slice(PREFIX.length).replace('{id}', ':id'), keyed]
    return `  ${operation.operationId}: [${row.map(text).join(', ')}],\n`
  })
  const types = eventTypes(document).map((name) => `  ${text(name)},\n`)
  return [
    HEAD,
    `/** Method, path, and whether an Idempotency-Key makes a repetition safe. */\nexport const OPERATIONS = {\n${rows.join('')}} as const\n`,
    `/** What an endpoint can subscribe to. */\nexport const EVENT_TYPES = [\n${types.join('')}] as const\n`,
  ].join('\n')
}

const text = (value) => (typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : String(value))
const union = (values) => values.map((value) => `\n  | ${text(value)}`).join('')

function eventTypes(document) {
  const { properties } = document.components.schemas.CreateWebhookEndpoint
  return properties.subscribed_events.items.enum.filter((name) => name !== '*')
}

/** Every named schema that an operation leads to, without the error's. */
function namedSchemas(document, operations) {
  const found = {}
  const visit = (value) => {
    if (typeof value !== 'object' || value === null) return
    for (const inner of Object.values(value)) visit(inner)
    const name = nameOf(value)
    if (name === null || name === 'Error' || found[name] !== undefined) return
    found[name] = document.components.schemas[name]
    visit(found[name])
  }
  for (const { operation } of operations) visit(operation)
  return found
}

const REFERENCE = '#/components/schemas/'
const nameOf = ({ $ref }) =>
  typeof $ref === 'string' && $ref.startsWith(REFERENCE) ? $ref.slice(REFERENCE.length) : null

const jsonOf = (part) => part?.content?.['application/json']?.schema

function bodyNames({ requestBody }) {
  const schema = jsonOf(requestBody)
  const name = schema === undefined ? null : nameOf(schema)
  return name === null ? [] : [name]
}

function operationType({ operation }) {
  const { operationId, parameters, requestBody, responses } = operation
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))
  const answer = jsonOf(success?.[1])
  const item = answer?.properties?.object?.const === 'list' ? answer.properties.data.items : undefined
  const body = jsonOf(requestBody)
  const fields = [
    ['id', parameters.some((one) => one.in === 'path') ? 'string' : 'undefined'],
    ['query', queryType(parameters.filter((one) => one.in === 'query'))],
    ['body', body === undefined ? 'undefined' : typeOf(body, '    ', true)],
    ['answer', answer === undefined || item !== undefined ? 'undefined' : typeOf(answer, '    ', false)],
    ['item', item === undefined ? 'undefined' : typeOf(item, '    ', false)],
  ]
  const lines = fields.map(([name, type]) => `    readonly ${name}: ${type}\n`)
  return `${comment(operation, '  ')}  readonly ${operationId}: {\n${lines.join('')}  }\n`
}

function queryType(parameters) {
  if (parameters.length === 0) return 'undefined'
  const properties = Object.fromEntries(parameters.map(({ name, schema }) => [name, schema]))
  return typeOf({ type: 'object', properties, required: [] }, '    ', true)
}

/** A JSON Schema as a TypeScript type. What is asked for may be `undefined` as well as absent. */
function typeOf(schema, indent, asked) {
  const name = nameOf(schema)
  if (name !== null) return name
  if ('const' in schema) return text(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(text).join(' | ')
  if (schema.anyOf !== undefined) return schema.anyOf.map((one) => typeOf(one, indent, asked)).join(' | ')
  if (Array.isArray(schema.type)) {
    return schema.type.map((type) => typeOf({ ...schema, type }, indent, asked)).join(' | ')
  }
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      return `readonly ${grouped(typeOf(schema.items, indent, asked))}[]`
    case 'object':
      return objectType(schema, indent, asked)
    case undefined:
      return 'unknown'
    default:
      throw new Error(`a schema of type ${schema.type} has no rule here`)
  }
}

const grouped = (type) => (/[ |]/.test(type) && !type.startsWith('{') ? `(${type})` : type)

function objectType(schema, indent, asked) {
  const inner = `${indent}  `
  const required = new Set(schema.required ?? [])
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const [mark, rest] = required.has(name) ? ['', ''] : ['?', asked ? ' | undefined' : '']
    return `${comment(field, inner)}${inner}readonly ${name}${mark}: ${typeOf(field, inner, asked)}${rest}\n`
  })
  const more = schema.additionalProperties
  const open = more === undefined || more === false ? '' : `${inner}readonly [field: string]: unknown\n`
  return `{\n${fields.join('')}${open}${indent}}`
}

/** The schema's own words; for an operation, its summary. */
function comment(schema, indent) {
  const words = schema.summary ?? schema.description
  if (words === undefined || nameOf(schema) !== null) return ''
  const lines = words.replaceAll('*/', '*\\/').split('\n')
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} *${line === '' ? '' : ` ${line}`}\n`).join('')}${indent} */\n`
}
