import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { LivePayouts } from '../support/live-payouts.ts'
import { createTestPasskey } from '../support/test-passkey.ts'

/** Rows that the API's login writes and that carry no seal: what follows from them, and what does not. */

let world: LivePayouts
beforeAll(async () => {
  world = await LivePayouts.open()
  await world.turn()
})
afterAll(() => world?.closeParts())

async function openShop() {
  const shop = await world.openLiveShop()
  const passkey = createTestPasskey()
  await world.addPasskey(shop.ownerId, passkey)
  await world.turn()
  world.waitADay()
  return { ...shop, passkey }
}

test('a daily limit lifted with SQL signs nothing without a person’s proof, or beyond the signer’s limit', async () => {
  const { tenant, destinationId, ownerId, passkey } = await openShop()
  const setLimit = (limits: object) =>
    withTransaction(world.database.pools.api, tenant, (tx) =>
      tx.query(
        `insert into payment_rules (merchant_id, livemode, rules, updated_at) values ($1, true, $2, now())
         on conflict (merchant_id, livemode) do update set rules = excluded.rules`,
        [tenant.merchantId, { payout_daily_limits: limits }],
      ),
    )
  await setLimit({ LTC: '1000' })
  const payout = await world.request(tenant, destinationId)
  const proof = passkey.approve(world.digestOf(payout))
  await expect(world.approveWith(payout, ownerId, proof)).rejects.toThrow('over_limit')
  await setLimit({})
  await writeFile(join(world.folder, 'limits.json'), '{"live": {"LTC": {"day": "0.4"}}}')
  await world.approveWith(payout, ownerId, proof)
  await world.turn()
  expect(await world.outcomeOf(payout)).toBe('waits')
  const unproved = await world.request(tenant, destinationId, '0.1')
  await world.approveWith(unproved, ownerId, null)
  await world.turn()
  expect(await world.outcomeOf(unproved)).toBe('approval_unproved')
})

test('a request in another’s name, with SQL, spares its maker the second manager and not the proof', async () => {
  const { tenant, destinationId, ownerId, passkey } = await openShop()
  const other = await world.addManager(tenant, 'owner')
  const payout = await world.request(tenant, destinationId, '0.1')
  const rename = (pool: 'api' | 'owner', by: string) =>
    withTransaction(pool === 'api' ? world.database.pools.api : world.database.owner, tenant, (tx) =>
      tx.query('update payout set requested_by = $2 where id = $1', [payout.id, by]),
    )
  // What stands is not changed; a whole request can be written.
  await expect(rename('api', other)).rejects.toThrow('permission denied')
  await rename('owner', other)
  await world.approveWith(payout, ownerId, passkey.approve(world.digestOf(payout)))
  await world.turn()
  expect(await world.outcomeOf(payout)).toBe('signed')
  const unproved = await world.request(tenant, destinationId, '0.1')
  await world.approveWith(unproved, other, null)
  await world.turn()
  expect(await world.outcomeOf(unproved)).toBe('approval_unproved')
})

test('a manager who was taken out is not put back with SQL', async () => {
  const { tenant } = await openShop()
  const passkeyId = await world.addPasskey(await world.addManager(tenant, 'owner'), createTestPasskey())
  const former = await world.addManager(tenant, 'admin')
  const { api } = world.database.pools
  for (const [table, id] of [
    ['organization_member', former],
    ['person_passkey', passkeyId],
  ] as const) {
    const { rows } = await api.query<{ row: object }>(
      `delete from ${table} t where id = $1 returning to_jsonb(t) as row`,
      [id],
    )
    const insert = `insert into ${table} select * from jsonb_populate_record(null::${table}, $1)`
    await expect(api.query(insert, [rows[0]?.row])).rejects.toThrow('was removed')
    // Nor under the name of a row that is there.
    const rename = api.query(`update ${table} set id = $1 where id = (select min(id) from ${table})`, [id])
    await expect(rename).rejects.toThrow('is another')
  }
})

test('a manager demoted and promoted again with SQL approves nothing for a day, and owners are warned', async () => {
  const { tenant, destinationId } = await openShop()
  const passkey = createTestPasskey()
  const former = await world.addManager(tenant, 'admin')
  await world.addPasskey(former, passkey)
  await world.turn()
  world.waitADay()
  const { api } = world.database.pools
  const become = (role: string) =>
    api.query('update organization_member set role = $2 where id = $1', [former, role])
  const approve = async (destination: string) => {
    const payout = await world.request(tenant, destination, '0.1')
    await world.approveWith(payout, former, passkey.approve(world.digestOf(payout)))
    await world.turn()
    return world.outcomeOf(payout)
  }
  // Between two looks of the signer.
  await become('viewer')
  await become('admin')
  world.mails.length = 0
  expect(await approve(destinationId)).toBe('approver_too_new')
  await world.mailNotices()
  expect(world.mails.map(({ text }) => text).join()).toContain(former)
  // A person whom the owners want again approves as a new one does.
  world.waitADay()
  expect(await approve(destinationId)).toBe('signed')
  // A second time, seen by the signer: again a day.
  await become('viewer')
  await world.turn()
  await become('admin')
  expect(await approve(destinationId)).toBe('approver_too_new')
})

test('what was replaced or revoked does not count again, whatever row is written', async () => {
  const { tenant, ownerId } = await openShop()
  const { owner } = world.database
  const { api } = world.database.pools
  await owner.query(
    `insert into person_account (id, user_id, account_id, provider_id, password, created_at, updated_at)
     values ('acc_old', $1, $1, 'credential', 'old', now(), now())`,
    [ownerId],
  )
  await owner.query(
    `insert into api_key (merchant_id, id, livemode, key_hash, scopes, created_at, last_characters)
     values ($1, 'key_old', true, '\\x01', '{}', now(), 'aaaa')`,
    [tenant.merchantId],
  )
  const asShop = (sql: string) => withTransaction(api, tenant, (tx) => tx.query(sql))
  await api.query(`update person_account set password = 'new' where id = 'acc_old'`)
  await expect(api.query(`update person_account set password = 'old' where id = 'acc_old'`)).rejects.toThrow(
    'was replaced',
  )
  await asShop(`update api_key set revoked_at = now() where id = 'key_old'`)
  await expect(asShop(`update api_key set revoked_at = null where id = 'key_old'`)).rejects.toThrow(
    'was revoked',
  )
})
