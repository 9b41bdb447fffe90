import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Email } from '../../src/mail/mail.ts'
import { writeNotices } from '../../src/mail/write-notices.ts'
import { saveApproverSightings } from '../../src/payouts/store/approver-sightings.ts'
import { saveSightings } from '../../src/payouts/store/destination-sightings.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { NAVIGATION } from '../../src/web/dashboard/app/navigation.ts'
import { createTestPeople, PASSWORD, type TestBrowser, type TestPeople } from '../support/people.ts'

/** What the dashboard's side lists. */
const PAGES: readonly string[] = NAVIGATION.flatMap(({ items }) => items.map(({ to }) => to))

let people: TestPeople
const sent: Email[] = []
const mail = { send: async (message: Email) => void sent.push(message) }
beforeAll(async () => {
  people = await createTestPeople()
})
afterAll(() => people.drop())

const round = () =>
  writeNotices(
    {
      pool: people.api.database.pools.delivery,
      mail,
      log: people.api.deps.log,
      baseUrl: 'https://pay.example.com',
    },
    0,
  )

/** A live destination, as the signer says that it has first seen it. */
async function newDestination(merchantId: string): Promise<void> {
  const now = new Date()
  const id = newId('payoutDestination', now)
  const address = `0x${randomBytes(20).toString('hex')}`
  await people.api.database.owner.query(
    `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
     values ($1, $2, true, 'USDC_BASE', $3, 'x', 'x', $4, $4)`,
    [merchantId, id, address, now],
  )
  const payableAt = new Date(now.getTime() + 86_400_000)
  const sighting = { merchantId, id, asset: 'USDC_BASE', address, usableAt: now, payableAt }
  await saveSightings(people.api.database.pools.signer, [sighting], now)
}

test('an address or role changed with SQL is reported to the old address, and warnings follow for a week', async () => {
  const { merchantId, email } = await people.signUp('Nora')
  await round()
  sent.length = 0
  const { owner, pools } = people.api.database
  const { api, signer, watcher } = pools
  // Without a seal, as the API's login does it.
  await api.query('update person set email = $2 where email = $1', [email, 'thief@example.com'])
  await round()
  expect(sent.map(({ to, subject }) => [to, subject])).toEqual([
    [email, 'Your role or email address changed'],
  ])
  expect(sent[0]?.text).toContain('paylink access check')
  sent.length = 0
  await newDestination(merchantId)
  await round()
  expect(sent.map(({ to }) => to).sort()).toEqual([email, 'thief@example.com'].sort())
  const stranger = await people.signUp('Otto')
  await api.query(
    `insert into organization_member (id, organization_id, user_id, role, created_at)
     select 'planted', $1, id, 'owner', now() from person where email = $2`,
    [merchantId, stranger.email],
  )
  await api.query(`delete from organization_member where organization_id = $1 and id <> 'planted'`, [
    merchantId,
  ])
  await round()
  sent.length = 0
  await newDestination(merchantId)
  await round()
  expect(sent.map(({ to }) => to).sort()).toEqual([email, stranger.email, 'thief@example.com'].sort())
  for (const pool of [api, watcher, signer])
    await expect(pool.query('delete from known_manager')).rejects.toThrow('permission denied')
  await owner.query(`update known_manager set left_at = left_at - interval '8 days'`)
  sent.length = 0
  await newDestination(merchantId)
  await round()
  expect(sent.map(({ to }) => to)).toEqual([stranger.email])
})

async function addEvent(
  merchantId: string,
  livemode: boolean,
  type: string,
  reason: string | null,
  idOf = new Date(),
): Promise<void> {
  const id = newId('event', idOf)
  const body = {
    id,
    event_type: type,
    data: {
      id: newId('invoice', new Date()),
      status: 'paid',
      usd_amount: '49.99',
      amount_confirmed: '0.5',
      asset: 'LTC',
      external_reference: 'A-1\r\nBcc: x@example.com',
      order_reference: null,
      status_reason: type === 'invoice.paid' ? 'accepted' : null,
      review_reason: reason,
    },
  }
  await people.api.database.owner.query(
    `insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, created_at)
     values ($1, $2, $3, $4, $5, 1, $6, now() - interval '1 second')`,
    [merchantId, id, livemode, type, body.data.id, Buffer.from(JSON.stringify(body))],
  )
}

test('an event of a time to come, which the API’s login wrote, keeps no email about another', async () => {
  const { merchantId } = await people.signUp('Yves')
  await round()
  sent.length = 0
  await addEvent(merchantId, true, 'invoice.paid', null, new Date('9000-01-01'))
  await addEvent(merchantId, true, 'invoice.paid', null)
  expect(await round()).toBe(1)
  await addEvent(merchantId, true, 'invoice.paid', null)
  expect(await round()).toBe(1)
})

test('live payments and decisions are mailed once to owners with a confirmed address, each switchable', async () => {
  const { browser, merchantId, email } = await people.signUp('Uma')
  const unconfirmed = await people.signUp('Vic')
  await people.api.writeSealed('update person set email_verified = false where email = $1', [
    unconfirmed.email,
  ])
  await round()
  sent.length = 0
  await addEvent(merchantId, true, 'invoice.paid', null)
  await addEvent(merchantId, false, 'invoice.paid', null)
  await addEvent(merchantId, true, 'invoice.expired', null)
  await addEvent(merchantId, true, 'invoice.manual_review', 'wrong_asset')
  await addEvent(unconfirmed.merchantId, true, 'invoice.paid', null)
  expect(await round()).toBe(2)
  expect(sent.map(({ to, subject }) => [to, subject.replace(/\s+/g, ' ')])).toEqual([
    [email, 'Order A-1 Bcc: x example com is paid'],
    [email, 'Order A-1 Bcc: x example com needs your attention'],
  ])
  expect(sent[1]?.text).toContain('another coin')
  expect(await round()).toBe(0)
  expect((await browser.ask('PATCH', '/api/v1/notices', { paid: false })).body).toMatchObject({
    paid: false,
    attention: true,
  })
  await addEvent(merchantId, true, 'invoice.paid', null)
  await addEvent(merchantId, true, 'invoice.overpaid', null)
  sent.length = 0
  expect(await round()).toBe(1)
  expect(sent[0]?.text).toContain('paid more than was asked')

  await browser.ask('PATCH', '/api/v1/notices', { paid: true, attention: false })
  for (const type of ['invoice.paid', 'invoice.overpaid', 'invoice.manual_review'])
    await addEvent(merchantId, true, type, null)
  sent.length = 0
  expect(await round()).toBe(1)
  expect(sent[0]?.subject).toMatch(/is paid$/)
  expect(sent[0]?.text).toContain('is paid: 0.5 LTC, which you accepted as payment in full.')
})

test('every owner and admin is notified once of a live destination the signer saw, switched off or not', async () => {
  const { browser, merchantId, email } = await people.signUp('Oda')
  const kinds = { paid: false, attention: false, endpoint_disabled: false, sign_in: false }
  await browser.ask('PATCH', '/api/v1/notices', kinds)
  const { owner, pools } = people.api.database
  await owner.query('update person set email_verified = false where email = $1', [email])
  const now = new Date()
  const payableAt = new Date(now.getTime() + 86_400_000)
  const seen = async (address: string, at: Date) => {
    const id = newId('payoutDestination', now)
    await owner.query(
      `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
       values ($1, $2, true, 'USDC_BASE', $3, 'x', 'x', $4, $4)`,
      [merchantId, id, address, now],
    )
    const sighting = { merchantId, id, asset: 'USDC_BASE', address, usableAt: now, payableAt: at }
    await saveSightings(pools.signer, [sighting], now)
    await saveSightings(pools.signer, [sighting], now)
  }
  // One that could be paid before the signer kept a list is no news.
  await seen('0x1111111111111111111111111111111111111111', now)
  const address = '0x2222222222222222222222222222222222222222'
  await seen(address, payableAt)
  sent.length = 0
  await Promise.all([round(), round()])
  await round()
  const mails = sent.filter(({ subject }) => subject.includes('payout destination'))
  expect(mails).toHaveLength(1)
  expect(mails[0]).toMatchObject({ to: email })
  for (const part of [
    address,
    'USDC on Base',
    payableAt.toISOString(),
    '/dashboard/payouts/destinations?mode=live',
  ])
    expect(mails[0]?.text).toContain(part)
  expect(mails[0]?.text).not.toContain('switch these emails off')
})

test('a credential new to the signer is reported once to all owners and admins, even if its holder is gone', async () => {
  const { browser, merchantId, email } = await people.signUp('Ola')
  const kinds = { paid: false, attention: false, endpoint_disabled: false, sign_in: false }
  await browser.ask('PATCH', '/api/v1/notices', kinds)
  const { owner, pools } = people.api.database
  const { rows } = await owner.query<{ id: string }>('select id from person where email = $1', [email])
  const countsFrom = new Date(Date.now() + 86_400_000)
  const seen = { merchantId, personId: rows[0]?.id ?? '', countsFrom, isNew: true } as const
  const sightings = [
    { ...seen, fingerprint: `${merchantId} 1`, kind: 'passkey' },
    { ...seen, fingerprint: `${merchantId} 2`, kind: 'totp', personId: 'removed' },
    { ...seen, fingerprint: `${merchantId} 3`, kind: 'passkey', isNew: false },
  ] as const
  await saveApproverSightings(pools.signer, sightings)
  await saveApproverSightings(pools.signer, sightings)
  await expect(pools.api.query('delete from approver_sighting')).rejects.toThrow(/permission denied/)
  sent.length = 0
  await Promise.all([round(), round()])
  await round()
  await saveApproverSightings(pools.signer, sightings)
  await round()
  const mails = sent.filter(({ subject }) => subject.includes('approve payouts'))
  expect(mails.map(({ to }) => to)).toEqual([email, email])
  const texts = mails.map(({ text }) => text)
  expect(texts.find((text) => text.includes(`${email} can approve`))).toContain('with a new passkey from')
  expect(texts.find((text) => text.includes('Somebody whose account'))).toContain(
    'with a new authenticator app',
  )
  for (const text of texts) {
    expect(text).toContain(countsFrom.toISOString())
    expect(text).not.toContain('switch these emails off')
    const links = [...text.matchAll(/\/dashboard(\S+)/g)].map(([, page]) => page)
    expect(links).toEqual(['/settings/security', '/settings/team'])
    for (const page of links) expect(PAGES).toContain(page)
  }
})

test('an event that cannot be read keeps no email after it from being written', async () => {
  const { merchantId, email } = await people.signUp('Una')
  const { merchantId: other } = await people.signUp('Ugo')
  await round()
  await addEvent(other, true, 'invoice.paid', null)
  await people.api.database.owner.query(
    `update event set body = convert_to('{"event_type":"invoice.paid","data":{}}', 'utf8') where merchant_id = $1`,
    [other],
  )
  await addEvent(merchantId, true, 'invoice.paid', null)
  sent.length = 0
  expect(await round()).toBe(1)
  expect(sent.map(({ to }) => to)).toEqual([email])
})

test('rounds at once write each message once', async () => {
  const { merchantId } = await people.signUp('Wes')
  await round()
  for (let at = 0; at < 5; at++) await addEvent(merchantId, true, 'invoice.paid', null)
  const written = await Promise.all(Array.from({ length: 6 }, () => round()))
  expect(written.reduce((sum, count) => sum + count, 0)).toBe(5)
})

test('an endpoint whose receiver is gone is reported once, with its page, except to those who opted out', async () => {
  const { browser, merchantId, email } = await people.signUp('Xia')
  const stop = (id: string, reason: string | null) =>
    people.api.database.owner.query(
      `insert into webhook_endpoint (merchant_id, id, livemode, url, subscribed_events, status, status_reason, created_at)
       values ($1, $2, true, 'https://shop.example/' || $2, '{*}', 'disabled', $3, now())`,
      [merchantId, id, reason],
    )
  await stop('we_x', 'receiver_gone')
  await stop('we_y', null)
  sent.length = 0
  await round()
  expect(sent.map(({ to, text }) => [to, text.includes('https://shop.example/we_x')])).toEqual([
    [email, true],
  ])
  const [, page = ''] = /\/dashboard(\S+)\?mode=live/.exec(sent[0]?.text ?? '') ?? []
  expect(PAGES).toContain(page)
  expect(await round()).toBe(0)

  await browser.ask('PATCH', '/api/v1/notices', { endpoint_disabled: false })
  await stop('we_z', 'receiver_gone')
  expect(await round()).toBe(0)
})

test('a sign-in from a new place is reported to the person unless switched off; from a known place never', async () => {
  const { browser, email } = await people.signUp('Yan')
  const told = () =>
    people.emails.filter(({ to, subject }) => to === email && subject.includes('new sign-in')).length
  const signIn = (browser: TestBrowser) =>
    browser.ask('POST', '/api/auth/sign-in/email', { email, password: PASSWORD })
  expect(told()).toBe(0)
  const elsewhere = people.browser()
  await signIn(elsewhere)
  expect(told()).toBe(1)
  await signIn(elsewhere)
  expect(told()).toBe(1)
  await browser.ask('PATCH', '/api/v1/notices', { sign_in: false })
  await signIn(people.browser())
  expect(told()).toBe(1)
  // Another shop of theirs, whose switch is on.
  const { merchantId } = await people.signUp('Zoe')
  await people.api.writeSealed(
    `insert into organization_member (id, organization_id, user_id, role, created_at)
     select 'mem_second', $2, id, 'viewer', now() from person where email = $1`,
    [email, merchantId],
  )
  await signIn(people.browser())
  expect(told()).toBe(2)
  await people.api.writeSealed(`delete from organization_member where id = 'mem_second'`)
  await browser.ask('PATCH', '/api/v1/notices', { sign_in: true })
  await signIn(people.browser())
  expect(told()).toBe(3)
})
