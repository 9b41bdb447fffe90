import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeNotices } from '../../src/mail/write-notices.ts'
import { ApproverWatch } from '../../src/payouts/sign/approvers.ts'
import { LivePayouts } from '../support/live-payouts.ts'
import { createTestPasskey } from '../support/test-passkey.ts'

let world: LivePayouts
beforeAll(async () => {
  world = await LivePayouts.open()
  // The list begins in an installation that has nobody yet.
  await world.turn()
})
afterAll(() => world?.closeParts())

/** Shops that never were, each with an owner and a passkey, by the API's login. */
async function plantShops(count: number): Promise<void> {
  const { publicKey } = createTestPasskey()
  for (const statement of [
    `insert into merchant (id, name, email, created_at)
     select 'planted' || n, 'x', n || '@planted.example', now() from generate_series(1, $1::int) n`,
    `insert into organization (id, name, slug, created_at)
     select 'planted' || n, 'x', 'planted' || n, now() from generate_series(1, $1::int) n`,
    `insert into person (id, name, email, email_verified, created_at, updated_at)
     select 'planted' || n, 'x', n || '@planted.example', true, now(), now() from generate_series(1, $1::int) n`,
    `insert into organization_member (id, organization_id, user_id, role, created_at)
     select '0' || n, 'planted' || n, 'planted' || n, 'owner', now() from generate_series(1, $1::int) n`,
  ])
    await world.database.pools.api.query(statement, [count])
  await world.database.pools.api.query(
    `insert into person_passkey (id, user_id, public_key, credential_id, counter, device_type, backed_up)
     select 'planted' || n, 'planted' || n, $2, 'planted' || n, 0, 'singleDevice', false from generate_series(1, $1::int) n`,
    [count, publicKey],
  )
}

test("however many approvers the API's login plants, the signer sees none sooner than it is warned of", async () => {
  await plantShops(40)
  const { owner, pools } = world.database
  const mail = { send: async () => {} }
  const deps = { pool: pools.delivery, mail, log: world.log, baseUrl: 'https://pay.example.com' }
  const signer = await world.signer()
  const watch = new ApproverWatch()
  for (let turn = 1; turn <= 3; turn++) {
    for (let looks = 0; looks < 4; looks++) await watch.look(signer)
    await writeNotices(deps)
    const { rows } = await owner.query(
      'select count(*)::int as seen, count(told_at)::int as told from approver_sighting',
    )
    expect(rows).toEqual([{ seen: 2 * turn, told: 2 * turn }])
    world.after(10_000)
  }
})

test("among managers that the API's login plants, those who were there before are warned", async () => {
  const { owner, pools } = world.database
  const plantManagers = async (ids: string, count: number) => {
    await pools.api.query(
      `insert into person (id, name, email, email_verified, created_at, updated_at)
       select $2 || n, 'x', $2 || n || '@shop.example', true, now(), now() from generate_series(1, $1::int) n`,
      [count, ids],
    )
    await pools.api.query(
      `insert into organization_member (id, organization_id, user_id, role, created_at)
       select $2 || n, 'planted1', $2 || n, 'owner', now() from generate_series(1, $1::int) n`,
      [count, ids],
    )
  }
  const see = async (id: string) => {
    await owner.query(
      `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
       values ('planted1', $1, true, 'LTC', $1, 'x', 'x', now(), now())`,
      [id],
    )
    await owner.query(
      `insert into destination_sighting (merchant_id, destination_id, livemode, asset, address, payable_at)
       values ('planted1', $1, true, 'LTC', $1, now())`,
      [id],
    )
  }
  const told: string[] = []
  let room = 10_000
  const mail = {
    send: async ({ to }: { to: string }) => void told.push(to),
    hasRoom: (emails: number) => room >= emails,
  }
  const deps = { pool: pools.delivery, mail, log: world.log, baseUrl: 'https://pay.example.com' }
  await plantManagers('zoe', 1)
  await writeNotices(deps)
  await plantManagers('ann', 300)
  await writeNotices(deps)
  await see('dst_1')
  told.length = 0
  await writeNotices(deps)
  expect(told).toContain('zoe1@shop.example')
  expect(told).toHaveLength(100)
  // A queue that others have filled takes nothing: the warning waits, and is not called written.
  room = 0
  await see('dst_2')
  told.length = 0
  await writeNotices(deps)
  expect(told).toEqual([])
  room = 10_000
  await writeNotices(deps)
  expect(told).toContain('zoe1@shop.example')
})
