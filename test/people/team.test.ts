import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { verifyAuditLog } from '../../src/audit/verify-audit-log.ts'
import { createTestPeople, PASSWORD, type TestBrowser, type TestPeople } from '../support/people.ts'

let people: TestPeople
beforeAll(async () => {
  people = await createTestPeople()
})
afterAll(() => people.drop())

type Shop = { browser: TestBrowser; merchantId: string }
type Role = 'owner' | 'admin' | 'member' | 'viewer'

const ask = (browser: TestBrowser, act: string, body: object) =>
  browser.ask('POST', `/api/auth/organization/${act}`, body)
const invite = ({ browser, merchantId: organizationId }: Shop, email: string, role: string = 'member') =>
  ask(browser, 'invite-member', { email, role, organizationId })
const accept = (browser: TestBrowser, invitationId: string) =>
  ask(browser, 'accept-invitation', { invitationId })
const verify = (email: string) =>
  people.api.writeSealed('update person set email_verified = true where email = $1', [email])

async function newcomer(name: string, { isVerified = true } = {}) {
  const browser = people.browser()
  const email = `${name}@example.com`
  const made = await browser.ask('POST', '/api/auth/sign-up/email', { name, email, password: PASSWORD })
  expect(made.status, made.text).toBe(200)
  if (isVerified) await verify(email)
  return { browser, email }
}

/** A new person who belongs to the shop; by the database where the role takes a second factor to give. */
async function join(shop: Shop, name: string, role: Role) {
  const person = await newcomer(name)
  const invited = await invite(shop, person.email)
  const joined = await accept(person.browser, invited.body.id)
  expect(joined.status, joined.text).toBe(200)
  await people.api.writeSealed('update organization_member set role = $1 where id = $2', [
    role,
    joined.body.member.id,
  ])
  return { ...person, memberId: String(joined.body.member.id), merchantId: shop.merchantId }
}

const members = async (merchantId: string) => {
  const { rows } = await people.api.database.owner.query<{ id: string; user_id: string; role: Role }>(
    'select id, user_id, role from organization_member where organization_id = $1 order by created_at',
    [merchantId],
  )
  return rows
}

describe('an invitation', () => {
  test('is accepted by a confirmed address alone, and by the one it was written to', async () => {
    const shop = await people.signUp('Inviter One')
    const unsure = await newcomer('unsure', { isVerified: false })
    const { id } = (await invite(shop, unsure.email)).body
    expect((await accept(unsure.browser, id)).status).toBe(403)
    const other = await newcomer('other')
    expect((await accept(other.browser, id)).status).toBe(403)
    expect(await members(shop.merchantId)).toHaveLength(1)
    await verify(unsure.email)
    expect((await accept(unsure.browser, id)).status).toBe(200)
  })

  test('is good once, however often it is accepted at the same moment', async () => {
    const shop = await people.signUp('Inviter Two')
    const { browser, email } = await newcomer('racer')
    const { id } = (await invite(shop, email)).body
    const answers = await Promise.all(Array.from({ length: 10 }, () => accept(browser, id)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(Math.max(...answers.map(({ status }) => status))).toBeLessThan(500)
    expect(await members(shop.merchantId)).toHaveLength(2)
    expect((await accept(browser, id)).status).toBe(400)
  })

  test('two of which were open to one address make one member', async () => {
    const shop = await people.signUp('Inviter Three')
    const { browser, email } = await newcomer('twice')
    await Promise.all(Array.from({ length: 4 }, () => invite(shop, email)))
    const { rows } = await people.api.writeSealed(
      `update organization_invitation set status = 'pending' where email = $1 returning id`,
      [email],
    )
    expect(rows.length).toBeGreaterThan(1)
    const answers = await Promise.all(rows.map(({ id }) => accept(browser, id)))
    expect(answers.map(({ status }) => status).filter((status) => status !== 409)).toEqual([200])
    expect(await members(shop.merchantId)).toHaveLength(2)
  })

  test('ends with its inviter: removed, or no admin any more', async () => {
    const shop = await people.signUp('Inviter Four')
    const guest = await newcomer('guest')
    const admin = await join(shop, 'leaving-admin', 'admin')
    const first = (await invite(admin, guest.email)).body.id
    const removal = { memberIdOrEmail: admin.memberId, organizationId: shop.merchantId }
    expect((await ask(shop.browser, 'remove-member', removal)).status).toBe(200)
    const late = await accept(guest.browser, first)
    expect([late.status, late.body.code]).toEqual([403, 'INVITER_NOT_IN_OFFICE'])
    const lesser = await join(shop, 'lesser-admin', 'admin')
    const second = (await invite(lesser, guest.email)).body.id
    const change = { memberId: lesser.memberId, role: 'viewer', organizationId: shop.merchantId }
    expect((await ask(shop.browser, 'update-member-role', change)).status).toBe(200)
    expect((await accept(guest.browser, second)).body.code).toBe('INVITER_NOT_IN_OFFICE')
  })

  test('never makes an owner, takes one role, and is not for members and viewers to write', async () => {
    const shop = await people.signUp('Inviter Five')
    const hostile = ['owner', ' owner', 'admin,member', 'admin, owner', 'root', '', ['admin', 'member'], null]
    for (const role of hostile) {
      const answer = await ask(shop.browser, 'invite-member', {
        email: 'somebody@example.com',
        role,
        organizationId: shop.merchantId,
      })
      expect([role, answer.status]).toEqual([role, 400])
    }
    for (const role of ['member', 'viewer'] as const) {
      const lowly = await join(shop, `lowly-${role}`, role)
      expect((await invite(lowly, 'somebody@example.com', 'viewer')).status).toBe(403)
    }
  })
})

test('nobody raises their own role, and an admin neither makes nor unmakes an owner', async () => {
  const shop = await people.signUp('Ruler')
  const [owner] = await members(shop.merchantId)
  for (const role of ['viewer', 'member', 'admin'] as const) {
    const { browser, memberId } = await join(shop, `climber-${role}`, role)
    await people.enableSecondFactor(browser)
    const change = (id: string | undefined, to: string) =>
      ask(browser, 'update-member-role', { memberId: id, role: to, organizationId: shop.merchantId })
    expect((await change(memberId, 'owner')).status).toBe(403)
    expect((await change(owner?.id, 'viewer')).status).toBe(403)
    const removal = { memberIdOrEmail: owner?.id, organizationId: shop.merchantId }
    expect((await ask(browser, 'remove-member', removal)).status).toBeGreaterThanOrEqual(400)
    if (role !== 'admin') expect((await change(memberId, 'admin')).status).toBe(403)
  }
  expect((await members(shop.merchantId)).map(({ role }) => role)).toEqual([
    'owner',
    'viewer',
    'member',
    'admin',
  ])
})

test('owners and admins are made with a second factor of the last five minutes alone', async () => {
  const shop = await people.signUp('Maker')
  const { memberId } = await join(shop, 'candidate', 'member')
  const raise = () =>
    ask(shop.browser, 'update-member-role', { memberId, role: 'admin', organizationId: shop.merchantId })
  for (const refused of [await raise(), await invite(shop, 'thief@example.com', 'admin')]) {
    expect([refused.status, refused.body.code]).toEqual([403, 'SECOND_FACTOR_REQUIRED'])
  }
  await people.enableSecondFactor(shop.browser)
  expect((await raise()).status).toBe(200)
  expect((await invite(shop, 'colleague@example.com', 'admin')).status).toBe(200)
})

describe('the last owner', () => {
  test('cannot leave, be removed or become less', async () => {
    const shop = await people.signUp('Last')
    await people.enableSecondFactor(shop.browser)
    const [{ id } = { id: '' }] = await members(shop.merchantId)
    const { merchantId: organizationId } = shop
    for (const [act, body] of [
      ['leave', { organizationId }],
      ['remove-member', { memberIdOrEmail: id, organizationId }],
      ['update-member-role', { memberId: id, role: 'admin', organizationId }],
    ] as const) {
      expect([act, (await ask(shop.browser, act, body)).status]).toEqual([act, 400])
    }
    expect(await members(organizationId)).toMatchObject([{ role: 'owner' }])
  })

  test('is one of however many go at the same moment', async () => {
    for (let round = 0; round < 5; round++) {
      const shop = await people.signUp(`Crowd ${round}`)
      const { merchantId: organizationId } = shop
      const others = await Promise.all(
        [0, 1, 2].map((at) => join(shop, `crowd-${round}-${at}`, 'owner').then(({ browser }) => browser)),
      )
      const answers = await Promise.all(
        [shop.browser, ...others].map((browser) => ask(browser, 'leave', { organizationId })),
      )
      expect(Math.max(...answers.map(({ status }) => status))).toBeLessThan(500)
      expect((await members(organizationId)).map(({ role }) => role)).toContain('owner')
    }
  })

  test('is kept by the database itself', async () => {
    const { merchantId } = await people.signUp('Kept')
    const { api } = people.api.database.pools
    for (const sql of [
      `update organization_member set role = 'admin' where organization_id = $1`,
      'delete from organization_member where organization_id = $1',
    ]) {
      await expect(api.query(sql, [merchantId])).rejects.toThrow(/would have no owner/)
    }
  })
})

test('a shop that one does not belong to can be neither chosen nor asked about nor written to', async () => {
  const shop = await people.signUp('Fenced')
  const stranger = await people.signUp('Stranger')
  const { merchantId: organizationId } = shop
  const gone = await join(shop, 'gone', 'member')
  await ask(gone.browser, 'leave', { organizationId })
  const [{ id } = { id: '' }] = await members(organizationId)
  for (const { browser } of [stranger, gone]) {
    for (const [act, body] of [
      ['set-active', { organizationId }],
      ['invite-member', { email: 'x@example.com', role: 'viewer', organizationId }],
      ['remove-member', { memberIdOrEmail: id, organizationId }],
      ['update-member-role', { memberId: id, role: 'viewer', organizationId }],
      ['leave', { organizationId }],
    ] as const) {
      const { status } = await ask(browser, act, body)
      expect([act, status >= 400 && status < 500]).toEqual([act, true])
    }
    for (const read of ['list-members', 'list-invitations']) {
      const { status } = await browser.ask(
        'GET',
        `/api/auth/organization/${read}?organizationId=${organizationId}`,
      )
      expect([read, status]).toEqual([read, 403])
    }
  }
  expect((await gone.browser.ask('GET', '/api/v1/invoices')).status).toBe(401)
  const { rows } = await people.api.database.owner.query(
    'select from audit_entry where merchant_id = $1 and actor not in (select user_id from organization_member) and action <> $2 and action not like $3',
    [organizationId, 'leaveTeam', 'acceptInvitation'],
  )
  expect(rows).toHaveLength(0)
})

test('every change of a team stands in its audit log once, how it ended, about whom and by whom', async () => {
  const shop = await people.signUp('Recorded')
  const { merchantId: organizationId } = shop
  const [owner] = await members(organizationId)
  const { browser, memberId } = await join(shop, 'recorded-guest', 'member')
  const guest = (await members(organizationId))[1]
  const cancelled = (await invite(shop, 'never@example.com', 'viewer')).body.id
  await ask(shop.browser, 'cancel-invitation', { invitationId: cancelled })
  await ask(browser, 'update-member-role', { memberId, role: 'admin', organizationId })
  await ask(shop.browser, 'update-member-role', { memberId, role: 'viewer', organizationId })
  await ask(shop.browser, 'remove-member', { memberIdOrEmail: memberId, organizationId })
  await ask(shop.browser, 'leave', { organizationId })
  const log = await shop.browser.ask('GET', '/api/v1/audit-log?limit=100', undefined, {
    'paylink-mode': 'live',
  })
  type Entry = { actor: string; action: string; phase: string; resource_id: string | null; code: string }
  const listed = (log.body.data as Entry[])
    .reverse()
    .map(({ actor, action, phase, resource_id: about, code }) => [
      actor === owner?.user_id ? 'owner' : 'guest',
      action,
      phase,
      about === guest?.user_id ? 'guest' : about === cancelled ? 'cancelled' : typeof about,
      code,
    ])
  expect(listed).toEqual([
    ['owner', 'inviteMemberAsMember', 'done', 'string', null],
    ['guest', 'acceptInvitation', 'done', 'string', null],
    ['owner', 'inviteMemberAsViewer', 'done', 'cancelled', null],
    ['owner', 'cancelInvitation', 'done', 'cancelled', null],
    ['guest', 'changeMemberToAdmin', 'refused', 'guest', 'SECOND_FACTOR_REQUIRED'],
    ['owner', 'changeMemberToViewer', 'done', 'guest', null],
    ['owner', 'removeMember', 'done', 'guest', null],
    ['owner', 'leaveTeam', 'refused', 'object', 'YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER'],
  ])
  // The log itself keeps both: what was begun cannot end unseen.
  const { rows: phases } = await people.api.database.owner.query(
    `select phase, count(*)::int from audit_entry where merchant_id = $1 group by phase order by phase`,
    [organizationId],
  )
  expect(phases).toEqual([
    { phase: 'begun', count: 8 },
    { phase: 'done', count: 6 },
    { phase: 'refused', count: 2 },
  ])
  expect((await verifyAuditLog(people.api.database.owner, organizationId)).kind).toBe('whole')
})
