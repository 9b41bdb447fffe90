import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Payout } from '../../src/core/payout/payout.ts'
import { NEVER_COUNTS } from '../../src/core/payout/payout-limits.ts'
import { inspectStoppedPayouts } from '../../src/doctor/inspect-signer.ts'
import { ApprovalMemory } from '../../src/payouts/sign/approval-memory.ts'
import { ApproverWatch, openSealKey } from '../../src/payouts/sign/approvers.ts'
import {
  type ApprovalEvidence,
  sealApprovalCode,
  sealTotpSecret,
} from '../../src/secrets/approval-evidence.ts'
import { sealKeyOf } from '../../src/secrets/seal-to-signer.ts'
import { totpCode, totpStepAt } from '../../src/secrets/totp.ts'
import { LivePayouts } from '../support/live-payouts.ts'
import { createTestPasskey } from '../support/test-passkey.ts'

/** Live payouts are signed on the word of a person whose credential the signer knows, and on nobody else's. */

const STEP_MS = 30_000
const HOUR_MS = 3_600_000

let world: LivePayouts
beforeAll(async () => {
  world = await LivePayouts.open()
  // The list begins in an installation that has nobody yet.
  await world.turn()
})
afterAll(() => world?.closeParts())

/** A shop whose owner's passkey the signer has known for a day. */
async function openShopWithPasskey() {
  const shop = await world.openLiveShop()
  const passkey = createTestPasskey()
  const passkeyId = await world.addPasskey(shop.ownerId, passkey)
  await world.turn()
  world.waitADay()
  return { ...shop, passkey, passkeyId }
}

/** What becomes of a payout that was approved with this evidence. */
async function outcome(payout: Payout, by: string, evidence: ApprovalEvidence | null): Promise<string> {
  await world.approveWith(payout, by, evidence)
  await world.turn()
  return world.outcomeOf(payout)
}

/** What doctor says of a payout. */
async function diagnosis({ id }: Payout): Promise<string> {
  const findings = await inspectStoppedPayouts(world.database.owner, () => world.now)
  return findings.find(({ text }) => text.includes(id))?.text ?? ''
}

const lastAlarm = (): string => world.logged.filter((line) => line.includes('is not signed:')).at(-1) ?? ''

test('a passkey known for a day approves exactly the payout it signed, on our own page, unlocked', async () => {
  const { tenant, destinationId, ownerId, passkey } = await openShopWithPasskey()
  const payout = await world.request(tenant, destinationId)
  expect(await outcome(payout, ownerId, passkey.approve(world.digestOf(payout)))).toBe('signed')

  const other = await world.request(tenant, destinationId)
  const digest = world.digestOf(other)
  expect(await outcome(other, ownerId, passkey.approve(world.digestOf(payout)))).toBe('approval_unproved')
  expect(lastAlarm()).toContain('did not sign exactly this payout')

  const wrong: readonly ((payout: Payout) => ApprovalEvidence | null)[] = [
    (one) => passkey.approve(world.digestOf({ ...one, amount: one.amount + 1n })),
    (one) => passkey.approve(world.digestOf(one), { origin: 'https://pay.example.net' }),
    (one) => passkey.approve(world.digestOf(one), { isUnlocked: false }),
    (one) => createTestPasskey().approve(world.digestOf(one)),
    (one) => ({ ...createTestPasskey().approve(world.digestOf(one)), credential_id: passkey.credentialId }),
    (one) => ({ ...passkey.approve(world.digestOf(one)), client_data_json: 'AAAA' }),
    () => null,
  ]
  for (const evidenceOf of wrong) {
    const asked = await world.request(tenant, destinationId, '0.1')
    expect(await outcome(asked, ownerId, evidenceOf(asked))).toBe('approval_unproved')
  }
  expect(digest).not.toEqual(world.digestOf(payout))
})

test('a credential planted by the API’s login, with its real signature, signs nothing until a day is over', async () => {
  const { tenant, destinationId, ownerId } = await openShopWithPasskey()
  const thief = createTestPasskey()
  await world.database.pools.api.query(
    `insert into person_passkey (id, user_id, public_key, credential_id, counter, device_type, backed_up)
     values ($1, $2, $3, $4, 0, 'singleDevice', false)`,
    [randomBytes(8).toString('hex'), ownerId, thief.publicKey, thief.credentialId],
  )
  const payout = await world.request(tenant, destinationId)
  await world.mailNotices()
  world.mails.length = 0
  expect(await outcome(payout, ownerId, thief.approve(world.digestOf(payout)))).toBe('approver_too_new')
  expect(lastAlarm()).toContain('has not known')
  // What the thief takes out again is told all the same.
  await world.database.pools.api.query('delete from person_passkey where credential_id = $1', [
    thief.credentialId,
  ])
  await world.mailNotices()
  expect(world.mails.map(({ to }) => to)).toEqual([`${ownerId}@example.com`])
  expect(world.mails[0]?.text).toContain(`${ownerId}@example.com can approve live payouts`)
  await world.addPasskey(ownerId, thief)
  await world.turn()
  await world.mailNotices()
  // The rule for every new credential: after a day, in which the owner was told, it counts.
  world.waitADay()
  const later = await world.request(tenant, destinationId)
  expect(await outcome(later, ownerId, thief.approve(world.digestOf(later)))).toBe('signed')
})

test('a public key that was exchanged, and a person who was made an admin, wait for a day', async () => {
  const { tenant, destinationId, ownerId, passkey } = await openShopWithPasskey()
  const thief = createTestPasskey()
  await world.database.pools.api.query('update person_passkey set public_key = $1 where user_id = $2', [
    thief.publicKey,
    ownerId,
  ])
  const exchanged = await world.request(tenant, destinationId, '0.1')
  const evidence = { ...thief.approve(world.digestOf(exchanged)), credential_id: passkey.credentialId }
  expect(await outcome(exchanged, ownerId, evidence)).toBe('approver_too_new')

  const elsewhere = await openShopWithPasskey()
  await world.database.pools.api.query(
    `insert into organization_member (id, organization_id, user_id, role, created_at) values ($1, $2, $3, 'admin', now())`,
    [randomBytes(8).toString('hex'), tenant.merchantId, elsewhere.ownerId],
  )
  const promoted = await world.request(tenant, destinationId, '0.1')
  const own = elsewhere.passkey.approve(world.digestOf(promoted))
  expect(await outcome(promoted, elsewhere.ownerId, own)).toBe('approver_too_new')
  // Somebody else's passkey does not approve in the owner's name.
  const inHisName = await world.request(tenant, destinationId, '0.1')
  const assertion = elsewhere.passkey.approve(world.digestOf(inHisName))
  expect(await outcome(inHisName, ownerId, assertion)).toBe('approval_unproved')
})

test('a passkey or a role that was taken away approves nothing any more', async () => {
  const { tenant, destinationId, ownerId, passkey, passkeyId } = await openShopWithPasskey()
  const second = await world.addManager(tenant, 'owner')
  await world.database.owner.query(`update organization_member set role = 'member' where user_id = $1`, [
    ownerId,
  ])
  const demoted = await world.request(tenant, destinationId, '0.1')
  expect(await outcome(demoted, ownerId, passkey.approve(world.digestOf(demoted)))).toBe('approval_unproved')
  await world.database.owner.query('delete from person_passkey where id = $1', [passkeyId])
  // The way back after the last credential was lost: a new one, and a day.
  const fresh = createTestPasskey()
  await world.addPasskey(second, fresh)
  await world.turn()
  world.waitADay()
  const payout = await world.request(tenant, destinationId)
  expect(await outcome(payout, second, fresh.approve(world.digestOf(payout)))).toBe('signed')
})

/** A shop whose owner's authenticator app the signer has known for a day. */
async function openShopWithApp({ isKnown = true } = {}) {
  const shop = await world.openLiveShop()
  const signerKey = sealKeyOf(await openSealKey(world.folder))
  const code = await addApp(shop.ownerId, signerKey)
  if (isKnown) world.waitADay()
  const setUpAgain = async () => {
    await world.database.owner.query('delete from person_two_factor where user_id = $1', [shop.ownerId])
    return addApp(shop.ownerId, signerKey)
  }
  return { ...shop, code, signerKey, setUpAgain }
}

/** Keeps an authenticator app as the sign-in does. Its code of now, or of some steps ago, for this payout or another. */
async function addApp(personId: string, signerKey: Buffer) {
  const secret = randomBytes(16).toString('hex')
  const id = randomBytes(8).toString('hex')
  await world.database.owner.query(
    `insert into person_two_factor (id, user_id, secret, backup_codes, verified) values ($1, $2, '', '', true)`,
    [id, personId],
  )
  await world.database.pools.api.query(
    'insert into person_totp_seal (two_factor_id, signer_key, sealed, created_at) values ($1, $2, $3, now())',
    [id, signerKey, sealTotpSecret(signerKey, personId, secret)],
  )
  await world.turn()
  return (payout: Payout, { ago = 0, wrong = false } = {}): ApprovalEvidence => {
    const step = totpStepAt(world.now.getTime()) - ago
    const shown = totpCode(Buffer.from(secret), step)
    const given = wrong ? String((Number(shown) + 1) % 1_000_000).padStart(6, '0') : shown
    return sealApprovalCode(signerKey, world.digestOf(payout), { code: given, step })
  }
}

test('a code of an authenticator app approves one payout, once, while it is fresh', async () => {
  const { tenant, destinationId, ownerId, code } = await openShopWithApp()
  const payout = await world.request(tenant, destinationId)
  expect(await outcome(payout, ownerId, code(payout))).toBe('signed')
  const second = await world.request(tenant, destinationId)
  expect(await outcome(second, ownerId, code(second))).toBe('approval_unproved')
  expect(lastAlarm()).toContain('used before')
  world.after(STEP_MS * 2)
  // A code that was given for another payout: whoever reads the database can move it to none.
  const third = await world.request(tenant, destinationId, '0.1')
  expect(await outcome(third, ownerId, code(payout))).toBe('approval_unproved')
  expect(lastAlarm()).toContain('for another payout')
  // Of a quarter of an hour and more ago, when the signer was down.
  const late = await world.request(tenant, destinationId, '0.1')
  await world.approveWith(late, ownerId, code(late))
  world.after(HOUR_MS)
  await world.turn()
  expect(await world.outcomeOf(late)).toBe('approval_expired')
  expect(await diagnosis(late)).toContain('(approval_expired): its code reached the signer after')
  const down = await world.request(tenant, destinationId, '0.1')
  await world.approveWith(down, ownerId, code(down))
  world.after(HOUR_MS / 6)
  await world.turn()
  expect(await world.outcomeOf(down)).toBe('signed')
})

test('a code given while the signer’s clock is behind waits, and approves once the clock is right', async () => {
  const { tenant, destinationId, ownerId, code } = await openShopWithApp()
  const payout = await world.request(tenant, destinationId, '0.1')
  await world.approveWith(payout, ownerId, code(payout, { ago: -10 }))
  await world.turn()
  expect(await world.outcomeOf(payout)).toBe('waits')
  expect(lastAlarm()).toContain('ahead of the signer')
  world.after(STEP_MS * 10)
  await world.turn()
  expect(await world.outcomeOf(payout)).toBe('signed')
  // Of a day to come: nobody was given it.
  const forged = await world.request(tenant, destinationId, '0.1')
  expect(await outcome(forged, ownerId, code(forged, { ago: -2_880 }))).toBe('approval_unproved')
})

test("planted members fill one merchant's part of the signer’s list, with an alarm, and stop no other", async () => {
  const shop = await openShopWithPasskey()
  const { owner } = world.database
  const planted = (table: string, key: string, changes: string) =>
    owner.query(
      `insert into ${table} select (jsonb_populate_record(t, jsonb_build_object('id', 'planted' || n, ${changes}))).*
       from ${table} t, generate_series(1, 600) n where t.${key} = $1`,
      [shop.ownerId],
    )
  await planted('person', 'id', `'email', n || '@planted.example'`)
  await planted('organization_member', 'user_id', `'user_id', 'planted' || n`)
  await planted('person_passkey', 'user_id', `'user_id', 'planted' || n, 'credential_id', 'planted' || n`)
  const signer = await world.signer()
  // As if most of them had been taken up, a few at a time.
  const earlier = Array.from({ length: 495 }, (_, n) => `${shop.tenant.merchantId} ${n}`)
  await signer.seen.note(
    'approver',
    earlier.map((key) => ({ key, seenAt: new Date(world.now.getTime() - HOUR_MS) })),
  )
  const watch = new ApproverWatch()
  for (let turn = 0; turn < 12; turn++) {
    await watch.look(signer)
    world.after(10_000)
  }
  const lines = (await readFile(join(world.folder, 'first-seen.jsonl'), 'utf8')).split('\n')
  expect(
    lines.filter((line) => line.includes(shop.tenant.merchantId) && line.includes('"approver"')),
  ).toHaveLength(500)
  expect(world.logged.filter((line) => line.includes('has no room for more'))).toHaveLength(1)
  const { tenant, destinationId, ownerId, passkey } = await openShopWithPasskey()
  const payout = await world.request(tenant, destinationId, '0.1')
  expect(await outcome(payout, ownerId, passkey.approve(world.digestOf(payout)))).toBe('signed')
  // So that the tests after this one do not read them again and again.
  for (const table of ['person_passkey', 'organization_member', 'person'])
    await owner.query(`delete from ${table} where id like 'planted%'`)
})

test('an authenticator app seen today approves nothing; wrong codes lock it after five', async () => {
  const early = await openShopWithApp({ isKnown: false })
  const tooEarly = await world.request(early.tenant, early.destinationId)
  expect(await outcome(tooEarly, early.ownerId, early.code(tooEarly))).toBe('approver_too_new')
  expect(await diagnosis(tooEarly)).toContain('(approver_too_new): request it again when')

  const { tenant, destinationId, ownerId, code } = await openShopWithApp()
  for (let tries = 0; tries < 5; tries++) {
    const payout = await world.request(tenant, destinationId, '0.1')
    expect(await outcome(payout, ownerId, code(payout, { wrong: true }))).toBe('approval_unproved')
    expect(lastAlarm()).toContain('its code is wrong')
  }
  const right = await world.request(tenant, destinationId, '0.1')
  expect(await outcome(right, ownerId, code(right))).toBe('approval_unproved')
  expect(lastAlarm()).toContain('too many wrong codes')
  world.after(HOUR_MS)
  const next = await world.request(tenant, destinationId)
  expect(await outcome(next, ownerId, code(next))).toBe('signed')
})

test('who has a passkey approves with it, and not with a code', async () => {
  const { tenant, destinationId, ownerId, code } = await openShopWithApp()
  await world.addPasskey(ownerId, createTestPasskey())
  await world.turn()
  // A passkey of today takes nothing away yet.
  const today = await world.request(tenant, destinationId, '0.5')
  expect(await outcome(today, ownerId, code(today))).toBe('signed')
  world.waitADay()
  const payout = await world.request(tenant, destinationId, '0.1')
  expect(await outcome(payout, ownerId, code(payout))).toBe('approval_unproved')
})

test('an authenticator app that a passkey replaced approves nothing after the passkey is deleted', async () => {
  const { tenant, destinationId, ownerId, code, setUpAgain } = await openShopWithApp()
  const passkeyId = await world.addPasskey(ownerId, createTestPasskey())
  await world.turn()
  world.waitADay()
  await world.turn()
  const { api } = world.database.pools
  await api.query('delete from person_passkey where id = $1', [passkeyId])
  const payout = await world.request(tenant, destinationId, '0.1')
  expect(await outcome(payout, ownerId, code(payout))).toBe('approver_too_new')
  expect(lastAlarm()).toContain('must set it up again')
  world.waitADay()
  const later = await world.request(tenant, destinationId, '0.1')
  expect(await outcome(later, ownerId, code(later))).toBe('approver_too_new')
  const { rows } = await api.query<{ never: boolean }>(
    'select bool_and(counts_from = $2) as never from approver_seen where member_id = $1 and credential_id <> $3',
    [ownerId, NEVER_COUNTS, passkeyId],
  )
  expect(rows[0]?.never).toBe(true)
  // The way back: the app set up again, and a day.
  const codeOfNew = await setUpAgain()
  world.waitADay()
  const last = await world.request(tenant, destinationId)
  expect(await outcome(last, ownerId, codeOfNew(last))).toBe('signed')
})

test('an approval that was accepted stays so while its payout waits for coins, and after a restart', async () => {
  const { tenant, destinationId, ownerId, code } = await openShopWithApp()
  const payout = await world.request(tenant, destinationId)
  const { owner } = world.database
  const coins = (bucket: string) =>
    owner.query('update transfer set ledger_bucket = $2 where merchant_id = $1', [tenant.merchantId, bucket])
  await coins('suspense')
  expect(await outcome(payout, ownerId, code(payout))).toBe('waits')
  world.waitADay()
  await coins('available')
  await world.turn()
  expect(await world.outcomeOf(payout)).toBe('signed')
})

test('what somebody approved who was taken out before it was signed is not signed, and ends after a day', async () => {
  const { tenant, destinationId, ownerId, passkey } = await openShopWithPasskey()
  const { owner } = world.database
  const coins = (bucket: string) =>
    owner.query('update transfer set ledger_bucket = $2 where merchant_id = $1', [tenant.merchantId, bucket])
  const makes = (role: string) =>
    owner.query('update organization_member set role = $2 where user_id = $1', [ownerId, role])
  await coins('suspense')
  const payout = await world.request(tenant, destinationId)
  expect(await outcome(payout, ownerId, passkey.approve(world.digestOf(payout)))).toBe('waits')
  await makes('member')
  await coins('available')
  await world.turn()
  expect(await world.outcomeOf(payout)).toBe('waits')
  expect(world.logged.join('')).toContain('who approved it is no owner or admin any more')
  // Put back with SQL they are somebody new.
  await makes('owner')
  await world.turn()
  expect(await world.outcomeOf(payout)).toBe('waits')
  await makes('member')
  world.after(25 * 3_600_000)
  await world.turn()
  expect(await world.outcomeOf(payout)).toBe('approval_unproved')
})

test('what was there before the signer kept a list is taken as it is, once', async () => {
  const upgraded = await LivePayouts.open()
  try {
    const { tenant, destinationId, ownerId } = await upgraded.openLiveShop()
    const passkey = createTestPasskey()
    await upgraded.addPasskey(ownerId, passkey)
    const pay = async (by: ReturnType<typeof createTestPasskey>) => {
      const payout = await upgraded.request(tenant, destinationId)
      await upgraded.approveWith(payout, ownerId, by.approve(upgraded.digestOf(payout)))
      await upgraded.turn()
      return upgraded.outcomeOf(payout)
    }
    expect(await pay(passkey)).toBe('signed')
    // A moment later too: only apps are handed over late.
    upgraded.after(60_000)
    const later = createTestPasskey()
    await upgraded.addPasskey(ownerId, later)
    expect(await pay(later)).toBe('approver_too_new')
    expect(await pay(passkey)).toBe('signed')
  } finally {
    await upgraded.closeParts()
  }
})

test('a signer killed after it used up a code has accepted what the code was given for', async () => {
  const { tenant, destinationId, ownerId, code } = await openShopWithApp()
  const payout = await world.request(tenant, destinationId)
  await world.approveWith(payout, ownerId, code(payout))
  const accept = vi.spyOn(ApprovalMemory.prototype, 'accept').mockRejectedValueOnce(new Error('killed'))
  await expect(world.turn()).rejects.toThrow('killed')
  accept.mockRestore()
  await world.turn()
  expect(await world.outcomeOf(payout)).toBe('signed')
})

test('a passkey known while the clock was ahead counts a day after the clock was set right', async () => {
  const { tenant, destinationId, ownerId } = await world.openLiveShop()
  const passkey = createTestPasskey()
  world.after(1_000 * 24 * HOUR_MS)
  await world.addPasskey(ownerId, passkey)
  await world.turn()
  world.after(-1_000 * 24 * HOUR_MS)
  await world.turn()
  world.waitADay()
  const payout = await world.request(tenant, destinationId)
  expect(await outcome(payout, ownerId, passkey.approve(world.digestOf(payout)))).toBe('signed')
})

test("a passkey and an app that the API's login wrote under one id stop nobody's payouts", async () => {
  const { tenant, destinationId, ownerId, passkey } = await openShopWithPasskey()
  const planted = await world.openLiveShop()
  const id = await world.addPasskey(planted.ownerId, createTestPasskey())
  const { api } = world.database.pools
  await api.query(
    `insert into person_two_factor (id, user_id, secret, backup_codes, verified) values ($1, $2, '', '', true)`,
    [id, planted.ownerId],
  )
  await api.query(
    'insert into person_totp_seal (two_factor_id, signer_key, sealed, created_at) values ($1, $2, $3, now())',
    [id, randomBytes(32), randomBytes(64)],
  )
  const payout = await world.request(tenant, destinationId)
  expect(await outcome(payout, ownerId, passkey.approve(world.digestOf(payout)))).toBe('signed')
})
