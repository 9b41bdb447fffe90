import { readdir, readFile, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, makeDataDir, startApp } from '../support/app.ts'
import { readRootFile } from '../support/root-file.ts'
import { until } from '../support/until.ts'

/** The sandbox as a person starts it: the built program, its own database, all roles. */

const PAID_MS_MAX = 120_000
let place: Awaited<ReturnType<typeof makeDataDir>>
let app: App
beforeAll(async () => {
  place = await makeDataDir()
  app = await startApp(place)
})
afterAll(async () => {
  await app.stop()
  await place.remove()
})

type Invoice = { id: string; status: string; checkout_url: string; address: string }
const createInvoice = async (changes: object = {}): Promise<Invoice> => {
  const { status, body } = await app.api('POST', '/api/v1/invoices', {
    usd_amount: '12.50',
    asset: 'LTC',
    ...changes,
  })
  expect(status).toBe(201)
  return body as Invoice
}
const statusOf = async (id: string): Promise<string> =>
  ((await app.api('GET', `/api/v1/invoices/${id}`)).body as Invoice).status

test('the start prints everything that the first five minutes need', async () => {
  const printed = app.stdout()
  expect(printed).toContain('sign-up is open to anybody (SIGN_UP=open)')
  expect(printed).toMatch(/Base URL +http:\/\/localhost:\d+/)
  expect(printed).toMatch(/Test API key +sk_test_\w+/)
  expect(printed).toMatch(/curl -s .*\/api\/v1\/invoices/)
  expect(printed).toMatch(/Dashboard +http:\/\/localhost:\d+\/dashboard\//)
  const page = await fetch(app.checkoutUrl.replace(/^http:\/\/localhost:\d+/, app.baseUrl))
  expect(page.status).toBe(200)
  expect(await page.text()).toContain('Demo Shop')
})

test('an invoice made over HTTP is paid on the sandbox chain through the production path', async () => {
  const invoice = await createInvoice()
  const paid = await app.api('POST', `/api/v1/test/invoices/${invoice.id}/pay`, { scenario: 'exact' })
  expect(paid.status).toBe(200)
  await until(async () => (await statusOf(invoice.id)) === 'paid', { timeoutMs: PAID_MS_MAX })
})

test('health, readiness and figures are served, the figures on their own port', async () => {
  expect(await (await fetch(`${app.baseUrl}/healthz`)).json()).toEqual({ status: 'ok' })
  const ready = await fetch(`${app.baseUrl}/readyz`)
  expect(ready.status).toBe(200)
  expect(await ready.json()).toMatchObject({
    status: 'ready',
    database: 'ok',
    networks: { 'litecoin-test': { status: 'ok' }, 'bitcoin-test': { status: 'ok' } },
  })
  const metrics = await (await fetch(`${app.operatorUrl}/metrics`)).text()
  expect(metrics).toContain('paylink_network_ok{name="litecoin-test"} 1')
  expect(metrics).toContain('paylink_http_request_seconds_count')
  expect((await fetch(`${app.baseUrl}/metrics`)).status).toBe(404)
})

test('every figure that alerts, dashboard and guides name is served', async () => {
  const files = [
    'deploy/prometheus/alerts.yaml',
    'deploy/grafana/paylink.json',
    'docs/operating.md',
    'docs/operating-webhooks.md',
    'docs/payouts.md',
  ]
  const named = await Promise.all(
    files.map(async (path) => (await readRootFile(path)).match(/\bpaylink_[a-z0-9_]+\b/g) ?? []),
  )
  const names = new Set(named.flat().filter((name) => !/^paylink_(api|watcher|delivery|signer)$/.test(name)))
  expect(names.size).toBeGreaterThan(15)
  const text = await (await fetch(`${app.operatorUrl}/metrics`)).text()
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? ['_bucket', '_count', '_sum'].map((part) => name + part).concat(name) : [name],
  )
  expect([...names].filter((name) => !types.includes(name))).toEqual([])
  // Those that are there only once something happened: an attempt, an email, an audit, a backup, a read hot wallet.
  const later =
    /^paylink_(delivery_(attempts|unrecorded)_total|buyer_emails_total|audit_\w+|backup_last_run_seconds|hot_wallet_low|fee_payer_low|http_request_seconds)$/
  const shown = new Set(text.split('\n').map((line) => /^[a-z0-9_]+/.exec(line)?.[0]))
  expect([...names].filter((name) => !later.test(name) && !shown.has(name))).toEqual([])
  expect(text).toContain('paylink_signer_active 1\n')
  expect(
    Number(/paylink_network_read_age_seconds\{name="litecoin-test"\} (\S+)/.exec(text)?.[1]),
  ).toBeLessThan(60)
})

test('two merchants and their keys are made by commands while it runs, and see nothing of each other', async () => {
  const keys: string[] = []
  for (const name of ['First', 'Second']) {
    const merchant = await app.command(
      'merchant',
      'create',
      '--name',
      name,
      '--email',
      'a@shop.example',
      '--json',
    )
    expect(merchant.code).toBe(0)
    const { id } = JSON.parse(merchant.stdout)
    expect(id).toMatch(/^mer_[0-9a-z]{26}$/)
    const scopes = 'invoices:read,invoices:write'
    const key = await app.command(
      'key',
      'create',
      '--merchant',
      id,
      '--mode',
      'test',
      '--scopes',
      scopes,
      '--json',
    )
    expect(JSON.parse(key.stdout)).toMatchObject({ merchant_id: id, livemode: false })
    keys.push(JSON.parse(key.stdout).key)
  }
  const [first, second] = keys
  const ask = (key: string | undefined, path: string, init: RequestInit = {}) =>
    fetch(app.baseUrl + path, {
      ...init,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    })
  const body = JSON.stringify({ usd_amount: '5.00', asset: 'LTC' })
  const made = (await (await ask(first, '/api/v1/invoices', { method: 'POST', body })).json()) as Invoice
  expect((await ask(first, `/api/v1/invoices/${made.id}`)).status).toBe(200)
  expect((await ask(second, `/api/v1/invoices/${made.id}`)).status).toBe(404)
})

test('a command that cannot be done says why in one line, with exit code 2', async () => {
  const wrong = [
    ['key', 'create', '--merchant', 'mer_unknown', '--mode', 'test'],
    ['key', 'create', '--merchant', 'mer_unknown', '--mode', 'both'],
    ['key', 'create', '--merchant', 'mer_unknown', '--mode', 'test', '--scopes', 'everything'],
    ['merchant', 'create', '--name', '', '--email', 'a@shop.example'],
    ['merchant', 'create', '--name', 'Shop', '--email', 'nobody'],
    ['merchant', 'create', '--email', 'a@shop.example'],
    ['no-such-command'],
  ]
  for (const args of wrong) {
    const { code, stderr } = await app.command(...args)
    expect({ args, code }).toEqual({ args, code: 2 })
    expect(stderr.trim().split('\n')).toHaveLength(1)
  }
})

test('migrate, doctor and audit work beside the running service and find nothing wrong', async () => {
  const migrated = await app.command('migrate')
  expect(migrated).toMatchObject({ code: 0, stdout: 'the database is up to date\n' })
  const doctor = await app.command('doctor')
  expect(doctor.stdout).toContain('✓ litecoin-test: runs on the sandbox chain')
  expect(doctor).toMatchObject({ code: 0 })
  const audit = await app.command('audit', '--json')
  const report = JSON.parse(audit.stdout)
  expect(report.checks.filter((check: { status: string }) => check.status !== 'ok')).toEqual([])
  expect(report.ok).toBe(true)
  expect(audit.code).toBe(0)
  // It is sealed with the key of the installation, by which the page knows it.
  const page = await fetch(`${app.baseUrl}/audit.json`)
  expect(await page.json()).toMatchObject({ last_run_at: expect.any(String), discrepancies: 0 })
})

test('everything secret in the data folder is readable by its owner only', async () => {
  const files = (await readdir(app.dataDir, { recursive: true })).filter(
    (name) => !name.startsWith('postgres/'),
  )
  for (const name of files) {
    const { mode } = await stat(join(app.dataDir, name))
    // The folder itself may be passed through by the user that PostgreSQL runs as; nothing in it may be read but
    // public keys, which the API and the signer read of each other, and which nobody else may write.
    const isPublic = ['address-keys.json', 'approval-key', 'outcome-key'].includes(name)
    const forbidden = isPublic ? 0o022 : 0o066
    expect({ name, others: mode & forbidden }).toEqual({ name, others: 0 })
  }
  expect(files).toEqual(
    expect.arrayContaining(['secret-key', 'database-roles.json', 'postgres.json', 'sandbox.json']),
  )
})

test('neither output nor log holds a secret, but for the test key that the start is there to print', async () => {
  const { password } = JSON.parse(await readFile(join(app.dataDir, 'postgres.json'), 'utf8'))
  const roles = Object.values(JSON.parse(await readFile(join(app.dataDir, 'database-roles.json'), 'utf8')))
  const secretKey = (await readFile(join(app.dataDir, 'secret-key'), 'utf8')).trim()
  const written = app.stdout() + app.stderr()
  for (const secret of [password, ...roles, secretKey]) expect(written).not.toContain(secret)
  expect(app.stderr()).not.toContain(app.apiKey)
})

describe('stopping', () => {
  test('a request in flight is answered before the process ends, and a new one is refused', async () => {
    const second = await makeDataDir()
    const stopping = await startApp(second)
    const body = JSON.stringify({ usd_amount: '5.00', asset: 'LTC' })
    const socket = connect(Number(new URL(stopping.baseUrl).port), '127.0.0.1')
    let answer = ''
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text
    })
    // Headers and half of the body: the request has begun and cannot be answered yet.
    socket.write(
      `POST /api/v1/invoices HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${stopping.apiKey}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
    )
    await until(() => socket.bytesWritten > 0 && !socket.connecting, { timeoutMs: 5_000 })
    // The server has taken the connection once it answers another one after it.
    await fetch(`${stopping.baseUrl}/healthz`)
    stopping.signal('SIGTERM')
    await until(
      async () => {
        try {
          await fetch(`${stopping.baseUrl}/healthz`, { headers: { connection: 'close' } })
          return false
        } catch {
          return true
        }
      },
      { timeoutMs: 10_000 },
    )
    socket.write(body.slice(10))
    expect(await stopping.exited()).toBe(0)
    expect(answer).toMatch(/^HTTP\/1\.1 201 /)
    await second.remove()
  })
})
