import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MemberRole } from '../../src/db/people/people.ts'
import type { Route } from '../../src/http/api/route.ts'
import { ROUTES } from '../../src/http/api/routes.ts'
import { createTestPeople, type TestBrowser, type TestPeople } from '../support/people.ts'
import { type Resources, seedResources } from '../support/resources.ts'
import { MANAGERS, rowOf, STEP_UP, TEST_ONLY } from '../support/route-matrix.ts'

/**
 * Every route, asked by every role, in both modes, without a second factor, with one of the last five minutes
 * and with an older one: what the matrix's own lists say, whatever the route says of itself.
 */
const ROLES: readonly MemberRole[] = ['owner', 'admin', 'member', 'viewer']
const FACTORS = ['none', 'stale', 'fresh'] as const
type Factor = (typeof FACTORS)[number]

let people: TestPeople
let browser: TestBrowser
let merchantId: string
beforeAll(async () => {
  people = await createTestPeople()
  const made = await people.signUp('Matrix')
  browser = made.browser
  merchantId = made.merchantId
})
afterAll(() => people.drop())

/** One of each resource, and no endpoint or destination of an earlier round: there is a limit on those. */
async function freshResources(livemode: boolean): Promise<Resources> {
  for (const table of ['webhook_endpoint', 'payout_destination']) {
    await people.api.database.owner.query(
      `update ${table} set removed_at = now() where merchant_id = $1 and removed_at is null`,
      [merchantId],
    )
  }
  await people.api.database.owner.query('delete from api_key where merchant_id = $1', [merchantId])
  return seedResources(people.api, { merchantId, livemode })
}

async function become(role: MemberRole): Promise<void> {
  const { writeSealed } = people.api
  await writeSealed('update organization_member set role = $1 where organization_id = $2', [role, merchantId])
}

async function prove(factor: Factor): Promise<void> {
  const { writeSealed } = people.api
  const provedAt = { none: null, stale: '301 seconds', fresh: '1 second' }[factor]
  const sql = `update person_session set second_factor_at = now() - $1::interval`
  await writeSealed(sql, [provedAt], { writesOnlySessions: true })
}

function ask(route: Route, livemode: boolean, own: Resources) {
  const row = rowOf(route)
  const path = route.path.replace(':id', row.resource === undefined ? '' : own[row.resource])
  const method = route.method.toUpperCase() as 'GET' | 'POST' | 'PATCH' | 'DELETE'
  return browser.ask(method, `/api/v1${path}`, row.body?.(own), {
    'paylink-mode': livemode ? 'live' : 'test',
  })
}

/** The 403 that is due; null where the request must get through. */
function dueProblem(route: Route, role: MemberRole, factor: Factor, livemode: boolean): string | null {
  const isManager = role === 'owner' || role === 'admin'
  const isWrite = route.scope?.endsWith(':write') === true
  if (role === 'viewer' && isWrite) return 'role_insufficient'
  if (role === 'member' && route.scope === 'balances:write') return 'role_insufficient'
  if (MANAGERS.has(route.operationId) && !isManager) return 'role_insufficient'
  if (!livemode) return null
  if (TEST_ONLY.has(route.operationId)) return 'test_mode_only'
  if (!STEP_UP.has(route.operationId)) return null
  if (!isManager) return 'role_insufficient'
  return factor === 'fresh' ? null : 'second_factor_required'
}

describe.each(ROUTES.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const))(
  '%s',
  (_name, route) => {
    test('gives each role in each mode what is due to it, by how long ago its second factor was proved', async () => {
      for (const livemode of [false, true]) {
        let own = await freshResources(livemode)
        for (const role of ROLES) {
          await become(role)
          for (const factor of FACTORS) {
            await prove(factor)
            const answer = await ask(route, livemode, own)
            const due = dueProblem(route, role, factor, livemode)
            const about = `${role}, ${livemode ? 'live' : 'test'}, second factor ${factor}: ${answer.status} ${answer.text}`
            if (due !== null) {
              expect([answer.status, answer.body?.error?.code], about).toEqual([403, due])
            } else {
              expect(rowOf(route).reached ?? [route.success.status], about).toContain(answer.status)
              if (route.method !== 'get') own = await freshResources(livemode)
            }
          }
        }
      }
    })

    test('is closed to whoever has left the organization, with the next request', async () => {
      const own = await seedResources(people.api, { merchantId, livemode: false })
      const { owner } = people.api.database
      const { rows } = await owner.query<{ id: string; user_id: string }>(
        'delete from organization_member where organization_id = $1 returning id, user_id',
        [merchantId],
      )
      const answer = await ask(route, false, own)
      expect([answer.status, answer.body?.error?.code]).toEqual([401, 'api_key_missing'])
      await people.api.writeSealed(
        `insert into organization_member (id, organization_id, user_id, role, created_at) values ($1, $2, $3, 'owner', now())`,
        [rows[0]?.id, merchantId, rows[0]?.user_id],
      )
    })
  },
)
