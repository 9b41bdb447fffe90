import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_PREFIX } from '../../src/http/api/route.ts'
import { ROUTES } from '../../src/http/api/routes.ts'
import { DOCS_CSP } from '../../src/http/docs/docs-layout.tsx'
import type { OpenApiDocument, OpenApiOperation } from '../../src/http/docs/openapi.ts'
import { problemCodesOf } from '../../src/http/docs/openapi.ts'
import { ERROR_CODES, ERRORS } from '../../src/wire/errors.ts'
import { BASE_URL, createTestApi, type TestApi } from '../support/api.ts'

let api: TestApi
let document: OpenApiDocument
beforeAll(async () => {
  api = await createTestApi()
  const response = await api.app.request('/openapi.json')
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  document = await response.json()
})
afterAll(() => api.drop())

const operations = (): { path: string; method: string; operation: OpenApiOperation }[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )

/** Every object inside a value, with where it stands. */
function* objectsIn(value: unknown, at = '#'): Generator<[string, { readonly [name: string]: unknown }]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield [at, value as { readonly [name: string]: unknown }]
  for (const [name, inner] of Object.entries(value)) yield* objectsIn(inner, `${at}/${name}`)
}

function resolve(ref: string): unknown {
  return ref
    .slice(2)
    .split('/')
    .reduce<unknown>((value, name) => (value as { [name: string]: unknown } | undefined)?.[name], document)
}

test('the document is OpenAPI 3.1 and describes every route once', () => {
  expect(document.openapi).toMatch(/^3\.1\./)
  expect(document.info).toMatchObject({ title: expect.any(String), version: expect.any(String) })
  expect(document.servers).toEqual([{ url: BASE_URL }])
  const told = operations().map(({ path, method, operation }) => `${method} ${path} ${operation.operationId}`)
  const known = ROUTES.map(
    (route) => `${route.method} ${API_PREFIX}${route.path.replace(':id', '{id}')} ${route.operationId}`,
  )
  expect(told.sort()).toEqual(known.sort())
  expect(new Set(ROUTES.map((route) => route.operationId)).size).toBe(ROUTES.length)
  // What no key may call comes last.
  expect(document.tags).toHaveLength(new Set(ROUTES.map(({ tag }) => tag)).size)
  expect(document.tags).toMatchObject({
    0: { name: 'Invoices' },
    [document.tags.length - 1]: { name: 'Dashboard' },
  })
})

test('every reference leads somewhere, and every part has only the keywords of its kind', () => {
  const operationKeys = [
    'operationId',
    'tags',
    'summary',
    'description',
    'parameters',
    'requestBody',
    'responses',
    'x-codeSamples',
  ]
  for (const [at, object] of objectsIn(document)) {
    if (typeof object.$ref === 'string') expect(resolve(object.$ref), `${at} → ${object.$ref}`).toBeDefined()
  }
  for (const { path, operation } of operations()) {
    for (const key of Object.keys(operation)) expect(operationKeys).toContain(key)
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
    expect(
      operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name),
    ).toEqual(inPath)
    for (const parameter of operation.parameters) {
      expect(parameter.required).toBe(parameter.in === 'path')
      expect(parameter.schema).toHaveProperty('type')
    }
    for (const [status, response] of Object.entries(operation.responses)) {
      expect(status).toMatch(/^[2-5][0-9]{2}$/)
      expect(response.description).not.toBe('')
    }
    for (const tag of operation.tags) expect(document.tags).toContainEqual({ name: tag })
  }
  const keywords = new Set([
    'type',
    'enum',
    'const',
    'properties',
    'required',
    'additionalProperties',
    'items',
    'anyOf',
    'allOf',
    'oneOf',
    '$ref',
    'description',
    'examples',
    'format',
    'pattern',
    'minLength',
    'maxLength',
    'minimum',
    'maximum',
    'minItems',
    'maxItems',
    'maxProperties',
    'propertyNames',
    'default',
    'example',
  ])
  for (const [name, schema] of Object.entries(document.components.schemas))
    checkSchema(schema, name, keywords)
})

function checkSchema(schema: unknown, at: string, keywords: ReadonlySet<string>): void {
  expect(typeof schema, at).toBe('object')
  for (const [keyword, value] of Object.entries(schema as object)) {
    expect(keywords, `${at}: ${keyword}`).toContain(keyword)
    if (keyword === 'properties') {
      for (const [name, inner] of Object.entries(value as object))
        checkSchema(inner, `${at}.${name}`, keywords)
    }
    if (keyword === 'items') checkSchema(value, `${at}[]`, keywords)
    if (keyword === 'anyOf' || keyword === 'allOf') {
      for (const inner of value as unknown[]) checkSchema(inner, `${at}|`, keywords)
    }
  }
}

test('numbers of a query string are integers with their bounds', () => {
  const numbers = operations().flatMap(({ operation }) =>
    operation.parameters.filter(({ name }) => name === 'limit' || name === 'days'),
  )
  expect(numbers.length).toBeGreaterThan(10)
  for (const { name, schema } of numbers)
    expect(schema).toMatchObject({ type: 'integer', minimum: 1, maximum: name === 'limit' ? 100 : 180 })
})

test('every code a route can answer with stands under its status, and every code is in the document', () => {
  for (const route of ROUTES) {
    const operation = document.paths[`${API_PREFIX}${route.path.replace(':id', '{id}')}`]?.[route.method]
    for (const code of problemCodesOf(route)) {
      expect(
        operation?.responses[ERRORS[code].status]?.description,
        `${route.operationId} ${code}`,
      ).toContain(`\`${code}\``)
    }
    expect(operation?.responses[route.success.status]).toBeDefined()
  }
  const error = JSON.stringify(document.components.schemas.Error)
  for (const code of ERROR_CODES) expect(error).toContain(`"${code}"`)
})

test('every body has an example that its own schema takes', () => {
  for (const route of ROUTES) {
    if (route.body === undefined) continue
    expect(route.body.safeParse(route.example), route.operationId).toMatchObject({ success: true })
  }
})

test('every answer has an example that its own schema takes', () => {
  for (const route of ROUTES) {
    if (route.success.schema === undefined) continue
    const operation = document.paths[`${API_PREFIX}${route.path.replace(':id', '{id}')}`]?.[route.method]
    const example = operation?.responses[route.success.status]?.content?.['application/json'].example
    expect(route.success.schema.safeParse(example), route.operationId).toMatchObject({ success: true })
  }
})

test('the documentation describes every route and every error, and loads nothing', async () => {
  for (const path of ['/docs', '/docs/errors', '/docs/guides', '/docs/guides/receiving-webhooks']) {
    const response = await api.app.request(path)
    // The script is ours, and the policy names its hash.
    const page = (await response.text()).replace(/<script>[\s\S]*?<\/script>/, '')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(response.headers.get('content-security-policy')).toBe(DOCS_CSP)
    expect(page).not.toMatch(
      /<script|<link(?! rel="icon" href="data:)|<img|<iframe| on[a-z]+=|javascript:|@import|url\(/i,
    )
    for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) expect(page).toContain(`id="${target}"`)
  }
  expect(DOCS_CSP).toContain("default-src 'none'")
  expect(DOCS_CSP).not.toContain('unsafe')
  const reference = await (await api.app.request('/docs')).text()
  for (const route of ROUTES) {
    expect(reference).toContain(`id="${route.operationId}"`)
    expect(reference).toContain(API_PREFIX + route.path.replace(':id', '{id}'))
  }
  expect((await api.app.request('/docs', { method: 'POST' })).status).toBe(405)
})
