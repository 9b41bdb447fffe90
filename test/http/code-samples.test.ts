import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ROUTES } from '../../src/http/api/routes.ts'
import type { CodeSample } from '../../src/http/docs/code-samples.ts'
import { openApiDocument } from '../../src/http/docs/openapi.ts'
import { programPath } from '../support/programs.ts'

/** Every example of the API reference is run, and asks for what the document says. */

const KEY = 'sk_test_of_the_examples'
const SDK = new URL('../../packages/sdk/dist/index.js', import.meta.url)

type Asked = { method: string; path: string; key: string; idempotency: string | null; body: unknown }

let server: Server
let folder: string
let asked: Asked[] = []
let samples: { operationId: string; samples: readonly CodeSample[]; expected: Asked }[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paylink-samples-'))
  server = createServer(async (request, response) => {
    const body = await text(request)
    asked.push({
      method: request.method ?? '',
      // The SDK names the size of its pages.
      path: (request.url ?? '').replace('?limit=100', ''),
      key: request.headers.authorization ?? '',
      idempotency: request.headers['idempotency-key']?.toString() ?? null,
      body: body === '' || body === '{}' ? null : JSON.parse(body),
    })
    // No route answers with more: an empty list is also an object without fields.
    response.writeHead(request.method === 'DELETE' ? 204 : 200, { 'content-type': 'application/json' })
    response.end(request.method === 'DELETE' ? undefined : '{"object":"list","has_more":false,"data":[]}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const document = openApiDocument(ROUTES, `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  samples = ROUTES.flatMap((route) => {
    const path = `/api/v1${route.path.replace(':id', '{id}')}`
    const operation = document.paths[path]?.[route.method]
    const id = operation?.parameters.find(({ name }) => name === 'id')?.example ?? ''
    const expected = {
      method: route.method.toUpperCase(),
      path: path.replace('{id}', id),
      key: `Bearer ${KEY}`,
      idempotency: route.create === undefined ? null : 'order-1042',
      body: route.provesFactor === true ? null : (route.example ?? null),
    }
    const given = operation?.['x-codeSamples']
    return given === undefined ? [] : [{ operationId: route.operationId, samples: given, expected }]
  })
})
afterAll(async () => {
  await rm(folder, { recursive: true })
  await new Promise((resolve) => server.close(resolve))
})
beforeEach(() => {
  asked = []
})

const sourcesOf = (label: string): string[] =>
  samples.map(({ samples }) => samples.find((sample) => sample.label === label)?.source ?? '')

async function runAll(program: string, ...args: string[]): Promise<void> {
  const env = { PATH: process.env.PATH, PAYLINK_API_KEY: KEY }
  await promisify(execFile)(program, args, { env, cwd: folder })
  expect(asked).toEqual(samples.map(({ expected }) => expected))
}

test('every route that a key may call has an example in each language', () => {
  const callable = ROUTES.filter((route) => route.dashboardOnly !== true)
  expect(samples.map(({ operationId }) => operationId)).toEqual(callable.map((route) => route.operationId))
  for (const { samples: given } of samples)
    expect(given.map(({ label }) => label)).toEqual(['curl', 'Node.js', 'Python', 'PHP'])
})

test('the examples in curl ask for what the document says', async () => {
  const script = join(folder, 'all.sh')
  await writeFile(script, `set -e\n${sourcesOf('curl').join('\n')}`)
  await runAll('bash', script)
})

test('the examples in Node.js ask for what the document says', async () => {
  for (const [index, source] of sourcesOf('Node.js').entries())
    await writeFile(join(folder, `${index}.mjs`), source.replace("'paylink-sdk'", `'${SDK.href}'`))
  const all = join(folder, 'all.mjs')
  await writeFile(all, samples.map((_, index) => `await import('./${index}.mjs')`).join('\n'))
  await runAll(process.execPath, all)
})

test('the examples in Python ask for what the document says', { tags: ['python'] }, async () => {
  const script = join(folder, 'all.py')
  await writeFile(script, sourcesOf('Python').join('\n\n'))
  await runAll(programPath('python'), script)
})

test('the examples in PHP ask for what the document says', { tags: ['php'] }, async () => {
  const script = join(folder, 'all.php')
  await writeFile(script, sourcesOf('PHP').join('\n?>\n'))
  await runAll(programPath('php'), script)
})
