import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openAuthenticatorSecret } from '../../src/people/open-authentication.ts'
import { sealAuthenticators } from '../../src/people/seal-authenticators.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { openApprovalCode, openTotpSecret } from '../../src/secrets/approval-evidence.ts'
import { sealKeyOf } from '../../src/secrets/seal-to-signer.ts'
import { creditLitecoin } from '../support/payout-money.ts'
import { codeOf, createTestPeople, type TestBrowser, type TestPeople } from '../support/people.ts'
import { randomLitecoinAddress } from '../support/resources.ts'
import { createTestPasskey, type TestPasskey } from '../support/test-passkey.ts'

/** What the API asks of whoever approves a live payout, and what it stores for the signer. */

const LTC = 100_000_000n
const LIVE = { 'paylink-mode': 'live' }
const SIGNER_KEY = randomBytes(32)

let people: TestPeople
beforeAll(async () => {
  people = await createTestPeople({ signerSealKey: async () => sealKeyOf(SIGNER_KEY) })
})
afterAll(() => people?.drop())

const sealAll = () =>
  sealAuthenticators({
    openSecret: (kept) => openAuthenticatorSecret(people.signIn, kept),
    pool: people.api.deps.pool,
    seals: people.api.deps.seals,
    clock: () => new Date(),
    log: people.api.deps.log,
    signerSealKey: async () => sealKeyOf(SIGNER_KEY),
  })

/** A shop with a requested live payout. */
async function openShop(name: string) {
  const { owner } = people.api.database
  const shop = await people.signUp(name)
  const { merchantId } = shop
  await creditLitecoin(owner, { merchantId, livemode: true }, { units: LTC, now: new Date() })
  const destination_id = newId('payoutDestination', new Date())
  await owner.query(
    `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
     values ($1, $2, true, 'LTC', $3, 'x', 'x', now(), now())`,
    [merchantId, destination_id, randomLitecoinAddress('main')],
  )
  const made = await shop.browser.ask('POST', '/api/v1/payouts', { destination_id, amount: '0.5' }, LIVE)
  expect(made.status, made.text).toBe(201)
  const { rows } = await owner.query<{ id: string; user_id: string }>(
    'select id, user_id from organization_member where organization_id = $1',
    [merchantId],
  )
  const { id: memberId = '', user_id: personId = '' } = rows[0] ?? {}
  return { ...shop, payoutId: String(made.body.id), memberId, personId }
}

/** As the signer says of what it has known for a day. */
const signerKnows = (memberId: string, credentialId: string) =>
  people.api.database.pools.signer.query(
    `insert into approver_seen (member_id, credential_id, counts_from) values ($1, $2, now() - interval '1 second')`,
    [memberId, credentialId],
  )

type Write = (sql: string, values: unknown[]) => Promise<unknown>
const addPasskey = (write: Write, personId: string, id: string, passkey: TestPasskey) =>
  write(
    `insert into person_passkey (id, user_id, public_key, credential_id, counter, device_type, backed_up)
     values ($1, $2, $3, $4, 0, 'singleDevice', false)`,
    [id, personId, passkey.publicKey, passkey.credentialId],
  )
/** A statement by the password of the API's login, without SECRET_KEY. */
const steal: Write = (sql, values) => people.api.database.pools.api.query(sql, values)
/** What the rows would be worth if the thief could seal them. */
const withTheKey = () => people.api.writeSealed('select')

const approvalOf = async (browser: TestBrowser, id: string) =>
  (await browser.ask('GET', `/api/v1/payouts/${id}/approval`, undefined, LIVE)).body
const approve = async (browser: TestBrowser, id: string, body: object) => {
  const answer = await browser.ask('POST', `/api/v1/payouts/${id}/approve`, body, LIVE)
  return [answer.status, answer.body.error?.code ?? answer.body.status]
}
const evidenceOf = async (payoutId: string) => {
  const { owner } = people.api.database
  const { rows } = await owner.query('select evidence, digest from payout_approval where payout_id = $1', [
    payoutId,
  ])
  return rows[0]
}

test('a code approves where the signer knows the app and it is sealed to it; a step-up without it does not', async () => {
  const { browser, payoutId, memberId, personId } = await openShop('Code')
  expect(await approve(browser, payoutId, {})).toEqual([403, 'second_factor_required'])
  const { secret } = await people.enableSecondFactor(browser)
  expect(await approve(browser, payoutId, { code: '123456' })).toEqual([409, 'approver_not_ready'])
  expect(await approvalOf(browser, payoutId)).toMatchObject({ method: 'not_ready', ready_at: null })

  await sealAll()
  const { owner } = people.api.database
  const { rows } = await owner.query<{ id: string; sealed: Buffer }>(
    `select two_factor_id as id, sealed from person_totp_seal s join person_two_factor t on t.id = s.two_factor_id
     where t.user_id = $1`,
    [personId],
  )
  const seal = rows[0]
  if (seal === undefined) throw new Error('nothing was sealed')
  expect(openTotpSecret(SIGNER_KEY, 'somebody else', seal.sealed)).toBeNull()
  expect(openTotpSecret(SIGNER_KEY, personId, seal.sealed)).toHaveLength(32)

  await signerKnows(memberId, seal.id)
  expect(await approvalOf(browser, payoutId)).toMatchObject({ method: 'code', passkeys: [] })
  expect(await approve(browser, payoutId, {})).toEqual([403, 'approval_evidence_required'])
  const code = await codeOf(secret)
  expect(await approve(browser, payoutId, { code })).toEqual([200, 'approved'])
  const { evidence, digest } = await evidenceOf(payoutId)
  expect(JSON.stringify(evidence)).not.toContain(code)
  expect(openApprovalCode(SIGNER_KEY, digest, evidence.sealed)).toMatchObject({ code })
  expect(openApprovalCode(SIGNER_KEY, Buffer.alloc(32), evidence.sealed)).toBeNull()

  await browser.ask('POST', '/api/auth/two-factor/disable', { password: 'correct horse battery' })
  const { rowCount } = await owner.query('select from person_totp_seal where two_factor_id = $1', [seal.id])
  expect(rowCount).toBe(0)
})

test('a passkey approves by its signature alone, and only what it signed', async () => {
  const { browser, payoutId, memberId, personId } = await openShop('Passkey')
  const passkey = createTestPasskey()
  await addPasskey(people.api.writeSealed, personId, 'pk_1', passkey)
  await signerKnows(memberId, 'pk_1')
  const { challenge, method, passkeys } = await approvalOf(browser, payoutId)
  expect([method, passkeys]).toEqual(['passkey', [passkey.credentialId]])
  const digest = Buffer.from(challenge, 'base64url')
  const bodyOf = ({ kind: _kind, ...signed }: ReturnType<typeof passkey.approve>) => ({ passkey: signed })
  for (const wrong of [
    passkey.approve(randomBytes(32)),
    passkey.approve(digest, { origin: 'https://pay.example.net' }),
    passkey.approve(digest, { isUnlocked: false }),
    createTestPasskey().approve(digest),
  ])
    expect(await approve(browser, payoutId, bodyOf(wrong))).toEqual([403, 'approval_evidence_invalid'])
  expect(await approve(browser, payoutId, bodyOf(passkey.approve(digest)))).toEqual([200, 'approved'])
  expect((await evidenceOf(payoutId)).evidence).toMatchObject({ kind: 'passkey' })
})

test('a passkey put in with SQL approves nothing, though the signer has known it for a day', async () => {
  const { browser, payoutId, memberId, personId } = await openShop('Planted passkey')
  const passkey = createTestPasskey()
  await addPasskey(steal, personId, 'pk_thief', passkey)
  await signerKnows(memberId, 'pk_thief')
  const { challenge, method, passkeys } = await approvalOf(browser, payoutId)
  expect([method, passkeys]).toEqual(['not_ready', []])
  const { kind: _kind, ...signed } = passkey.approve(Buffer.from(challenge, 'base64url'))
  expect(await approve(browser, payoutId, { passkey: signed })).toEqual([409, 'approver_not_ready'])
  await withTheKey()
  expect(await approve(browser, payoutId, { passkey: signed })).toEqual([200, 'approved'])
})

test("a thief's authenticator copied to somebody with SQL is not sealed to the signer as theirs", async () => {
  const [victim, thief] = [await openShop('Copied to'), await openShop('Copied from')]
  await people.enableSecondFactor(thief.browser)
  await steal(
    `insert into person_two_factor (id, user_id, secret, backup_codes, verified, seal)
     select 'tf_copy', $1, secret, backup_codes, verified, seal from person_two_factor where user_id = $2`,
    [victim.personId, thief.personId],
  )
  const { owner } = people.api.database
  const copied = async () =>
    (await owner.query(`select from person_totp_seal where two_factor_id = 'tf_copy'`)).rowCount
  await sealAll()
  expect(await copied()).toBe(0)
  await withTheKey()
  await sealAll()
  expect(await copied()).toBe(1)
})

test('who deletes, lowers or hides the other managers with SQL does not approve a payout of their own', async () => {
  const { browser, payoutId, merchantId, memberId, personId } = await openShop('Lonely')
  const other = await people.signUp('Other manager')
  const passkey = createTestPasskey()
  await addPasskey(people.api.writeSealed, personId, 'pk_lonely', passkey)
  await people.api.writeSealed(
    `insert into organization_member (id, organization_id, user_id, role, created_at)
     select 'mem_other', $1, id, 'admin', now() from person where email = $2`,
    [merchantId, other.email],
  )
  await signerKnows(memberId, 'pk_lonely')
  const { challenge } = await approvalOf(browser, payoutId)
  const { kind: _kind, ...signed } = passkey.approve(Buffer.from(challenge, 'base64url'))
  const attempt = () => approve(browser, payoutId, { passkey: signed })
  const refused = [403, 'approver_is_requester']
  expect(await attempt()).toEqual(refused)
  await steal(`update organization_member set role = 'viewer' where id = $1`, ['mem_other'])
  expect(await attempt()).toEqual(refused)
  await steal('delete from organization_member where id = $1', ['mem_other'])
  expect(await attempt()).toEqual(refused)
  await steal(`update access_set set entries = '{}' where owner_id = $1`, [merchantId])
  expect(await attempt()).toEqual(refused)
  const moved = steal(`update access_set set owner_id = 'nobody' where owner_id = $1`, [merchantId])
  await expect(moved).rejects.toThrow('permission denied')
  await withTheKey()
  expect(await attempt()).toEqual([200, 'approved'])
})
