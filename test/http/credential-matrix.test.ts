import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { formatId } from '../../src/core/ids.ts'
import type { Route } from '../../src/http/api/route.ts'
import { ROUTES } from '../../src/http/api/routes.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { newApiKey } from '../../src/secrets/new-api-key.ts'
import { SCOPES } from '../../src/wire/scopes.ts'
import { createTestApi, type TestAnswer, type TestApi, type TestMerchant } from '../support/api.ts'
import { type ResourceKind, type Resources, seedResources } from '../support/resources.ts'
import { DASHBOARD_ONLY, MANAGERS, MATRIX, rowOf, STEP_UP, TEST_ONLY } from '../support/route-matrix.ts'

type World = { readonly test: Resources; readonly live: Resources }
let api: TestApi
let mine: TestMerchant
let other: TestMerchant
let myResources: World
let otherResources: World
beforeAll(async () => {
  api = await createTestApi()
  // Nobody reaches anything of theirs, so that every route finds it as it was.
  other = await api.addMerchant()
  otherResources = await freshWorld(other)
})
afterAll(() => api.drop())

async function freshWorld(merchant: TestMerchant): Promise<World> {
  const seed = (livemode: boolean) => seedResources(api, { merchantId: merchant.id, livemode })
  return { test: await seed(false), live: await seed(true) }
}

/** Calls a route with a key, on a resource of the matrix's kind (or the given id), with a body that it accepts. */
function callRoute(route: Route, key: string | undefined, own: Resources, id?: string): Promise<TestAnswer> {
  const row = rowOf(route)
  const target = id ?? (row.resource === undefined ? '' : own[row.resource])
  return api.call(route.method.toUpperCase(), route.path.replace(':id', target), {
    ...(key === undefined ? {} : { key }),
    ...(row.body === undefined ? {} : { body: row.body(own) }),
  })
}

function expectProblem(answer: TestAnswer, status: number, code: string): void {
  expect({ status: answer.status, code: answer.body?.error?.code }).toEqual({ status, code })
  expect(answer.headers.get('request-id')).toBe(answer.body.error.request_id)
}

function expectReached(route: Route, answer: TestAnswer): void {
  const reached = rowOf(route).reached ?? [route.success.status]
  expect(reached, `${answer.status} ${answer.text}`).toContain(answer.status)
  const { schema } = route.success
  if (answer.status === route.success.status && schema !== undefined) schema.parse(answer.body)
}

/** What the route says to a live key of every scope; null where live is as good as test. */
const liveProblem = (route: Route): string | null => {
  if (TEST_ONLY.has(route.operationId)) return 'test_mode_only'
  return STEP_UP.has(route.operationId) ? 'dashboard_session_required' : null
}

test('every route stands in the matrix, and the matrix names no other', () => {
  expect(Object.keys(MATRIX).sort()).toEqual(ROUTES.map((route) => route.operationId).sort())
  const listed = [...STEP_UP, ...TEST_ONLY, ...MANAGERS, ...DASHBOARD_ONLY]
  expect(Object.keys(MATRIX)).toEqual(expect.arrayContaining(listed))
})

/** What an id in a body names. */
const KIND_OF: { readonly [field: string]: ResourceKind } = {
  endpoint_id: 'webhookEndpoint',
  destination_id: 'payoutDestination',
}

const KEY_ROUTES = ROUTES.filter((route) => !DASHBOARD_ONLY.has(route.operationId))

describe.each(KEY_ROUTES.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const))(
  '%s',
  (_name, route) => {
    beforeAll(async () => {
      // A merchant of its own: what a merchant may have is limited, and every route adds to it.
      mine = await api.addMerchant()
      myResources = await freshWorld(mine)
    })

    test('no key, a malformed one, an unknown one and a revoked one are 401', async () => {
      const own = myResources.test
      expectProblem(await callRoute(route, undefined, own), 401, 'api_key_missing')
      const revoked = await api.addKey(mine.id, false, SCOPES)
      await api.database.owner.query('update api_key set revoked_at = now() where id = $1', [revoked.id])
      const malformed = [
        'x',
        'sk_test_',
        `${mine.testKey}x`,
        mine.testKey.slice(0, -1),
        `${mine.testKey} y`,
        mine.testKey.toUpperCase(),
      ]
      for (const key of [...malformed, newApiKey(false), newApiKey(true), revoked.key]) {
        const answer = await callRoute(route, key, own)
        expectProblem(answer, 401, 'api_key_invalid')
        expect(answer.headers.get('www-authenticate')).toBe('Bearer')
      }
      const basic = await api.call(route.method.toUpperCase(), route.path.replace(':id', 'x'), {
        headers: { authorization: `Basic ${Buffer.from(`${mine.testKey}:`).toString('base64')}` },
      })
      expectProblem(basic, 401, 'api_key_invalid')
    })

    test('a key without the scope is 403, whatever other scopes it has', async () => {
      const own = myResources.test
      const others = SCOPES.filter((scope) => scope !== route.scope)
      for (const scopes of [[], others]) {
        const { key } = await api.addKey(mine.id, false, scopes)
        const answer = await callRoute(route, key, own)
        if (route.scope === null) expectReached(route, answer)
        else expectProblem(answer, 403, 'scope_missing')
      }
    })

    test('a read-only key reads and never writes', async () => {
      const { key } = await api.addKey(
        mine.id,
        false,
        SCOPES.filter((scope) => scope.endsWith(':read')),
      )
      const answer = await callRoute(route, key, myResources.test)
      if (route.scope === null || route.scope.endsWith(':read')) expectReached(route, answer)
      else expectProblem(answer, 403, 'scope_missing')
    })

    test('an id unknown, another merchant’s, of the other mode or kind, or malformed is one identical 404', async () => {
      const { resource } = rowOf(route)
      if (resource === undefined) return
      const own = myResources.test
      const ids = [
        newId(resource, api.time.now),
        formatId(resource, new Uint8Array(16)),
        otherResources.test[resource],
        otherResources.live[resource],
        myResources.live[resource],
        newId('apiKey', api.time.now),
        own[resource === 'invoice' ? 'event' : 'invoice'],
        own[resource].toUpperCase(),
        `${own[resource]}x`,
        '1',
        '%00',
        '%ff',
        "'%20or%201=1--",
        '..%2f..',
        'a'.repeat(5_000),
      ]
      const bodies = new Set<string>()
      for (const id of ids) {
        const answer = await callRoute(route, mine.testKey, own, id)
        expectProblem(answer, 404, 'not_found')
        bodies.add(answer.text.replace(answer.body.error.request_id, ''))
      }
      expect([...bodies]).toHaveLength(1)
    })

    test('another merchant’s id in the body, or one of the other mode, is as good as an unknown one', async () => {
      const { body, resource } = rowOf(route)
      const named = (of: Resources) =>
        Object.entries(body?.(of) ?? {}).filter(([name]) => name.endsWith('_id'))
      for (const [at, [name, id]] of named(myResources.test).entries()) {
        const unknown = formatId(KIND_OF[name] ?? 'event', new Uint8Array(16))
        const foreign = [otherResources.test, otherResources.live, myResources.live].map(
          (of) => named(of)[at]?.[1],
        )
        expect(new Set([id, unknown, ...foreign]).size).toBe(5)
        const answers = new Set<string>()
        for (const given of [unknown, ...foreign]) {
          const target = resource === undefined ? '' : myResources.test[resource]
          const answer = await api.call(route.method.toUpperCase(), route.path.replace(':id', target), {
            key: mine.testKey,
            body: { ...body?.(myResources.test), [name]: given },
          })
          expect(answer.status).toBeGreaterThanOrEqual(400)
          answers.add(answer.text.replace(answer.body.error.request_id, ''))
        }
        expect([...answers]).toHaveLength(1)
      }
    })

    test('a foreign id is 404 before any mistake in the request is reported', async () => {
      const { resource } = rowOf(route)
      if (resource === undefined) return
      const path = route.path.replace(':id', otherResources.test[resource])
      const call = (suffix: string, options: object) =>
        api.call(route.method.toUpperCase(), path + suffix, { key: mine.testKey, ...options })
      expectProblem(
        await call('?nonsense=1', {}),
        route.body === undefined || route.bodyOptional ? 404 : 415,
        route.body === undefined || route.bodyOptional ? 'not_found' : 'unsupported_media_type',
      )
      if (route.method !== 'post') return
      expectProblem(await call('', { text: '{' }), 404, 'not_found')
      expectProblem(await call('', { body: { nonsense: 1 } }), 404, 'not_found')
      expectProblem(
        await call('', { text: '{}', headers: { 'content-type': 'text/plain' } }),
        415,
        'unsupported_media_type',
      )
    })

    test('the right scope is enough in test mode', async () => {
      const { key } = await api.addKey(mine.id, false, route.scope === null ? [] : [route.scope])
      expectReached(route, await callRoute(route, key, myResources.test))
    })

    test('a live key does what the route allows in live mode, on live resources only', async () => {
      const { key } = await api.addKey(mine.id, true, route.scope === null ? [] : [route.scope])
      const problem = liveProblem(route)
      const answer = await callRoute(route, key, myResources.live)
      if (problem === null) expectReached(route, answer)
      else expectProblem(answer, 403, problem)
      if (rowOf(route).resource === undefined) return
      const foreign = await callRoute(route, key, myResources.test)
      expectProblem(foreign, problem === null ? 404 : 403, problem ?? 'not_found')
    })
  },
)

describe.each(
  ROUTES.filter((route) => DASHBOARD_ONLY.has(route.operationId)).map(
    (route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const,
  ),
)('%s', (_name, route) => {
  test('is for people at the dashboard: no key of any scope reaches it, in either mode', async () => {
    mine = await api.addMerchant()
    const world = await freshWorld(mine)
    expectProblem(await callRoute(route, undefined, world.test), 401, 'api_key_missing')
    expectProblem(await callRoute(route, newApiKey(false), world.test), 401, 'api_key_invalid')
    for (const livemode of [false, true]) {
      const { key } = await api.addKey(mine.id, livemode, SCOPES)
      const answer = await callRoute(route, key, livemode ? world.live : world.test)
      expectProblem(answer, 403, 'dashboard_session_required')
    }
  })
})
