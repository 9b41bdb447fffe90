import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { keepDirectory } from '../../src/directory/keep-directory.ts'
import { emailLookup } from '../../src/directory/lookup.ts'
import { drainCell } from '../../src/directory/registry.ts'
import { CONNECTION_MS_MAX, openSignInDirectory } from '../../src/directory/sign-in-directory.ts'
import { openPool, type Pool } from '../../src/postgres/pool.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { createTestDirectory, DIRECTORY_KEY, type TestDirectory } from '../support/cell-directory.ts'
import { createTestPeople, PASSWORD, type TestPeople } from '../support/people.ts'
import { startSilentServer } from '../support/silent-server.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

/** The directory of three cells, of which this process is cell 0: its rows, and what the sign-in makes of them. */

const key = Buffer.from(DIRECTORY_KEY, 'hex')
const log = createLogger('silent', 'stderr')
const PATIENT = { answerMsMax: 60_000 }
const opened: Pool[] = []
const readers: { stop(): Promise<void> }[] = []
let directory: TestDirectory
let people: TestPeople
let asked: string[]
beforeAll(async () => {
  directory = await createTestDirectory({ 0: 100, 3: 100, 7: 100 })
  await directory.database.owner.query('update cell set reported_at = now()')
  asked = []
  people = await createTestPeople({}, { directory: directoryAt(directory.urlOf(0), asked) })
})
afterAll(async () => {
  await people.drop()
  await Promise.all(readers.map((reader) => reader.stop()))
  await Promise.all(opened.map((pool) => pool.end()))
  await directory.drop()
})

/** It has all the time that a busy machine takes, unless how long it has is what is tested. */
function directoryAt(
  connectionString: string,
  texts: string[] = [],
  limits: { answerMsMax?: number } = PATIENT,
) {
  const pool = openPool({
    connectionString,
    applicationName: 'paylink-test',
    max: 4,
    onError: () => {},
    ...(limits === PATIENT ? {} : { connectMsMax: CONNECTION_MS_MAX, answerMsMax: CONNECTION_MS_MAX }),
  })
  opened.push(pool)
  const query = (text: string, values: unknown[]) => {
    texts.push(text)
    return pool.query(text, values)
  }
  const clients = { query } as unknown as Pool
  const reader = openSignInDirectory({ pool: clients, key, ownCell: 0, log, ...limits })
  readers.push(reader)
  return reader
}

const owner = () => directory.database.owner
/** Somebody who signs in there, as that cell writes it. */
const put = (email: string, cell: number, isVerified = true) =>
  owner().query(`insert into person_cell (lookup, cell, is_verified) values (decode($1, 'hex'), $2, $3)`, [
    emailLookup(key, email),
    cell,
    isVerified,
  ])
/** An address that nobody has and that is answered in this cell, or one that is not. */
async function unknownAt(cell: number, from = 0): Promise<string> {
  const reader = directoryAt(directory.urlOf(0))
  for (let number = from; ; number += 1) {
    const email = `nobody${number}@example.com`
    if ((await reader.cellOfEmail(email)) === cell) return email
  }
}
const signIn = (email: string, more: object = {}) =>
  people.browser().ask('POST', '/api/auth/sign-in/email', { email, password: 'a wrong password', ...more })

test('an address leads to its cell, in one spelling of all, and an unknown one always to the same', async () => {
  await put('three@example.com', 3)
  const answer = await signIn(' Three@EXAMPLE.com')
  expect([answer.status, answer.headers.get('paylink-cell'), answer.headers.getSetCookie()]).toEqual([
    421,
    '03',
    ['paylink_cell=03; Path=/; Max-Age=31536000; SameSite=Lax; HttpOnly'],
  ])
  expect(answer.body).toMatchObject({ code: 'CELL_WRONG' })
  const reset = await people
    .browser()
    .ask('POST', '/api/auth/request-password-reset', { email: 'three@example.com' })
  expect([reset.status, reset.headers.get('paylink-cell')]).toEqual([421, '03'])
  const unknown = await unknownAt(7, 1_000)
  for (const _ of [1, 2]) expect((await signIn(unknown)).headers.get('paylink-cell')).toBe('07')
  expect((await signIn('three@example.com', { here: true })).status).toBe(401)
  // Who signed up a moment ago is led there by a cell that was asked a moment before.
  await put(unknown, 3)
  expect((await signIn(unknown)).headers.get('paylink-cell')).toBe('03')
})

test('no answer and no statement says whether anybody has an address', async () => {
  await people.signUp('Known Here')
  await put('known.here@example.com', 0)
  await put('known.there@example.com', 3)
  const bare = async (email: string) => {
    asked.length = 0
    const { status, headers, text } = await signIn(email)
    const tag = /0[037]/g
    const lines = [...headers].map(([name, value]) => `${name}: ${value.replace(tag, 'NN')}`)
    return { status, text, lines, asked: asked.filter((one) => !one.includes('from cell')) }
  }
  const [there, nowhere] = [await bare('known.there@example.com'), await bare(await unknownAt(3))]
  expect(there.status).toBe(421)
  expect(nowhere).toEqual(there)
  const [here, unknown] = [await bare('known.here@example.com'), await bare(await unknownAt(0))]
  expect(here.status).toBe(401)
  expect(unknown).toEqual(here)
  // Somebody with accounts in two cells is answered in one of them, as everybody else.
  await put('both@example.com', 3)
  await put('both@example.com', 0)
  expect((await signIn('both@example.com')).headers.get('paylink-cell')).toBe('03')
})

test('who confirmed an address goes before who did not, and then who was first', async () => {
  await put('squatted@example.com', 7, false)
  await put('squatted@example.com', 3)
  const reader = directoryAt(directory.urlOf(0))
  expect(await reader.cellOfEmail('squatted@example.com')).toBe(3)
  expect(await reader.otherCellsOf('squatted@example.com')).toEqual([3])
})

test('the choice of shops hears the other cells of a confirmed address', async () => {
  const { browser, email } = await people.signUp('In Two Cells')
  await put(email, 3)
  const others = async () => (await browser.ask('GET', '/api/auth/other-cells')).body
  expect(await others()).toEqual({ cells: [{ number: 3, tag: '03' }] })
  await people.api.writeSealed('update person set email_verified = false where email = $1', [email])
  expect(await others()).toEqual({ cells: [] })
})

test('a guess is counted where the password is judged, and a client is sent on twenty times a minute', async () => {
  const { email } = await people.signUp('Guessed At')
  await put(email, 3)
  const client = people.browser()
  const ask = () => client.ask('POST', '/api/auth/sign-in/email', { email, password: 'a wrong password' })
  const statuses = []
  for (let count = 0; count < 21; count += 1) statuses.push((await ask()).status)
  expect(statuses).toEqual([...Array(20).fill(421), 429])
  const right = await people
    .browser()
    .ask('POST', '/api/auth/sign-in/email', { email, password: PASSWORD, here: true })
  expect(right.status).toBe(200)
})

test('a flood of unknown addresses costs one look each, and the list of cells hardly any', async () => {
  const texts: string[] = []
  const reader = directoryAt(directory.urlOf(0), texts)
  for (let round = 0; round < 2; round += 1)
    for (let at = 0; at < 500; at += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, index) => reader.cellOfEmail(`flood${at + index}@example.com`)),
      )
  const looks = texts.filter((text) => text.includes('person_cell')).length
  expect(looks).toBeGreaterThanOrEqual(500)
  expect(looks).toBeLessThanOrEqual(1_000)
  // Those that came at the same moment asked for it at the same moment.
  expect(texts.length - looks).toBeLessThan(500)
})

test('a directory that lies leads to no cell that is not registered', async () => {
  await owner().query('alter table person_cell drop constraint person_cell_cell_fkey')
  await put('lied.about@example.com', 999)
  const reader = directoryAt(directory.urlOf(0))
  expect([0, 3, 7]).toContain(await reader.cellOfEmail('lied.about@example.com'))
  await owner().query('delete from person_cell where cell = 999')
  await owner().query(
    'alter table person_cell add constraint person_cell_cell_fkey foreign key (cell) references cell',
  )
})

test('a directory that is dead or hangs keeps one sign-in waiting, and is used again once it is back', async () => {
  const silent = await startSilentServer()
  const proxy = await startTcpProxy(silent.port)
  const url = new URL(directory.urlOf(0))
  const server = Number(url.port)
  url.port = String(proxy.port)
  const reader = directoryAt(url.href, [], {})
  expect(await reader.cellOfEmail('three@example.com')).toBe(null)
  for (let count = 0; count < 50; count += 1)
    expect(await reader.cellOfEmail(`other${count}@example.com`)).toBe(null)
  // One of the first sign-in, and those by which it is looked for.
  expect(silent.connections()).toBeLessThan(10)
  expect(await reader.cellForNewAccount()).toBe(null)
  proxy.aim(server)
  await until(async () => (await reader.cellOfEmail('three@example.com')) === 3)
  // Cut while a connection is open: the statement hangs, and its connection is given up.
  proxy.cut()
  await until(async () => (await reader.cellOfEmail('cut.off@example.com')) === null)
  proxy.aim(server)
  await until(async () => (await reader.cellOfEmail('three@example.com')) === 3)
  await proxy.close()
  await silent.close()
  await until(async () => (await reader.cellOfEmail('gone@example.com')) === null)
  const alone = await createTestPeople({}, { directory: reader })
  const { email } = await alone.signUp('Signs In Anyway')
  const tryIn = (body: object) => alone.browser().ask('POST', '/api/auth/sign-in/email', body)
  expect((await tryIn({ email, password: PASSWORD })).status).toBe(200)
  // Whoever is refused may be known elsewhere, and hears so, whether anybody has the address here or not.
  const refused = await tryIn({ email, password: 'a wrong password' })
  expect([refused.status, refused.body]).toEqual([
    401,
    {
      code: 'CELL_UNKNOWN',
      message:
        'Wrong email or password, or your account is on another server that cannot be found just now. Try again in a minute.',
    },
  ])
  const unknown = await tryIn({ email: 'elsewhere@example.com', password: PASSWORD })
  expect([unknown.status, unknown.text]).toEqual([401, refused.text])
  const reset = (address: string) =>
    alone.browser().ask('POST', '/api/auth/request-password-reset', { email: address })
  const [known, nobody] = [await reset(email), await reset('elsewhere@example.com')]
  expect([known.status, known.body.code]).toEqual([503, 'CELL_UNKNOWN'])
  expect(nobody.text).toBe(known.text)
  const passkeyFrom = async (served: TestPeople) => {
    const client = served.browser()
    await client.ask('GET', '/api/auth/passkey/generate-authenticate-options')
    const response = { id: 'of-no-cell', rawId: 'of-no-cell', type: 'public-key', response: {} }
    const { status, body } = await client.ask('POST', '/api/auth/passkey/verify-authentication', { response })
    return [status, body.code]
  }
  expect(await passkeyFrom(alone)).toEqual([401, 'CELL_UNKNOWN'])
  expect(await passkeyFrom(people)).toEqual([401, 'PASSKEY_NOT_FOUND'])
  const here = await tryIn({ email, password: 'a wrong password', here: true })
  expect([here.status, here.body.code]).toEqual([401, 'INVALID_EMAIL_OR_PASSWORD'])
  await alone.drop()
})

test('a new account goes where most room is free and to no cell that drains, or stays where it is asked to', async () => {
  await owner().query(
    'update cell set reported_at = now(), merchants = case number when 3 then 10 else 90 end',
  )
  const signUp = (name: string, more: object = {}) => {
    const body = { name, email: `${name}@example.com`, password: PASSWORD, ...more }
    return people.browser().ask('POST', '/api/auth/sign-up/email', body)
  }
  const placed = () => directoryAt(directory.urlOf(0)).cellForNewAccount()
  expect(await placed()).toBe(3)
  // What is remembered is two seconds old at most.
  await until(async () => (await signUp('placed')).headers.get('paylink-cell') === '03')
  expect((await signUp('stays', { here: true })).status).toBe(200)
  await drainCell(owner(), 3)
  expect(await placed()).toBe(0)
  await owner().query(`update cell set reported_at = now() - interval '1 hour' where number = 0`)
  expect(await placed()).toBe(7)
  await owner().query('update cell set merchants = room where number <> 3')
  expect(await placed()).toBe('full')
  await until(async () => (await signUp('full')).status === 403)
  // Nor does a link into it open one there, but for who is invited to a shop of this cell.
  expect((await signUp('full.here', { here: true })).status).toBe(403)
  const { merchantId, userId } = await people.api.deps.pool
    .query<{ merchantId: string; userId: string }>(
      'select organization_id as "merchantId", user_id as "userId" from organization_member limit 1',
    )
    .then(({ rows }) => rows[0] ?? { merchantId: '', userId: '' })
  await people.api.database.owner.query(
    `insert into organization_invitation (id, organization_id, email, role, status, expires_at, inviter_id, created_at)
     values ('full', $1, 'invited@example.com', 'member', 'pending', now() + interval '1 day', $2, now())`,
    [merchantId, userId],
  )
  expect((await signUp('invited', { here: true })).status).toBe(200)
  await owner().query(`update cell set state = 'open', merchants = 0, reported_at = now()`)
  await until(async () => (await signUp('opened-again')).status === 200)
})

test('how long a cell has been silent is counted by the clock of the directory', async () => {
  await owner().query(
    `update cell set merchants = 50, reported_at = now() - case number when 7 then interval '1 hour' else interval '1 second' end`,
  )
  await owner().query('update cell set merchants = 0 where number = 7')
  // A process whose clock is an hour ahead takes no cell for dead, and one that is dead for alive neither.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
  const placed = await directoryAt(directory.urlOf(0)).cellForNewAccount()
  vi.useRealTimers()
  expect(placed).toBe(0)
  // What a cell writes is no reason to fail.
  await owner().query(`update cell set reported_at = 'infinity' where number = 7`)
  expect(await directoryAt(directory.urlOf(0)).cellForNewAccount()).toBe(7)
})

test('a cell writes all of its people, passkeys and merchants, then changes, and all again after a loss', async () => {
  const pool = openPool({
    connectionString: directory.urlOf(0),
    applicationName: 'paylink-test',
    max: 1,
    onError: () => {},
  })
  opened.push(pool)
  const cell = people.api.deps.pool
  const keep = () => keepDirectory({ pool: cell, directory: pool, key, cell: 0, log })
  const rows = async (table: string) =>
    (await owner().query(`select to_jsonb(r) - 'since' as row from ${table} r where cell = 0 order by 1`))
      .rows
  const counts = async () => {
    const { rows: found } = await owner().query<{ people: number; merchants: number }>(
      `select (select count(*) from person_cell where cell = 0) as people,
         (select count(*) from merchant_cell where cell = 0) as merchants`,
    )
    return found[0]
  }
  const { rows: own } = await cell.query<{ people: number; merchants: number }>(
    'select (select count(*) from person) as people, (select count(*) from organization) as merchants',
  )
  const writers = [keep(), keep()]
  await until(async () => (await counts())?.people === own[0]?.people)
  expect(await counts()).toEqual(own[0])
  const all = JSON.stringify(await rows('person_cell'))
  expect(all).not.toContain('example.com')

  const { email, merchantId } = await people.signUp('Comes Later')
  const reader = directoryAt(directory.urlOf(0))
  await until(async () => (await rows('merchant_cell')).some(({ row }) => row.merchant_id === merchantId))
  expect(await reader.cellOfEmail(email)).toBe(0)
  await people.api.database.owner.query(
    `insert into person_passkey (id, user_id, public_key, credential_id, counter, device_type, backed_up)
     select 'pk', id, 'key', 'credential', 0, 'singleDevice', false from person where email = $1`,
    [email],
  )
  await until(async () => (await reader.cellOfPasskey('credential')) === 0)
  await people.api.database.owner.query('delete from person_passkey')
  // What says that all cells look up with the same key.
  await until(async () => (await rows('passkey_cell')).length === 1)
  // One that the directory has no room for keeps no other from it.
  await people.api.database.owner.query(`update organization set name = repeat('n', 2000) where id = $1`, [
    merchantId,
  ])
  await until(async () => (await cell.query('select from directory_change')).rowCount === 0)
  const before = [await rows('person_cell'), await rows('merchant_cell')]

  // Lost with all that it held, its logins kept: the next change finds out, or the report of a minute later.
  await owner().query('truncate cell, person_cell, passkey_cell, merchant_cell')
  await people.signUp('Finds Out')
  await until(async () => (await rows('person_cell')).length === (before[0]?.length ?? 0) + 1)
  const { rows: cells } = await owner().query('select number, state, room, merchants from cell')
  expect(cells).toEqual([{ number: 0, state: 'open', room: 100, merchants: (before[1]?.length ?? 0) + 1 }])
  for (const writer of writers) await writer.stop()
})

test('a cell leads nobody away until all of its own people are in the directory, also in a new one', async () => {
  const empty = await createTestDirectory({ 0: 100, 3: 100, 7: 100 })
  const seen = empty.database.owner
  const reader = () => directoryAt(empty.urlOf(0))
  const emails = Array.from({ length: 20 }, (_, index) => `led${index}@example.com`)
  const led = async () => {
    const one = reader()
    return new Set(await Promise.all(emails.map((email) => one.cellOfEmail(email))))
  }
  await seen.query('update cell set reported_at = now() where number <> 0')
  expect(await led()).toEqual(new Set([null]))
  expect(await reader().cellForNewAccount()).toBe(null)

  // How many rows there were whenever the cell said that it had written them.
  await seen.query(`create table noted (people bigint);
    create function note() returns trigger language plpgsql security definer as $$
    begin insert into noted select count(*) from person_cell where cell = 0; return null; end $$;
    create trigger note after update of reported_at on cell for each row
    when (new.number = 0 and new.reported_at is not null) execute function note()`)
  const noted = async () =>
    (await seen.query<{ people: number }>('select people from noted')).rows.map(({ people: count }) => count)
  const pool = openPool({
    connectionString: empty.urlOf(0),
    applicationName: 'paylink-test',
    max: 1,
    onError: () => {},
  })
  opened.push(pool)
  const writer = keepDirectory({ pool: people.api.deps.pool, directory: pool, key, cell: 0, log })
  await until(async () => (await noted()).length > 0)
  expect(await led()).toEqual(new Set([0, 3, 7]))
  // Lost, made anew and registered by its operator: the next change finds it so.
  await seen.query('truncate cell, person_cell, passkey_cell, merchant_cell, noted')
  await seen.query(`insert into cell (number, state, room) values (0, 'open', 100), (3, 'open', 100)`)
  await people.signUp('Finds It New')
  await until(async () => (await noted()).length > 0)
  await writer.stop()
  const { rows } = await people.api.deps.pool.query<{ people: number }>(
    'select count(*) as people from person',
  )
  expect((await noted())[0]).toBe(rows[0]?.people)
  await pool.end()
  opened.splice(opened.indexOf(pool), 1)
  await empty.drop()
})
