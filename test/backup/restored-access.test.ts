import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { endAllSignIns, listRestoredAccess } from '../../src/db/people/restored-access.ts'
import { createTestPeople, type TestPeople } from '../support/people.ts'

/** What a restore does, in its transaction, with the access that its backup brings back. */

let people: TestPeople
beforeAll(async () => {
  people = await createTestPeople()
})
afterAll(() => people.drop())

test('every sign-in of a backup ends, and the audit says nothing of it', async () => {
  const { browser } = await people.signUp('Ivy')
  const { owner } = people.api.database
  const named = async () => (await runAudit(owner, [])).filter(({ findings }) => findings.length > 0)
  const before = (await named()).map(({ name }) => name)
  expect((await browser.ask('GET', '/api/v1/api-keys')).status).toBe(200)
  expect(await endAllSignIns(owner)).toBeGreaterThan(0)
  expect((await browser.ask('GET', '/api/v1/api-keys')).status).toBe(401)
  expect((await named()).map(({ name }) => name)).toEqual(before)
})

test('what counts again is listed by name, twenty of a kind, without a secret', async () => {
  const { browser, email } = await people.signUp('Ned')
  const made = await browser.ask('POST', '/api/v1/api-keys', { name: 'leaked', scopes: ['invoices:read'] })
  expect(made.status).toBe(201)
  const { owner } = people.api.database
  // One that was withdrawn since the backup is open again, and one that has run out stays so.
  await owner.query(
    `insert into organization_invitation (id, organization_id, email, role, status, inviter_id, expires_at, created_at)
     select state || hours, organization_id, state || hours || '@example.com', 'admin', state, user_id,
       now() + make_interval(hours => hours), now()
     from (select organization_id, user_id from organization_member join person on person.id = user_id where email = $1) m,
       (values ('pending', 1), ('pending', -1), ('canceled', 1)) invitation (state, hours)`,
    [email],
  )
  const listed = await listRestoredAccess(owner)
  expect(listed.invitations).toMatchObject({
    count: 1,
    first: [expect.stringMatching(/^pending1@.* admin /)],
  })
  expect(listed.managers.first.some((name) => name.includes(email))).toBe(true)
  expect(listed.apiKeys.first.some((name) => name.endsWith('leaked'))).toBe(true)
  expect(JSON.stringify(listed)).not.toContain(made.body.key ?? made.body.secret)
  await owner.query(
    `insert into webhook_endpoint (merchant_id, id, livemode, url, subscribed_events, status, created_at)
     select $1, 'we_' || n, true, 'https://shop.example/secret/' || n, '{*}', 'enabled', now()
     from generate_series(1, 25) n`,
    [(await people.signUp('Oda')).merchantId],
  )
  const { endpoints } = await listRestoredAccess(owner)
  expect([endpoints.count, endpoints.first.length]).toEqual([25, 20])
  expect(endpoints.first[0]).toMatch(/^we_\d+ https:\/\/shop\.example of /)
})
