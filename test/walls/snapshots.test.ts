import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestPeople, type TestPeople } from '../support/people.ts'
import { until } from '../support/until.ts'

/**
 * What a thief with SQL does in a transaction that sees the database as it was: what was taken out since is not seen by
 * the guards that look for it.
 */
let people: TestPeople
beforeAll(async () => {
  people = await createTestPeople()
})
afterAll(() => people?.drop())

test('each guard that looks for rows refuses a transaction of one snapshot', async () => {
  const { rows } = await people.api.database.owner.query<{ name: string }>(
    `select distinct p.proname as name from pg_proc p
     join pg_trigger t on t.tgfoid = p.oid
     where p.pronamespace = 'public'::regnamespace and p.prosrc ~* '\\mexists\\M'
       and p.prosrc !~ 'require_read_committed'`,
  )
  expect(rows.map(({ name }) => name)).toEqual([])
})

test.each(['repeatable read', 'serializable'])(
  "a member who is removed meanwhile is not put back by the API's login: %s",
  async (isolation) => {
    const owner = await people.signUp(`Ada ${randomUUID()}`)
    const helper = await people.signUp(`Bob ${randomUUID()}`)
    const { database } = people.api
    const { rows: persons } = await database.owner.query<{ id: string }>(
      'select id from person where email = $1',
      [helper.email],
    )
    const id = randomUUID()
    await people.api.writeSealed(
      `insert into organization_member (id, organization_id, user_id, role, created_at) values ($1, $2, $3, 'admin', now())`,
      [id, owner.merchantId, persons[0]?.id],
    )
    const thief = new pg.Client({ connectionString: database.urls.api })
    await thief.connect()
    try {
      await thief.query(`begin isolation level ${isolation}`)
      const { rows } = await thief.query('select * from organization_member where id = $1', [id])
      await database.pools.api.query('delete from organization_member where id = $1', [id])
      const { organization_id, user_id, role, seal, created_at } = rows[0]
      await expect(
        thief.query(
          `insert into organization_member (id, organization_id, user_id, role, seal, created_at) values ($1, $2, $3, $4, $5, $6)`,
          [id, organization_id, user_id, role, seal, created_at],
        ),
      ).rejects.toThrow('read committed')
    } finally {
      await thief.end()
    }
    const { rowCount } = await database.owner.query('select from organization_member where id = $1', [id])
    expect(rowCount).toBe(0)
  },
)

test('a member put back by an insert that waits for the removal is refused as well', async () => {
  const owner = await people.signUp(`Ada ${randomUUID()}`)
  const helper = await people.signUp(`Bob ${randomUUID()}`)
  const { database } = people.api
  const { rows: persons } = await database.owner.query<{ id: string }>(
    'select id from person where email = $1',
    [helper.email],
  )
  const id = randomUUID()
  await people.api.writeSealed(
    `insert into organization_member (id, organization_id, user_id, role, created_at) values ($1, $2, $3, 'admin', now())`,
    [id, owner.merchantId, persons[0]?.id],
  )
  const [honest, thief] = [database.urls.api, database.urls.api].map(
    (connectionString) => new pg.Client({ connectionString }),
  )
  if (honest === undefined || thief === undefined) throw new Error('there are two')
  await Promise.all([honest.connect(), thief.connect()])
  try {
    const { rows } = await thief.query('select * from organization_member where id = $1', [id])
    const { organization_id, user_id, role, seal, created_at } = rows[0]
    const { rows: pids } = await thief.query('select pg_backend_pid() as pid')
    await honest.query('begin')
    await honest.query('delete from organization_member where id = $1', [id])
    const inserting = thief.query(
      `insert into organization_member (id, organization_id, user_id, role, seal, created_at) values ($1, $2, $3, $4, $5, $6)`,
      [id, organization_id, user_id, role, seal, created_at],
    )
    const refused = expect(inserting).rejects.toThrow('was removed')
    const isWaiting = async () =>
      (await database.owner.query('select from pg_locks where not granted and pid = $1', [pids[0]?.pid]))
        .rowCount === 1
    await until(isWaiting, { what: 'the insert waits' })
    await honest.query('commit')
    await refused
  } finally {
    await Promise.all([honest.end(), thief.end()])
  }
})

test('each guard of removals looks once more after an insert', async () => {
  const { rows } = await people.api.database.owner.query(
    `select t.tgrelid::regclass::text as table, p.proname as guard,
       count(*) filter (where t.tgtype & 2 <> 0)::int as before, count(*) filter (where t.tgtype & 2 = 0)::int as after
     from pg_trigger t join pg_proc p on p.oid = t.tgfoid
     where p.proname in ('refuse_access_gone', 'refuse_password_gone') and t.tgtype & 4 <> 0
     group by 1, 2 order by 1`,
  )
  expect(rows).toEqual(
    ['organization_member', 'person_account', 'person_passkey', 'person_session', 'person_two_factor'].map(
      (table) => ({
        table,
        guard: table === 'person_account' ? 'refuse_password_gone' : 'refuse_access_gone',
        before: 1,
        after: 1,
      }),
    ),
  )
})
