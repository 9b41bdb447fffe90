import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, makeDataDir, startApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

/** security.md, row 1: what is given out once is stored nowhere, and what is revoked is dead. */

const REVOKED_MS_MAX = 1_000
const SCOPES = 'invoices:read,invoices:write,webhooks:read,webhooks:write'

let database: TestDatabase
let place: Awaited<ReturnType<typeof makeDataDir>>
let app: App
let merchantId: string
beforeAll(async () => {
  database = await createTestDatabase()
  place = await makeDataDir()
  const env = { DATABASE_URL: database.ownerUrl, LOG_LEVEL: 'trace', WEBHOOK_ALLOW_PRIVATE: '1' }
  app = await startApp({ ...place, env })
  const made = await app.command('merchant', 'create', '--name', 'Shop', '--email', 'a@b.example', '--json')
  merchantId = JSON.parse(made.stdout).id
})
afterAll(async () => {
  await app.stop()
  await place.remove()
  await database.drop()
})

async function makeKey(mode = 'test'): Promise<{ id: string; key: string }> {
  const made = await app.command(
    ...['key', 'create', '--merchant', merchantId, '--mode', mode, '--scopes', SCOPES, '--json'],
  )
  expect(made.code).toBe(0)
  return JSON.parse(made.stdout)
}

async function ask(key: string, method: string, path: string, body?: object) {
  const response = await fetch(`${app.baseUrl}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': `${method}${path}`,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}

test('keys are listed by id, never whole; a revoked one is dead within a second, the others are not', async () => {
  const [ended, other] = [await makeKey(), await makeKey('live')]
  expect((await ask(ended.key, 'GET', '/invoices')).status).toBe(200)
  const revoked = await app.command('key', 'revoke', ended.id, '--json')
  expect(JSON.parse(revoked.stdout)).toEqual({
    id: ended.id,
    merchant_id: merchantId,
    revoked_at: expect.stringMatching(/Z$/),
  })
  await pause(REVOKED_MS_MAX)
  const refused = await ask(ended.key, 'GET', '/invoices')
  expect([refused.status, refused.body.error.code]).toEqual([401, 'api_key_invalid'])
  expect((await ask(other.key, 'GET', '/invoices')).status).toBe(200)
  const again = await app.command('key', 'revoke', ended.id, '--json')
  expect([again.code, again.stdout]).toEqual([0, revoked.stdout])

  const listed = await app.command('key', 'list', '--merchant', merchantId, '--json')
  expect(JSON.parse(listed.stdout)).toMatchObject({
    merchant_id: merchantId,
    keys: [
      { id: ended.id, livemode: false, scopes: SCOPES.split(','), revoked_at: expect.any(String) },
      { id: other.id, livemode: true, revoked_at: null },
    ],
  })
  const words = await app.command('key', 'list', '--merchant', merchantId)
  expect(words.stdout).toMatch(new RegExp(`^${ended.id} +test +created \\S+ +revoked \\S+ +invoices:read`))
  expect(listed.stdout + words.stdout).not.toContain('sk_')
})

test('a key or merchant that is not known is said in one line, with exit code 2', async () => {
  for (const args of [
    ['key', 'revoke', 'key_00000000000000000000000000'],
    ['key', 'revoke'],
    ['key', 'list', '--merchant', 'mer_none'],
  ]) {
    const { code, stderr } = await app.command(...args)
    expect([code, stderr.trim().split('\n').length]).toEqual([2, 1])
  }
})

test('no secret that was ever issued is in the database or in a log, in any spelling', async () => {
  const secrets = new Map<string, string>()
  const { key } = await makeKey()
  secrets.set('the API key', key)
  secrets.set("the demo shop's key", app.apiKey)
  const invoice = await ask(key, 'POST', '/invoices', { usd_amount: '5.00', asset: 'LTC' })
  expect(invoice.status).toBe(201)
  secrets.set('the checkout token', tokenOf(invoice.body.checkout_url))
  secrets.set("the demo checkout's token", tokenOf(app.checkoutUrl))
  const url = 'http://127.0.0.1:9/hook'
  const endpoint = await ask(key, 'POST', '/webhook-endpoints', { url, subscribed_events: ['*'] })
  expect(endpoint.status).toBe(201)
  secrets.set('the signing secret', endpoint.body.secret)
  const path = `/webhook-endpoints/${endpoint.body.id}`
  const rotated = await ask(key, 'POST', `${path}/rotate-secret`, { grace_seconds: 60 })
  expect(rotated.status).toBe(200)
  secrets.set('the rotated secret', rotated.body.secret)
  expect((await ask(key, 'POST', `${path}/verify`, {})).status).toBe(422)
  secrets.set('the sealing key', (await readFile(join(place.dataDir, 'secret-key'), 'utf8')).trim())
  secrets.set('the signer key', (await readFile(join(place.dataDir, 'signer/key'), 'utf8')).trim())
  await fetch(`${app.baseUrl}/i/${secrets.get('the checkout token')}`)

  const places = [
    { name: 'the log', text: app.stderr() },
    { name: 'the database', text: await dumpOf(database) },
  ]
  // The sieve itself works: what is no secret is found.
  expect(places[1]?.text).toContain(merchantId)
  expect(places[1]?.text).toContain(url)
  expect(places[0]?.text).toContain('"msg"')
  const found = places.flatMap(({ name, text }) =>
    [...secrets]
      .filter(([, secret]) => spellings(secret).some((spelling) => text.includes(spelling)))
      .map(([what]) => `${what} in ${name}`),
  )
  expect(found).toEqual([])
})

const tokenOf = (url: string): string => url.slice(url.lastIndexOf('/') + 1)

/** A secret as it is, and as a column of bytes or a careless log would show it. */
function spellings(secret: string): string[] {
  expect(secret.length).toBeGreaterThan(20)
  const bytes = Buffer.from(secret)
  const random = secret.replace(/^(sk_test_|sk_live_|whsec_)/, '')
  return [secret, random, bytes.toString('hex'), bytes.toString('base64').replace(/=+$/, '').slice(0, -2)]
}

/** Every row of every table as text; columns of bytes are hexadecimal. */
async function dumpOf({ owner }: TestDatabase): Promise<string> {
  const { rows: tables } = await owner.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  expect(tables.length).toBeGreaterThan(20)
  const parts = await Promise.all(
    tables.map(async ({ name }) => {
      const { rows } = await owner.query<{ text: string }>(`select t::text as text from ${name} t`)
      return rows.map(({ text }) => text).join('\n')
    }),
  )
  return parts.join('\n')
}
