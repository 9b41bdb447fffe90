import { appendFile, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { inspectStoppedPayouts } from '../../src/doctor/inspect-signer.ts'
import { writeNotices } from '../../src/mail/write-notices.ts'
import { readValueLimits } from '../../src/payouts/sign/signing-limits.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { LivePayoutWorld } from '../support/live-payout-world.ts'

const LTC = 100_000_000n
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

let world: LivePayoutWorld
let tenant: Tenant
beforeEach(async () => {
  world = await LivePayoutWorld.open()
  tenant = await world.openShop([LTC, LTC, LTC, LTC])
})
afterEach(() => world.close())

const seenFile = () => join(world.folder, 'first-seen.jsonl')
const asApi = (statement: string, values: readonly unknown[]) =>
  withTransaction(world.database.pools.api, tenant, (tx) => tx.query(statement, [...values]))
const remove = (id: string) =>
  asApi('update payout_destination set removed_at = now() where id = $1 and merchant_id = $2', [
    id,
    tenant.merchantId,
  ])

test("a destination that the API's login backdated is paid a day after the signer saw it, approved or not", async () => {
  await world.sign()
  const payout = await world.payOut(tenant, await world.plant(tenant), '0.5')
  await world.sign()
  expect(await world.reasonOf(payout)).toBe('destination_new')
  for (const ms of [1_000, DAY_MS - 2_000]) {
    world.after(ms)
    await world.sign()
    expect(await world.isSigned(payout)).toBe(false)
  }
  expect(world.logged.filter((line) => line.includes('not known its destination'))).toHaveLength(3)
  world.after(1_000)
  await world.sign()
  expect(await world.isSigned(payout)).toBe(true)
})

test('one signer says once why a payout waits, and until when', async () => {
  await world.sign()
  const payout = await world.payOut(tenant, await world.plant(tenant), '0.5')
  await world.sign()
  const seenAt = world.now.getTime()
  const { rows } = await world.database.owner.query('select reason, until from payout_hold')
  expect(rows).toEqual([{ reason: 'destination_new', until: new Date(seenAt + DAY_MS) }])
  const said = world.logged.filter((line) => line.includes(payout.id))
  expect(said).toHaveLength(1)
  expect(said[0]).toContain(new Date(seenAt + DAY_MS).toISOString())
})

test('what stood in the database before the signer kept a list is paid from when its own row says', async () => {
  const payout = await world.payOut(tenant, await world.plant(tenant), '0.5')
  await world.sign()
  expect(await world.isSigned(payout)).toBe(true)
})

test('a signer that has lost its file waits a day again, and says so', async () => {
  const id = await world.plant(tenant)
  await world.sign()
  await rm(seenFile())
  const payout = await world.payOut(tenant, id, '0.5')
  await world.sign()
  expect(await world.isSigned(payout)).toBe(false)
  expect(world.logged.some((line) => line.includes('has lost its list of live destinations'))).toBe(true)
  const { rows } = await world.database.owner.query('select payable_at from destination_sighting')
  expect(rows).toEqual([{ payable_at: new Date(world.now.getTime() + DAY_MS) }])
  world.after(DAY_MS)
  await world.sign()
  expect(await world.isSigned(payout)).toBe(true)
})

test('a signer that was killed while it wrote knows what it had written whole, and a damaged file stops it', async () => {
  await world.sign()
  const id = await world.plant(tenant)
  await world.sign()
  await appendFile(seenFile(), '{"kind":"live_dest')
  world.after(DAY_MS)
  const payout = await world.payOut(tenant, id, '0.5')
  await world.sign()
  expect(await world.isSigned(payout)).toBe(true)
  await writeFile(seenFile(), `x${await readFile(seenFile(), 'utf8')}`)
  await expect(world.sign()).rejects.toThrow(/first-seen\.jsonl is damaged/)
})

test('a removed destination is not paid and stays removed: the same address added again waits again', async () => {
  await world.sign()
  const address = world.newAddress()
  const id = await world.plant(tenant, address)
  await world.sign()
  world.after(DAY_MS)
  const payout = await world.payOut(tenant, id, '0.5')
  await remove(id)
  await expect(asApi('update payout_destination set removed_at = null where id = $1', [id])).rejects.toThrow(
    /was removed/,
  )
  await world.sign()
  expect(await world.reasonOf(payout)).toBe('destination_removed')
  const again = await world.payOut(tenant, await world.plant(tenant, address), '0.5')
  await world.sign()
  expect(await world.reasonOf(again)).toBe('destination_new')
})

test("a payout to an address not its destination's, or to another's destination, is not signed", async () => {
  const other = await world.openShop([LTC])
  const [ours, theirs] = [await world.plant(tenant), await world.plant(other)]
  await world.sign()
  world.after(DAY_MS)
  await world.sign()
  const moved = await world.payOut(tenant, ours, '0.5')
  await world.database.owner.query('update payout set destination = $2 where id = $1', [
    moved.id,
    world.newAddress(),
  ])
  await world.sign()
  expect(await world.reasonOf(moved)).toBe('approval_invalid')
  const planted = await world.payOut(tenant, await world.plant(tenant), '0.5')
  await world.database.owner.query('alter table payout disable trigger all')
  await world.database.owner.query('update payout set destination_id = $2 where id = $1', [
    planted.id,
    theirs,
  ])
  await world.sign()
  expect(await world.isSigned(planted)).toBe(false)
  await world.database.owner.query('update payout set destination_id = $2 where id = $1', [planted.id, ours])
  await world.sign()
  expect(await world.isSigned(planted)).toBe(false)
})

test("no login but the signer's writes what it has seen, and rows that no API wrote are passed over", async () => {
  await world.sign()
  const id = await world.plant(tenant)
  await world.plant(tenant, 'x'.repeat(60_000))
  await world.plant(tenant, 'two words')
  await world.sign()
  expect((await readFile(seenFile(), 'utf8')).match(/"kind":"live_destination","key"/g)).toHaveLength(1)
  const { pools } = world.database
  for (const role of ['api', 'watcher', 'delivery'] as const) {
    for (const statement of [
      `insert into destination_sighting select * from destination_sighting`,
      `update destination_sighting set payable_at = '2020-01-01'`,
      `delete from destination_sighting`,
      `insert into signer_list values ('x', now())`,
      `delete from signer_list`,
      `update payout_hold set reason = ''`,
    ])
      await expect(pools[role].query(statement), `${role}: ${statement}`).rejects.toThrow(/permission denied/)
  }
  const { rows } = await world.database.owner.query('select destination_id as id from destination_sighting')
  expect(rows).toEqual([{ id }])
})

test("a merchant's payouts in a coin are signed up to the signer's hourly and daily limits, then wait", async () => {
  await writeFile(join(world.folder, 'limits.json'), '{"live": {"LTC": {"hour": "1", "day": "1.2"}}}')
  const id = await world.plant(tenant)
  await world.sign()
  const payOut = async (amount: string) => {
    const payout = await world.payOut(tenant, id, amount)
    await world.sign()
    return payout
  }
  const first = await payOut('0.7')
  const began = world.now.getTime()
  const second = await payOut('0.4')
  expect(await world.isSigned(first)).toBe(true)
  expect(await world.reasonOf(second)).toBe('value_in_hour')
  world.after(HOUR_MS)
  await world.sign()
  expect(await world.isSigned(second)).toBe(true)
  const third = await payOut('0.2')
  expect(await world.reasonOf(third)).toBe('value_in_day')
  const { rows } = await world.database.owner.query('select until from payout_hold where payout_id = $1', [
    third.id,
  ])
  expect(rows).toEqual([{ until: new Date(began + DAY_MS) }])
  const whole = await payOut('1.1')
  expect(
    (await world.database.owner.query('select until from payout_hold where payout_id = $1', [whole.id])).rows,
  ).toEqual([{ until: null }])
  world.after(DAY_MS)
  await world.sign()
  expect(await world.isSigned(third)).toBe(true)
  expect(await world.isSigned(whole)).toBe(false)
})

test.each([
  ['{', 'JSON'],
  ['{"live": {"DOGE": {}}}', 'DOGE'],
  ['{"live": {"BTC": {"week": "1"}}}', 'week'],
  ['{"live": {"BTC": {"hour": "0.123456789"}}}', 'BTC.hour: "0.123456789" is no amount of BTC'],
  ['{"live": {"BTC": {"hour": 1}}}', 'live.BTC.hour'],
])('limits such as %s stop the start with one line', async (content, told) => {
  await writeFile(join(world.folder, 'limits.json'), content)
  await expect(readValueLimits(world.folder)).rejects.toThrow(told)
  await expect(readValueLimits(world.folder)).rejects.toThrow(/^[^\n]*limits\.json is not understood[^\n]*$/)
})

test('doctor lists each payout that the signer holds back, why, until when, and what to do', async () => {
  await world.sign()
  const payout = await world.payOut(tenant, await world.plant(tenant), '0.5')
  await world.sign()
  const inspect = () => inspectStoppedPayouts(world.database.owner, () => world.now)
  const [held, ...others] = await inspect()
  expect(others).toEqual([])
  expect(held?.text).toContain(`Payout ${payout.id} of ${tenant.merchantId}: the signer holds it back until `)
  expect(held?.text).toContain(new Date(world.now.getTime() + DAY_MS).toISOString())
  expect(held?.text).toContain('remove it and find out who added it')
  world.after(DAY_MS)
  await world.sign()
  expect(await world.isSigned(payout)).toBe(true)
  expect(await inspect()).toEqual([])
})

test('a clock that was years ahead holds back neither destinations nor limits once it is right again', async () => {
  await world.sign()
  const limits = { live: { LTC: { day: '1' } } }
  await writeFile(join(world.folder, 'limits.json'), JSON.stringify(limits))
  world.after(1_000 * DAY_MS)
  const id = await world.plant(tenant)
  await world.sign()
  world.after(DAY_MS)
  const ahead = await world.payOut(tenant, id, '0.6')
  await world.sign()
  expect(await world.isSigned(ahead)).toBe(true)
  world.after(-1_001 * DAY_MS)
  const next = await world.payOut(tenant, id, '0.6')
  await world.sign()
  expect(await world.reasonOf(next)).toBe('destination_new')
  world.after(DAY_MS)
  await world.sign()
  expect(await world.reasonOf(next)).toBe('value_in_day')
})

test("however many destinations the API's login plants, the signer sees none sooner than it is warned of", async () => {
  await world.sign()
  for (let count = 0; count < 40; count++) await world.plant(tenant)
  const { owner, pools } = world.database
  const mail = { send: async () => {} }
  const deps = { pool: pools.delivery, mail, log: world.log, baseUrl: 'https://pay.example.com' }
  for (let turn = 1; turn <= 3; turn++) {
    world.after(10_000)
    await world.sign()
    await writeNotices(deps)
    const { rows } = await owner.query(
      'select count(*)::int as seen, count(told_at)::int as told from destination_sighting',
    )
    expect(rows).toEqual([{ seen: 2 * turn, told: 2 * turn }])
  }
})
