import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestPeople, PASSWORD, type TestBrowser, type TestPeople } from '../support/people.ts'

/**
 * Every request of a team, asked by everybody with a fresh second factor, about everybody: what docs/dashboard.md says of the
 * roles, whatever the sign-in library's own roles say.
 */
const ACTORS = ['owner', 'admin', 'member', 'viewer', 'stranger'] as const
type Actor = (typeof ACTORS)[number]
type Role = Exclude<Actor, 'stranger'>
const ROLES = ['owner', 'admin', 'member', 'viewer'] as const

let people: TestPeople
let merchantId: string
const browsers = new Map<Actor, TestBrowser>()
/** The person on whom the actors try, in a role that each test gives them. */
let target: { readonly userId: string; readonly email: string }
beforeAll(async () => {
  people = await createTestPeople()
  const owner = await people.signUp('Matrix')
  merchantId = owner.merchantId
  browsers.set('owner', owner.browser)
  for (const actor of ['admin', 'member', 'viewer'] as const) {
    const { browser, userId } = await newcomer(actor)
    await seat(userId, actor)
    await browser.ask('POST', '/api/auth/organization/set-active', { organizationId: merchantId })
    browsers.set(actor, browser)
  }
  browsers.set('stranger', (await people.signUp('Stranger')).browser)
  for (const browser of browsers.values()) await people.enableSecondFactor(browser)
  target = await newcomer('target')
})
afterAll(() => people.drop())

async function newcomer(name: string) {
  const browser = people.browser()
  const email = `${name}.of.team@example.com`
  const made = await browser.ask('POST', '/api/auth/sign-up/email', { name, email, password: PASSWORD })
  await people.api.writeSealed('update person set email_verified = true where email = $1', [email])
  return { browser, email, userId: String(made.body.user.id) }
}

/** Gives somebody a role; the id of their membership. */
async function seat(userId: string, role: Role): Promise<string> {
  const { owner } = people.api.database
  await owner.query('delete from organization_member where organization_id = $1 and user_id = $2', [
    merchantId,
    userId,
  ])
  const id = `member-${performance.now()}`
  await people.api.writeSealed(
    'insert into organization_member (id, organization_id, user_id, role, created_at) values ($1, $2, $3, $4, now())',
    [id, merchantId, userId, role],
  )
  return id
}

const ask = (actor: Actor, act: string, body: object) =>
  browsers.get(actor)?.ask('POST', `/api/auth/organization/${act}`, body)
const read = (actor: Actor, path: string) => browsers.get(actor)?.ask('GET', `/api/auth/organization/${path}`)

/** The role that the target has in the end; null where it is no member. */
async function targetRole(): Promise<string | null> {
  const { rows } = await people.api.database.owner.query<{ role: string }>(
    'select role from organization_member where organization_id = $1 and user_id = $2',
    [merchantId, target.userId],
  )
  return rows[0]?.role ?? null
}

const isManager = (actor: Actor) => actor === 'owner' || actor === 'admin'
/** Whether somebody may take a role from the target, or give it one. */
const mayTouch = (actor: Actor, role: Role) => actor === 'owner' || (actor === 'admin' && role !== 'owner')

describe.each(ACTORS)('%s', (actor) => {
  test('gives and takes the roles that are theirs to give, and no other', async () => {
    for (const before of ROLES) {
      for (const after of ROLES.filter((role) => role !== before)) {
        const memberId = await seat(target.userId, before)
        const answer = await ask(actor, 'update-member-role', {
          memberId,
          role: after,
          organizationId: merchantId,
        })
        const isDue = mayTouch(actor, before) && mayTouch(actor, after)
        expect([before, after, answer?.status === 200]).toEqual([before, after, isDue])
        expect([before, after, await targetRole()]).toEqual([before, after, isDue ? after : before])
      }
    }
  })

  test('takes out whom they may, and nobody else', async () => {
    for (const role of ROLES) {
      const memberId = await seat(target.userId, role)
      await ask(actor, 'remove-member', { memberIdOrEmail: memberId, organizationId: merchantId })
      expect([role, await targetRole()]).toEqual([role, mayTouch(actor, role) ? null : role])
    }
  })

  test('invites, and takes back and reads invitations, only as a manager; reads the team only as a member', async () => {
    for (const role of ['admin', 'member', 'viewer'] as const) {
      const email = `${actor}.invites.${role}@example.com`
      const invited = await ask(actor, 'invite-member', { email, role, organizationId: merchantId })
      expect([role, invited?.status === 200]).toEqual([role, isManager(actor)])
    }
    const email = `cancelled.by.${actor}@example.com`
    const { id } =
      (await ask('owner', 'invite-member', { email, role: 'viewer', organizationId: merchantId }))?.body ?? {}
    expect((await read(actor, `get-invitation?id=${id}`))?.status).not.toBe(200)
    await ask(actor, 'accept-invitation', { invitationId: id })
    await ask(actor, 'reject-invitation', { invitationId: id })
    await ask(actor, 'cancel-invitation', { invitationId: id })
    const { rows } = await people.api.database.owner.query<{ status: string }>(
      'select status from organization_invitation where id = $1',
      [id],
    )
    expect(rows[0]?.status).toBe(isManager(actor) ? 'canceled' : 'pending')
    expect((await read(actor, `list-members?organizationId=${merchantId}`))?.status).toBe(
      actor === 'stranger' ? 403 : 200,
    )
  })
})
