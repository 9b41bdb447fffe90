import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROUTES } from '../../src/http/api/routes.ts'
import { CODES_OUTSIDE_ROUTES, problemCodesOf } from '../../src/http/docs/openapi.ts'
import { ERROR_TYPES } from '../../src/wire/error-types.ts'
import { ERROR_CODES, ERRORS, type ErrorCode } from '../../src/wire/errors.ts'
import { createTestApi, type TestApi } from '../support/api.ts'

const GUIDE = new URL('../../docs/errors.md', import.meta.url)
const HEADING = '## The catalogue'

/** The part of docs/errors.md that follows from the catalogue. */
function catalogueText(): string {
  const sections = ERROR_CODES.map((code) => {
    const { status, type, message } = ERRORS[code]
    return `### ${code}\n\nHTTP ${status} · \`${type}\`\n\n${message}\n`
  })
  return `${HEADING}\n\n${sections.join('\n')}`
}

let api: TestApi
beforeAll(async () => {
  api = await createTestApi()
})
afterAll(() => api.drop())

test('docs/errors.md says what the catalogue says of every code, and names no other', async () => {
  const guide = await readFile(GUIDE, 'utf8')
  expect(guide.slice(guide.indexOf(HEADING))).toBe(catalogueText())
})

test('a code’s status and type agree', () => {
  const typesOf: { readonly [status: number]: readonly string[] } = {
    400: ['invalid_request_error', 'idempotency_error'],
    401: ['authentication_error'],
    403: ['permission_error'],
    404: ['not_found_error'],
    405: ['invalid_request_error'],
    409: ['conflict_error', 'idempotency_error'],
    413: ['invalid_request_error'],
    415: ['invalid_request_error'],
    421: ['invalid_request_error'],
    422: ['invalid_request_error', 'idempotency_error'],
    429: ['rate_limit_error'],
    500: ['api_error'],
    503: ['api_error'],
  }
  for (const code of ERROR_CODES) {
    expect(typesOf[ERRORS[code].status], code).toContain(ERRORS[code].type)
    expect(ERROR_TYPES).toContain(ERRORS[code].type)
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
  }
})

test('every code can be answered by some route, or needs none', () => {
  const known = new Set<ErrorCode>([...CODES_OUTSIDE_ROUTES, ...ROUTES.flatMap(problemCodesOf)])
  expect(ERROR_CODES.filter((code) => !known.has(code))).toEqual([])
})

test('every doc_url leads to its code on the error page', async () => {
  const page = await (await api.app.request('/docs/errors')).text()
  for (const code of ERROR_CODES) expect(page).toContain(`id="${code}"`)
  const { body } = await api.call('GET', '/invoices')
  expect(body.error.doc_url).toBe('https://pay.example.com/docs/errors#api_key_missing')
})
