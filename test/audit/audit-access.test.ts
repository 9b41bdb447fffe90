import { afterAll, beforeAll, expect, test } from 'vitest'
import { auditAccess } from '../../src/audit/audit-access.ts'
import { acceptAccess, sealOlderAccess } from '../../src/flows/seal-access.ts'
import { withSystemTransaction } from '../../src/postgres/transaction.ts'
import { createTestPeople, PASSWORD, type TestBrowser, type TestPeople } from '../support/people.ts'

let people: TestPeople
beforeAll(async () => {
  people = await createTestPeople()
})
afterAll(() => people.drop())

const steal = (sql: string, values: unknown[] = []) => people.api.database.pools.api.query(sql, values)
const audit = () =>
  withSystemTransaction(people.api.database.owner, (tx) => auditAccess(tx, people.api.deps.seals, 100))
const accept = () =>
  acceptAccess({ pool: people.api.database.owner, clock: () => new Date(), seals: people.api.deps.seals })
const ask = (browser: TestBrowser, path: string, body: object) =>
  browser.ask('POST', `/api/auth${path}`, body)

/** A shop with its owner, an admin who was made one later, and keys of which one was revoked. */
async function openTeam(name: string) {
  const owner = await people.signUp(name)
  const { merchantId: organizationId } = owner
  const { secret } = await people.enableSecondFactor(owner.browser)
  const email = `${name.toLowerCase()}-helper@example.com`
  const helper = people.browser()
  await ask(helper, '/sign-up/email', { name: 'Helper', email, password: PASSWORD })
  await people.api.writeSealed('update person set email_verified = true where email = $1', [email])
  const invited = await ask(owner.browser, '/organization/invite-member', {
    email,
    role: 'viewer',
    organizationId,
  })
  const joined = await ask(helper, '/organization/accept-invitation', { invitationId: invited.body.id })
  const memberId: string = joined.body.member.id
  const raised = await ask(owner.browser, '/organization/update-member-role', {
    memberId,
    role: 'admin',
    organizationId,
  })
  expect(raised.status, raised.text).toBe(200)
  const keys = [await makeKey(owner.browser), await makeKey(owner.browser)]
  await owner.browser.ask('POST', `/api/v1/api-keys/${keys[1]?.id}/revoke`)
  return { ...owner, secret, helper, memberId, keyId: String(keys[0]?.id), revokedId: String(keys[1]?.id) }
}

const makeKey = async (browser: TestBrowser): Promise<{ id: string; key: string }> =>
  (await browser.ask('POST', '/api/v1/api-keys', { name: 'Till', scopes: ['invoices:read'] })).body

test('what Paylink did is found in order, also where much was done at once', async () => {
  const team = await openTeam('Ada')
  const codes = () => ask(team.browser, '/two-factor/generate-backup-codes', { password: PASSWORD })
  const answers = await Promise.all([codes(), codes(), codes()])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  await Promise.all(Array.from({ length: 10 }, () => makeKey(team.browser)))
  expect(await audit()).toEqual([])
  const { memberId: memberIdOrEmail, merchantId: organizationId } = team
  expect(
    (await ask(team.browser, '/organization/remove-member', { memberIdOrEmail, organizationId })).status,
  ).toBe(200)
  expect(await audit()).toEqual([])
})

type Member = { id: string; user_id: string; role: string; seal: Buffer }

/** The API's login is refused. Whoever owns the database can turn off the trigger that refuses it, and is named. */
async function bringBack(before: Member, merchantId: string): Promise<void> {
  const row = [before.id, merchantId, before.user_id, before.role, before.seal]
  const insert = `insert into organization_member (id, organization_id, user_id, role, seal, created_at) values ($1, $2, $3, $4, $5, now())`
  await expect(steal(insert, row)).rejects.toThrow('was removed, or is another')
  const client = await people.api.database.owner.connect()
  try {
    await client.query(`set session_replication_role = 'replica'`)
    await client.query(insert, row)
  } finally {
    client.release(true)
  }
}

test('a row put in, changed, taken out or brought back with SQL is named, with its shop', async () => {
  const team = await openTeam('Bob')
  const { merchantId } = team
  const { rows } = await steal('select id, user_id, role, seal from organization_member where id = $1', [
    team.memberId,
  ])
  const before = rows[0]

  await steal(
    `insert into api_key (merchant_id, id, livemode, key_hash, scopes, created_at)
    values ($1, 'key_forged', true, 'x', '{}', now())`,
    [merchantId],
  )
  expect(await audit()).toEqual([
    { merchantId, subject: 'api_key/key_forged', detail: 'was not written by Paylink' },
  ])
  await people.api.database.owner.query(`delete from api_key where id = 'key_forged'`)

  await steal('delete from organization_member where id = $1', [team.memberId])
  const takenOut = { merchantId, subject: `organization_member/${team.memberId}` }
  expect(await audit()).toEqual([{ ...takenOut, detail: 'was taken out or changed, and not by Paylink' }])
  await bringBack(before, merchantId)
  expect(await audit()).toEqual([])

  // Removed by the owner, and brought back as it was: the seal is right, the list says that it is over.
  const removal = { memberIdOrEmail: team.memberId, organizationId: merchantId }
  await ask(team.browser, '/organization/remove-member', removal)
  await bringBack(before, merchantId)
  const broughtBack = { ...takenOut, detail: 'was put in or changed back, and not by Paylink' }
  expect(await audit()).toEqual([broughtBack])
  // What comes after does not cover it up.
  await makeKey(team.browser)
  const invitation = { email: 'x@example.com', role: 'viewer', organizationId: merchantId }
  await ask(team.browser, '/organization/invite-member', invitation)
  expect(await audit()).toEqual([broughtBack])

  await steal(`update access_set set entries = '{}' where owner_id = $1 and kind = 'member'`, [merchantId])
  expect(await audit()).toEqual([
    {
      merchantId,
      subject: `organization_member/${merchantId}`,
      detail: 'has a list that Paylink did not write',
    },
  ])
  await accept()
  expect(await audit()).toEqual([])
})

test("a person's second factor taken out with SQL is named", async () => {
  const team = await openTeam('Cyd')
  await steal('delete from person_two_factor where user_id = (select id from person where email = $1)', [
    team.email,
  ])
  expect(await audit()).toMatchObject([
    { merchantId: null, detail: 'was taken out or changed, and not by Paylink' },
  ])
  await accept()
})

test('rows of a release that knew no seals are sealed once, and those of afterwards count for nothing', async () => {
  const team = await openTeam('Dot')
  const { owner, pools } = people.api.database
  const { key } = await makeKey(team.browser)
  const list = async () => {
    people.api.time.advance(2_000)
    return (await people.api.call('GET', '/invoices', { key })).status
  }
  const signIn = async () =>
    (await ask(people.browser(), '/sign-in/email', { email: team.email, password: PASSWORD })).status
  for (const table of [
    'person',
    'person_account',
    'person_session',
    'organization_member',
    'person_two_factor',
    'api_key',
  ])
    await owner.query(`update ${table} set seal = null`)
  await owner.query('delete from access_set')
  await owner.query('delete from access_sealed')
  expect([await list(), await signIn()]).toEqual([401, 401])

  const deps = { pool: pools.api, clock: () => new Date(), seals: people.api.deps.seals }
  const sealed = await Promise.all([sealOlderAccess(deps), sealOlderAccess(deps)])
  expect(sealed.filter((count) => count !== null)).toHaveLength(1)
  expect([await list(), await signIn()]).toEqual([200, 200])
  expect(await audit()).toEqual([])
  // A sign-in that somebody may have given themselves before is not kept.
  expect((await team.browser.ask('GET', '/api/v1/assets')).status).toBe(401)

  await expect(steal('delete from access_sealed')).rejects.toThrow('permission denied')
  await expect(steal('update access_sealed set sealed_at = now()')).rejects.toThrow('permission denied')
  await owner.query('update api_key set seal = null')
  expect(await sealOlderAccess(deps)).toBeNull()
  expect(await list()).toBe(401)
  await accept()
  expect(await list()).toBe(200)
})
