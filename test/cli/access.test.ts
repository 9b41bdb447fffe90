import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashApiKey, newApiKey } from '../../src/secrets/new-api-key.ts'
import { type App, makeDataDir, startApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const KNOWN_MS_MAX = 120_000

let database: TestDatabase
let place: Awaited<ReturnType<typeof makeDataDir>>
let app: App
beforeAll(async () => {
  database = await createTestDatabase()
  place = await makeDataDir()
  app = await startApp({ ...place, env: { DATABASE_URL: database.ownerUrl } })
})
afterAll(async () => {
  await app.stop()
  await place.remove()
  await database.drop()
})

const check = async () => {
  const { code, stdout } = await app.command('access', 'check', '--json')
  return { code, ...JSON.parse(stdout) }
}

/** What the alert goes by. */
const refused = async () => {
  const metrics = await (await fetch(`${app.operatorUrl}/metrics`)).text()
  return Number(/^paylink_access_rows_refused (\d+)$/m.exec(metrics)?.[1])
}

test('a key that was put in with SQL opens nothing and is named, until the operator accepts it', async () => {
  const owner = ['--name', 'Shop', '--email', 'a@b.example', '--json']
  const merchantId: string = JSON.parse((await app.command('merchant', 'create', ...owner)).stdout).id
  // The demo shop, its owner and key, and this one, are Paylink's own.
  expect(await check()).toEqual({ code: 0, ok: true, findings: [] })

  const key = newApiKey(false)
  await database.owner.query(
    `insert into api_key (merchant_id, id, livemode, key_hash, scopes, created_at)
     values ($1, 'key_forged', false, $2, '{invoices:read}', now())`,
    [merchantId, hashApiKey(key)],
  )
  const list = async () =>
    (await fetch(`${app.baseUrl}/api/v1/invoices`, { headers: { authorization: `Bearer ${key}` } })).status
  expect(await refused()).toBe(0)
  expect(await list()).toBe(401)
  expect(await refused()).toBeGreaterThan(0)
  await until(() => app.stderr().includes('api_key/key_forged'), { timeoutMs: KNOWN_MS_MAX })
  const finding = { subject: 'api_key/key_forged', detail: 'was not written by Paylink' }
  expect(await check()).toEqual({ code: 1, ok: false, findings: [{ merchant_id: merchantId, ...finding }] })
  const audited = await app.command('audit')
  expect(audited.code).toBe(1)
  expect(audited.stdout).toContain(`${merchantId} api_key/key_forged was not written by Paylink`)

  expect((await app.command('access', 'accept')).code).toBe(0)
  expect(await check()).toEqual({ code: 0, ok: true, findings: [] })
  expect(await list()).toBe(200)
})
