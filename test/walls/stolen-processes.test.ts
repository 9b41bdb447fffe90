import { randomBytes } from 'node:crypto'
import { base32 } from '@better-auth/utils/base32'
import { symmetricDecrypt } from 'better-auth/crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Payout } from '../../src/core/payout/payout.ts'
import { secretContext } from '../../src/db/delivery/endpoint-secrets.ts'
import { insertPayoutApproval } from '../../src/payouts/store/payouts.ts'
import type { Pool } from '../../src/postgres/pool.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { openApprovalKey } from '../../src/secrets/approval-key.ts'
import { deliveryKeyOf, openDeliveryKey, openKeyring } from '../../src/secrets/keyring.ts'
import { watcherKeyOf } from '../../src/secrets/outcome-key.ts'
import { openSigningKey, type SigningKey } from '../../src/secrets/signing-key.ts'
import { createSeed, openSeed } from '../../src/signer/seed-file.ts'
import { LivePayouts } from '../support/live-payouts.ts'
import { keyring } from '../support/payout-steps.ts'
import { createTestPeople } from '../support/people.ts'
import { createTestPasskey } from '../support/test-passkey.ts'
import { createTenant, createVerifiedEndpoint, TEST_SECRET_KEY } from '../support/webhook-fixtures.ts'

/** What somebody does who has a role's whole process: its login, and the keys that it is given. */

const SECRET_KEY = Buffer.alloc(32, 9)

let world: LivePayouts
beforeAll(async () => {
  world = await LivePayouts.open()
  await world.turn()
})
afterAll(() => world?.closeParts())

/** A shop with an owner whose passkey, and a destination, that the signer has known for a day. */
async function openShop() {
  const shop = await world.openLiveShop()
  const passkey = createTestPasskey()
  await world.addPasskey(shop.ownerId, passkey)
  await world.turn()
  world.waitADay()
  await world.turn()
  return { ...shop, passkey }
}

async function outcomeAfterTurn(payout: Payout): Promise<string> {
  await world.turn()
  return world.outcomeOf(payout)
}

test('the API’s process pays no live destination that the signer has known for less than a day', async () => {
  const { tenant, ownerId, passkey } = await openShop()
  const payout = await world.request(tenant, await world.plant(tenant))
  // Its page showed the owner another payout than the one that was approved.
  await world.approveWith(payout, ownerId, passkey.approve(world.digestOf(payout)))
  expect(await outcomeAfterTurn(payout)).toBe('waits')
  world.after(24 * 3_600_000 - 1_000)
  expect(await outcomeAfterTurn(payout)).toBe('waits')
})

test('the API’s process approves nothing in the name of somebody who has a passkey', async () => {
  const { tenant, destinationId, ownerId, passkey } = await openShop()
  const other = await world.request(tenant, destinationId, '0.1')
  const shown = passkey.approve(world.digestOf(other))
  for (const evidence of [null, createTestPasskey().approve(world.digestOf(other)), shown]) {
    const payout = await world.request(tenant, destinationId, '0.2')
    await world.approveWith(payout, ownerId, evidence)
    expect(await outcomeAfterTurn(payout)).toBe('approval_unproved')
  }
})

test('the API’s process makes a manager of its own, who counts after a day in which all owners are warned', async () => {
  const { tenant, ownerId } = await openShop()
  const thief = await world.addManager(tenant, 'admin')
  const passkey = createTestPasskey()
  await world.addPasskey(thief, passkey)
  const theirs = await world.plant(tenant)
  await world.mailNotices()
  world.mails.length = 0
  const early = await world.request(tenant, theirs, '0.1')
  await world.approveWith(early, thief, passkey.approve(world.digestOf(early)))
  expect(await outcomeAfterTurn(early)).not.toBe('signed')
  await world.mailNotices()
  const told = world.mails.filter(({ to }) => to === `${ownerId}@example.com`).map(({ text }) => text)
  expect(told.join()).toContain(thief)
  expect(told.join()).toContain(early.destination)
  world.waitADay()
  const late = await world.request(tenant, theirs, '0.1')
  await world.approveWith(late, thief, passkey.approve(world.digestOf(late)))
  expect(await outcomeAfterTurn(late)).toBe('signed')
})

test('the API’s process opens the secret of an authenticator app, and makes its codes', async () => {
  const people = await createTestPeople()
  try {
    const { browser } = await people.signUp('Ann')
    const { secret } = await people.enableSecondFactor(browser)
    const { rows } = await people.api.database.pools.api.query<{ secret: string }>(
      'select secret from person_two_factor',
    )
    const key = 'a secret of this test, long enough'
    const opened = await symmetricDecrypt({ key, data: rows[0]?.secret ?? '' })
    expect(base32.encode(opened, { padding: false })).toBe(secret)
  } finally {
    await people.drop()
  }
})

test('the API’s process does not open the seed, though it reads the file', async () => {
  const folder = world.folder
  const of = (key: Buffer) => ({
    load: async () => key,
    create: async () => key,
    description: 'the key',
  })
  await createSeed(folder, of(randomBytes(32)), () => world.now)
  await expect(openSeed(folder, of(SECRET_KEY))).rejects.toThrow('does not open')
})

/** Approves a payout with a key, as whoever may write anything. */
async function approveAs(pool: Pool, payout: Payout, by: string, key: SigningKey, evidence: unknown) {
  const digest = world.digestOf(payout)
  const { merchantId, livemode } = payout
  await withTransaction(pool, { merchantId, livemode }, async (tx) => {
    await insertPayoutApproval(
      tx,
      { merchantId, livemode },
      {
        payoutId: payout.id,
        approver: by,
        digest,
        signature: key.sign(digest),
        now: world.now,
        evidence: evidence as never,
      },
    )
    await tx.query(`update payout set status = 'approved', approved_at = $2 where id = $1`, [
      payout.id,
      world.now,
    ])
  })
}

test.each([
  ['watcher', [watcherKeyOf(keyring)]],
  ['delivery', [deliveryKeyOf(SECRET_KEY).subarray(0, 32), deliveryKeyOf(SECRET_KEY).subarray(32)]],
] as const)(
  'no key of the process of %s approves a payout, and its login writes no approval',
  async (role, keys) => {
    const { tenant, destinationId, ownerId, passkey } = await openShop()
    for (const key of keys)
      for (const made of [openSigningKey(key), openApprovalKey(openKeyring(key))]) {
        const payout = await world.request(tenant, destinationId, '0.1')
        const proof = passkey.approve(world.digestOf(payout))
        await expect(approveAs(world.database.pools[role], payout, ownerId, made, proof)).rejects.toThrow(
          'permission denied',
        )
        // With the right to write it, too.
        await approveAs(world.database.owner, payout, ownerId, made, proof)
        expect(await outcomeAfterTurn(payout)).toBe('approval_invalid')
      }
  },
)

test('what the owner’s login approves with a manager of its own is not signed, after a day either', async () => {
  const { tenant } = await openShop()
  const { owner } = world.database
  const thief = await world.addManager(tenant, 'owner')
  const passkey = createTestPasskey()
  await world.addPasskey(thief, passkey)
  const theirs = await world.plant(tenant)
  await world.turn()
  world.waitADay()
  const key = openSigningKey(randomBytes(32))
  await owner.query('update payout_approval_key set public_key = $1', [key.publicKey])
  await owner.query('update signer_approval_key set public_key = $1', [key.publicKey])
  const payout = await world.request(tenant, theirs, '0.1')
  await approveAs(owner, payout, thief, key, passkey.approve(world.digestOf(payout)))
  expect(await outcomeAfterTurn(payout)).toBe('approval_invalid')
})

test('delivery’s process opens a shop’s signing secret, with which it says that invoices are paid', async () => {
  const { database } = world
  const tenant: Tenant = await createTenant(database)
  const { secret } = await createVerifiedEndpoint(database, tenant, 'https://shop.example/hooks')
  const { rows } = await database.pools.delivery.query<{ id: string; secret: Buffer }>(
    'select id, secret_sealed as secret from endpoint_secret where merchant_id = $1',
    [tenant.merchantId],
  )
  const { open } = openDeliveryKey(deliveryKeyOf(TEST_SECRET_KEY))
  const [row] = rows
  const opened = open(row?.secret ?? Buffer.of(), secretContext(tenant.merchantId, row?.id ?? ''))
  expect(opened.toString()).toBe(secret)
})
