import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { inspectMoves } from '../../src/doctor/inspect-moves.ts'
import { abortMove, type Move, moveMerchant } from '../../src/flows/move-merchant.ts'
import { revokeApiKey } from '../../src/flows/revoke-api-key.ts'
import { CARRIED_TABLES, COPIED_TABLES, STAYING_TABLES } from '../../src/flows/steps/moved-tables.ts'
import type { Pool } from '../../src/postgres/pool.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { openAccessSeals } from '../../src/secrets/access-seals.ts'
import { openKeyring } from '../../src/secrets/keyring.ts'
import { recipientOf } from '../../src/secrets/unsubscribe-token.ts'
import { createTestApi, type TestAnswer, type TestApi, type TestMerchant } from '../support/api.ts'
import { until } from '../support/until.ts'

/** Two cells with databases and keys of their own, in one process: ids and keys of both are those of cell 0. */

let first: TestApi
let third: TestApi
let shop: TestMerchant
let neighbour: TestMerchant
beforeAll(async () => {
  const keyring = openKeyring(Buffer.alloc(32, 9))
  first = await createTestApi()
  third = await createTestApi({ keyring, seals: openAccessSeals(keyring, createLogger('silent')) })
})
afterAll(async () => {
  await first?.drop()
  await third?.drop()
})
beforeEach(async () => {
  shop = await first.addMerchant()
  neighbour = await first.addMerchant()
})

type Step = Parameters<Move['onStep']>[0]
const STEPS: readonly Step[] = ['stop', 'copy', 'verify', 'switch', 'open']
class Killed extends Error {}

/** A move of the shop to cell 3, which ends before a step as a killed process does. */
const move = (changes: Partial<Move> = {}, killedBefore?: Step): Move => ({
  merchantId: shop.id,
  source: cellOf(first, 0),
  target: cellOf(third, 3),
  now: first.time.now,
  onStep: (step) => {
    if (step === killedBefore) throw new Killed(step)
  },
  ...changes,
})
const cellOf = ({ database, deps }: TestApi, cell: number) => ({
  pool: database.owner,
  keyring: deps.keyring,
  seals: deps.seals,
  cell,
})

const SALE = { usd_amount: '12.50', asset: 'LTC' }
const sell = (api: TestApi, key = shop.testKey, body: object = SALE, idempotencyKey: string = randomUUID()) =>
  api.call('POST', '/invoices', { key, body, headers: { 'idempotency-key': idempotencyKey } })
/** What each cell says of a new sale: 201, 503 while the shop moves, 421 where it is another cell's. */
const sales = async () => [(await sell(first)).status, (await sell(third)).status]
const made = (answer: TestAnswer) => {
  expect([200, 201], answer.text).toContain(answer.status)
  return answer.body
}
const call = async (api: TestApi, method: string, path: string, body?: object) =>
  api.call(method, path, { key: shop.testKey, ...(body === undefined ? {} : { body }) })

test('every table with something of a merchant is copied, carried or stays', async () => {
  const { rows } = await first.database.owner.query<{ name: string }>(
    `select distinct relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
       and attname in ('merchant_id', 'organization_id') and not attisdropped`,
  )
  const copied = COPIED_TABLES.flatMap(({ table, owner }) => (owner === undefined ? [table] : []))
  expect([...copied, ...CARRIED_TABLES, ...STAYING_TABLES].sort()).toEqual(
    rows.map(({ name }) => name).sort(),
  )
})

test.each(STEPS)(
  'killed before "%s", at most one cell sells, and a second run ends with the other',
  async (step) => {
    expect(await sales()).toEqual([201, 401])
    await expect(moveMerchant(move({}, step))).rejects.toBeInstanceOf(Killed)
    const halfway = await sales()
    expect(halfway.filter((status) => status === 201).length).toBeLessThanOrEqual(1)
    expect(halfway).toEqual(
      {
        stop: [201, 401],
        copy: [503, 401],
        verify: [503, 503],
        switch: [503, 503],
        open: [421, 503],
      }[step],
    )
    expect((await sell(first, neighbour.testKey)).status).toBe(201)
    await moveMerchant(move())
    expect(await sales()).toEqual([421, 201])
    const { headers, body } = await sell(first)
    expect(headers.get('paylink-cell')).toBe('03')
    expect(body.error.message).toContain(`dashboard is ${first.deps.baseUrl}/cells/03/dashboard. If`)
    // Once more it changes nothing.
    await moveMerchant(move())
    expect(await sales()).toEqual([421, 201])
  },
)

test('doctor names a shop that sells nothing because its move did not end, in both cells', async () => {
  const named = async ({ database }: TestApi) =>
    (await inspectMoves(database.owner)).flatMap(({ text }) => (text.includes(shop.id) ? [text] : []))
  await expect(moveMerchant(move({}, 'switch'))).rejects.toBeInstanceOf(Killed)
  expect(await named(first)).toEqual([expect.stringMatching(/moving to cell 3 since .* or with --abort$/)])
  expect(await named(third)).toEqual([expect.stringMatching(/arriving from cell 0 since /)])
  await moveMerchant(move())
  expect([await named(first), await named(third)]).toEqual([[], []])
})

test.each(['copy', 'verify', 'switch'] as const)(
  'a move that was killed before "%s" can be undone',
  async (step) => {
    await expect(moveMerchant(move({}, step))).rejects.toBeInstanceOf(Killed)
    await abortMove(move())
    expect(await sales()).toEqual([201, 401])
    for (const { table, owner = 'merchant_id' } of COPIED_TABLES) {
      const { rows } = await third.database.owner.query(`select from ${table} where ${owner} = $1`, [shop.id])
      expect([table, rows.length]).toEqual([table, 0])
    }
    await expect(abortMove(move())).rejects.toThrow('is not being moved to cell 3')
    await moveMerchant(move())
    await expect(abortMove(move())).rejects.toThrow('has moved to cell 3: that cannot be undone')
  },
)

test('settings, links, endpoints, keys, people and answers are the same, sealed with the other key', async () => {
  const endpoint = made(
    await call(first, 'POST', '/webhook-endpoints', {
      url: 'http://127.0.0.1:9/a',
      subscribed_events: ['*'],
    }),
  )
  const link = made(
    await call(first, 'POST', '/payment-links', { name: 'Tea', usd_amount: '5.00', asset: 'LTC' }),
  )
  const key = randomUUID()
  const invoice = made(await sell(first, shop.testKey, { ...SALE, customer_email: 'b@shop.example' }, key))
  const session = { order_reference: 'order-1', usd_amount: '9.00' }
  const dynamic = made(
    await call(first, 'POST', '/payment-links', { name: 'Any', allow_dynamic_amount: true }),
  )
  made(await call(first, 'POST', `/payment-links/${dynamic.id}/checkout-sessions`, session))
  await first.database.owner.query('insert into buyer_optout values ($1, $2, now()), ($1, $3, now())', [
    shop.id,
    recipientOf(first.deps.keyring, 'b@shop.example'),
    recipientOf(first.deps.keyring, 'nobody@shop.example'),
  ])
  const { copied, optoutsLost } = await moveMerchant(move())
  expect(copied).toMatchObject({
    payment_link: 2,
    webhook_endpoint: 1,
    endpoint_secret: 1,
    organization_member: 1,
  })
  expect(optoutsLost).toBe(1)
  expect(made(await call(third, 'GET', `/payment-links/${link.id}`))).toEqual(link)
  const { secret: _secret, ...shown } = endpoint
  expect(made(await call(third, 'GET', `/webhook-endpoints/${endpoint.id}`))).toMatchObject(shown)
  const again = await sell(third, shop.testKey, { ...SALE, customer_email: 'b@shop.example' }, key)
  expect([again.status, again.headers.get('idempotent-replayed'), again.body]).toEqual([201, 'true', invoice])
  const repeated = await call(third, 'POST', `/payment-links/${dynamic.id}/checkout-sessions`, session)
  expect([repeated.status, repeated.headers.get('paylink-cell')]).toEqual([421, '00'])
  const { rows } = await third.database.owner.query(
    'select recipient from buyer_optout where merchant_id = $1',
    [shop.id],
  )
  expect(rows).toEqual([{ recipient: recipientOf(third.deps.keyring, 'b@shop.example') }])
  // What is in the old cell goes on there, its settings too.
  expect(made(await call(first, 'GET', `/invoices/${invoice.id}`))).toMatchObject({
    status: 'awaiting_payment',
  })
  made(await call(first, 'POST', `/invoices/${invoice.id}/cancel`))
  made(await call(first, 'POST', `/webhook-endpoints/${endpoint.id}/disable`))
  expect((await call(first, 'POST', '/payment-links', { name: 'No', usd_amount: '5.00' })).status).toBe(421)
})

test('while a shop moves its settings stay, and reading, cancelling and its neighbours go on', async () => {
  const invoice = made(await sell(first))
  await expect(moveMerchant(move({}, 'copy'))).rejects.toBeInstanceOf(Killed)
  const endpoint = { url: 'http://127.0.0.1:9/a', subscribed_events: ['*'] }
  const refused = await call(first, 'POST', '/webhook-endpoints', endpoint)
  expect([refused.status, refused.body.error.code, refused.headers.get('retry-after')]).toEqual([
    503,
    'service_unavailable',
    '5',
  ])
  expect(refused.body.error.message).toContain('is being moved to another cell')
  const answer = `insert into idempotency_key values ($1, false, 'post', '/payouts', 'k', '', 201, '', now())`
  await expect(first.database.owner.query(answer, [shop.id])).rejects.toThrow('is being moved')
  made(await call(first, 'POST', `/invoices/${invoice.id}/cancel`))
  await abortMove(move())
  made(await call(first, 'POST', '/webhook-endpoints', endpoint))
})

test('sales that race with the stop are copied whole or refused, and one key makes one invoice', async () => {
  const keys = Array.from({ length: 60 }, () => randomUUID())
  const racing = Promise.all(keys.map((key) => sell(first, shop.testKey, SALE, key)))
  await moveMerchant(move())
  const before = await racing
  expect(before.every(({ status }) => [201, 503, 421].includes(status))).toBe(true)
  const after = await Promise.all(keys.map((key) => sell(third, shop.testKey, SALE, key)))
  after.forEach(({ status, body }, at) => {
    expect(status).toBe(201)
    if (before[at]?.status === 201) expect(body).toEqual(before[at]?.body)
  })
  const count = async ({ database }: TestApi) =>
    (await database.owner.query('select from invoice where merchant_id = $1', [shop.id])).rowCount ?? 0
  expect((await count(first)) + (await count(third))).toBe(keys.length)
})

test('a shop that is in the other cell, is nowhere, moves elsewhere or back is refused', async () => {
  const elsewhere = { ...cellOf(third, 5) }
  await expect(moveMerchant(move({ merchantId: `mer_${'0'.repeat(26)}` }))).rejects.toThrow(
    'No such merchant',
  )
  await expect(moveMerchant(move({}, 'copy'))).rejects.toBeInstanceOf(Killed)
  await expect(moveMerchant(move({ target: elsewhere }))).rejects.toThrow('is being moved to cell 3')
  await moveMerchant(move())
  await expect(moveMerchant(move({ target: elsewhere }))).rejects.toThrow('has moved to cell 3')
  const back = { source: cellOf(third, 3), target: cellOf(first, 0) }
  await expect(moveMerchant(move(back))).rejects.toThrow('has moved to cell 3')
  const stranger = await third.addMerchant()
  await expect(moveMerchant(move({ ...back, merchantId: neighbour.id }))).rejects.toThrow('No such merchant')
  await first.database.owner.query(`insert into merchant values ($1, 'Same', 'a@shop.example', now())`, [
    stranger.id,
  ])
  await expect(moveMerchant(move({ merchantId: stranger.id }))).rejects.toThrow('is in cell 3 already')
})

test('a cell restored from a backup of before the move gives the shop up again', async () => {
  await moveMerchant(move())
  await first.database.owner.query('delete from merchant_move where merchant_id = $1', [shop.id])
  expect(await sales()).toEqual([201, 201])
  await moveMerchant(move())
  expect(await sales()).toEqual([421, 201])
})

test('a cell restored from a backup of before the move stops selling for a shop that moved on since', async () => {
  await moveMerchant(move())
  await third.database.owner.query(
    `update merchant_move set state = 'moved', cell = 5 where merchant_id = $1`,
    [shop.id],
  )
  await first.database.owner.query('delete from merchant_move where merchant_id = $1', [shop.id])
  expect(await sales()).toEqual([201, 421])
  await expect(moveMerchant(move())).rejects.toThrow('cell 0 sells nothing for it any more')
  expect(await sales()).toEqual([421, 421])
})

test('a shop that arrived is not undone from a backup that was made while it moved', async () => {
  await moveMerchant(move())
  await first.database.owner.query(`update merchant_move set state = 'moving' where merchant_id = $1`, [
    shop.id,
  ])
  await expect(abortMove(move())).rejects.toThrow('run the command without --abort')
  await moveMerchant(move())
  expect(await sales()).toEqual([421, 201])
})

const ofThird = async (sql: string) => (await third.database.owner.query(sql, [shop.id])).rows

test('what the old cell ended or changed before the new one opens is so in the new one', async () => {
  const owner = first.database.owner
  const leaked = await first.addKey(shop.id, false, ['invoices:read'])
  const endpoint = made(
    await call(first, 'POST', '/webhook-endpoints', {
      url: 'http://127.0.0.1:9/a',
      subscribed_events: ['*'],
    }),
  )
  await first.writeSealed(
    `with added as (
       insert into person (id, name, email, email_verified, created_at, updated_at)
       select 'per_' || n, n, n || '@shop.example', false, now(), now() from unnest(array[$2, $3]) as n returning id, name)
     insert into organization_member (id, organization_id, user_id, role, created_at)
     select 'mem_' || id || $1, $1, id, 'admin', now() from added`,
    [shop.id, `leaves${shop.id}`, `stays${shop.id}`],
  )
  await owner.query(
    `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
     values ($1, 'dst_1', false, 'LTC', 'ltc1q', 'Mine', 'key', now(), now())`,
    [shop.id],
  )
  await expect(moveMerchant(move({}, 'open'))).rejects.toBeInstanceOf(Killed)
  const reads = (api: TestApi, key: string) => api.call('GET', '/invoices', { key })
  expect((await reads(third, leaked.key)).status).toBe(200)
  // The old cell takes changes again since its switch.
  await revokeApiKey({ pool: owner, clock: () => first.time.now, seals: first.deps.seals }, leaked.id)
  made(await call(first, 'POST', `/webhook-endpoints/${endpoint.id}/disable`))
  await first.writeSealed(
    `delete from organization_member where organization_id = $1 and user_id like 'per_leaves%'`,
    [shop.id],
  )
  await first.writeSealed(
    `update organization_member set role = 'viewer' where organization_id = $1 and user_id like 'per_stays%'`,
    [shop.id],
  )
  await owner.query('update payout_destination set removed_at = now() where merchant_id = $1', [shop.id])
  await owner.query(`insert into payment_rules values ($1, true, '{"window_minutes": 20}', now())`, [shop.id])
  await moveMerchant(move())
  expect(await sales()).toEqual([421, 201])
  // For a second it remembers who asked.
  third.time.advance(2_000)
  expect((await reads(third, leaked.key)).status).toBe(401)
  expect(made(await call(third, 'GET', `/webhook-endpoints/${endpoint.id}`))).toMatchObject({
    status: 'disabled',
  })
  expect(
    await ofThird(
      `select split_part(email, 'mer', 1) as email, role from organization_member
       join person on person.id = user_id where organization_id = $1 order by role`,
    ),
  ).toEqual([
    { email: 'owner@example.com', role: 'owner' },
    { email: 'stays', role: 'viewer' },
  ])
  expect(await ofThird('select from payout_destination where merchant_id = $1')).toEqual([])
  expect(await ofThird('select rules from payment_rules where merchant_id = $1 and livemode')).toEqual([
    { rules: { window_minutes: 20 } },
  ])
})

test('what changes in the old cell between the comparison and the switch is copied anew before it opens', async () => {
  await first.database.owner.query(
    `create function rename() returns trigger language plpgsql as $$ begin
       update merchant set name = 'New' where id = new.merchant_id; update organization set name = 'New' where id = new.merchant_id;
       return new; end $$;
     create trigger renames after update on merchant_move for each row when (new.state = 'moved') execute function rename()`,
  )
  try {
    await moveMerchant(move())
  } finally {
    await first.database.owner.query('drop function rename cascade')
  }
  const names = `select m.name as merchant, o.name as organization from merchant m join organization o using (id) where id = $1`
  expect(await ofThird(names)).toEqual([{ merchant: 'New', organization: 'New' }])
})

test('a change in the old cell while the new one opens waits until it has', async () => {
  const settings = { url: 'http://127.0.0.1:9/a', subscribed_events: ['*'] }
  const endpoint = made(await call(first, 'POST', '/webhook-endpoints', settings))
  const other = await third.database.owner.connect()
  await other.query('begin')
  const waits = ({ database }: TestApi) =>
    until(async () => {
      const { rowCount } = await database.owner.query(
        `select from pg_locks where locktype = 'advisory' and not granted
           and database = (select oid from pg_database where datname = current_database())`,
      )
      return rowCount === 1
    })
  await expect(moveMerchant(move({}, 'open'))).rejects.toBeInstanceOf(Killed)
  await other.query(`select pg_advisory_xact_lock(hashtextextended('merchant_move/' || $1, 0))`, [shop.id])
  const opening = moveMerchant(move())
  await waits(third)
  const changing = call(first, 'POST', `/webhook-endpoints/${endpoint.id}/disable`)
  await waits(first)
  await other.query('commit')
  other.release()
  await opening
  made(await changing)
  expect(await sales()).toEqual([421, 201])
})

/** A cell's connections: `before` is waited for each time that one is taken. */
const takenAfter = (pool: Pool, before: () => Promise<void>): Pool =>
  Object.assign(Object.create(pool) as Pool, {
    query: pool.query.bind(pool),
    connect: async () => {
      await before()
      return pool.connect()
    },
  })

test('what happens in the old cell while it is copied again keeps the new one from opening no longer', async () => {
  const { owner } = first.database
  const endpoint = made(
    await call(first, 'POST', '/webhook-endpoints', {
      url: 'http://127.0.0.1:9/a',
      subscribed_events: ['*'],
    }),
  )
  await owner.query(`update webhook_endpoint set status = 'enabled', verified_at = now() where id = $1`, [
    endpoint.id,
  ])
  await expect(moveMerchant(move({}, 'open'))).rejects.toBeInstanceOf(Killed)
  await owner.query(`update merchant set name = 'New' where id = $1`, [shop.id])
  const steps: Step[] = []
  let recovered: TestAnswer | undefined
  const pool = takenAfter(owner, async () => {
    if (!steps.includes('copy') || steps.at(-1) === 'copy' || recovered !== undefined) return
    recovered = await first.call('POST', '/events/recover', {
      key: shop.testKey,
      headers: { 'idempotency-key': randomUUID() },
      body: { endpoint_id: endpoint.id, since: first.time.now.toISOString() },
    })
    await owner.query(`update merchant set name = 'Newer' where id = $1`, [shop.id])
  })
  await moveMerchant(move({ source: { ...cellOf(first, 0), pool }, onStep: (step) => void steps.push(step) }))
  expect(recovered?.status).toBe(200)
  expect(await ofThird('select name from merchant where id = $1')).toEqual([{ name: 'Newer' }])
  expect(await sales()).toEqual([421, 201])
})

test('the old cell answers the shop, however long it takes to read what is compared', async () => {
  const settings = { url: 'http://127.0.0.1:9/a', subscribed_events: ['*'] }
  const endpoint = made(await call(first, 'POST', '/webhook-endpoints', settings))
  await expect(moveMerchant(move({}, 'open'))).rejects.toBeInstanceOf(Killed)
  const holder = await first.database.owner.connect()
  await holder.query('begin; lock table branding in access exclusive mode')
  const opening = moveMerchant(move())
  const reads = async () => (await holder.query('select from pg_locks where not granted')).rowCount === 1
  await until(reads, { what: 'the comparison reads' })
  made(await call(first, 'POST', `/webhook-endpoints/${endpoint.id}/disable`))
  await holder.query('commit')
  holder.release()
  await opening
  expect(made(await call(third, 'GET', `/webhook-endpoints/${endpoint.id}`))).toMatchObject({
    status: 'disabled',
  })
})

test('a copy is used for its own move only, for a later one lacks nothing that was sold between', async () => {
  await expect(moveMerchant(move({}, 'verify'))).rejects.toBeInstanceOf(Killed)
  // The target as it was before the move was undone and begun again.
  await first.database.owner.query('delete from merchant_move where merchant_id = $1', [shop.id])
  const key = randomUUID()
  const sold = made(await sell(first, shop.testKey, SALE, key))
  const later = { now: new Date(first.time.now.getTime() + 1_000) }
  const insert = `insert into merchant_move values ($1, 'moved', 3, $2)`
  await first.database.owner.query(insert, [shop.id, later.now])
  await moveMerchant(move(later))
  expect((await sell(third, shop.testKey, SALE, key)).body).toEqual(sold)
})

test('a run that copied before the move was undone and begun again does not switch', async () => {
  await expect(moveMerchant(move({}, 'copy'))).rejects.toBeInstanceOf(Killed)
  const other = await first.database.owner.connect()
  await other.query('begin')
  await other.query(`select pg_advisory_xact_lock(hashtextextended('merchant_move/' || $1, 0))`, [shop.id])
  let ended = Promise.resolve('')
  await new Promise<void>((resolve) => {
    const late = moveMerchant(move({ onStep: (step) => (step === 'switch' ? resolve() : undefined) }))
    ended = late.then(
      () => 'moved',
      (error: Error) => error.message,
    )
  })
  await other.query(`update merchant_move set began_at = began_at + interval '1 s' where merchant_id = $1`, [
    shop.id,
  ])
  await other.query('commit')
  other.release()
  expect(await ended).toContain('was undone meanwhile')
  expect(await sales()).toEqual([503, 503])
  await moveMerchant(move())
  expect(await sales()).toEqual([421, 201])
})

test('an invitation that was made in the target meanwhile holds up neither another copy nor the undoing', async () => {
  await expect(moveMerchant(move({}, 'switch'))).rejects.toBeInstanceOf(Killed)
  await third.database.owner.query(
    `insert into organization_invitation (id, organization_id, email, role, status, inviter_id, expires_at, created_at)
     select gen_random_uuid(), organization_id, 'b@shop.example', 'admin', 'pending', user_id, now(), now()
     from organization_member where organization_id = $1`,
    [shop.id],
  )
  await abortMove(move())
  expect(await sales()).toEqual([201, 401])
})

test('a stored answer that ends while the shop moves, and that one cell has forgotten, stops nothing', async () => {
  made(await sell(first))
  await first.database.owner.query(
    `update idempotency_key set created_at = created_at - interval '71 hours' where merchant_id = $1`,
    [shop.id],
  )
  await third.database.owner.query(
    `create function forget() returns trigger language plpgsql as $$ begin
       delete from idempotency_key where merchant_id = new.merchant_id; return new; end $$;
     create trigger forgets before insert on merchant_move for each row execute function forget()`,
  )
  try {
    await moveMerchant(move())
  } finally {
    await third.database.owner.query('drop function forget cascade')
  }
  expect(await sales()).toEqual([421, 201])
})

test('a copy is dropped whatever it holds, some rows at a time', async () => {
  await expect(moveMerchant(move({}, 'verify'))).rejects.toBeInstanceOf(Killed)
  const other = await third.addMerchant()
  for (const merchant of [shop, other])
    await third.database.owner.query(
      `insert into moved_order select $1, 'order-' || n, 0 from generate_series(1, 10001) as n`,
      [merchant.id],
    )
  const statements = vi.spyOn(pg.Client.prototype, 'query')
  await abortMove(move())
  const drops = JSON.stringify(statements.mock.calls.map(([asked]) => asked)).match(
    /"delete from moved_order /g,
  )
  statements.mockRestore()
  expect(drops).toHaveLength(3)
  const left = 'select from moved_order where merchant_id = $1'
  expect((await third.database.owner.query(left, [other.id])).rowCount).toBe(10_001)
})

test('payout destinations wait anew: the time in a row of the source counts for nothing', async () => {
  await first.database.owner.query(
    `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
     select $1, 'dst_' || mode, mode, 'LTC', 'ltc1q' || mode, 'Mine', 'key', now(), '2020-01-01'
     from unnest('{true,false}'::boolean[]) as mode`,
    [shop.id],
  )
  await moveMerchant(move())
  const { rows } = await third.database.owner.query<{ usable_at: Date }>(
    'select usable_at from payout_destination where merchant_id = $1 order by livemode',
    [shop.id],
  )
  expect(rows.map(({ usable_at: at }) => at.getTime() - first.time.now.getTime())).toEqual([0, 86_400_000])
})

test('a key that Paylink did not write stops the move before anything is copied', async () => {
  const { id } = await first.addKey(shop.id, false, ['invoices:read'])
  await first.database.owner.query(`update api_key set scopes = '{payouts:write}' where id = $1`, [id])
  await expect(moveMerchant(move())).rejects.toThrow('see paylink access check')
  await abortMove(move())
  expect(await sales()).toEqual([201, 401])
})
