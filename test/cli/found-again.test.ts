import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isAlive } from '../../src/runtime/file-lock.ts'
import { type App, makeDataDir, runProgram, startApp } from '../support/app.ts'
import { until } from '../support/until.ts'

/** What was once answered is there after every kind of end. One installation goes through them, in this order. */

const PAID_MS_MAX = 120_000
const GONE_MS_MAX = 120_000
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

type Invoice = { id: string; status: string }

const makeInvoice = async (): Promise<Invoice> => {
  const { body } = await app.api('POST', '/api/v1/invoices', { usd_amount: '9.00', asset: 'LTC' })
  return body as Invoice
}
const readInvoice = async (id: string): Promise<Invoice> =>
  (await app.api('GET', `/api/v1/invoices/${id}`)).body as Invoice

test('a killed signer is started again while the rest goes on', { tags: ['ps'] }, async () => {
  const [signer] = childrenOf(app.pid)
  if (signer === undefined) throw new Error('there is no signer')
  process.kill(signer, 'SIGKILL')
  await until(() => childrenOf(app.pid).some((pid) => pid !== signer), { timeoutMs: GONE_MS_MAX })
  expect((await fetch(`${app.baseUrl}/readyz`)).status).toBe(200)
})

test('a database server that is killed under the service is started again, and the service goes on', async () => {
  process.kill(await postgresPid(place.dataDir), 'SIGKILL')
  await until(
    async () => {
      const { status } = await app.api('POST', '/api/v1/invoices', { usd_amount: '9.00', asset: 'LTC' })
      return status === 201
    },
    { timeoutMs: PAID_MS_MAX },
  )
})

test('a second start finds keys, invoices, money and chains again', async () => {
  const { apiKey, checkoutUrl } = app
  const { id } = await makeInvoice()
  await app.api('POST', `/api/v1/test/invoices/${id}/pay`, { scenario: 'exact' })
  await until(async () => (await readInvoice(id)).status === 'paid', { timeoutMs: PAID_MS_MAX })
  expect(await app.stop('SIGINT')).toBe(0)

  app = await startApp(place)
  expect(app.apiKey).toBe(apiKey)
  expect(pathOf(app.checkoutUrl)).toBe(pathOf(checkoutUrl))
  expect((await readInvoice(id)).status).toBe('paid')
  const audit = await app.command('audit', '--json')
  expect(JSON.parse(audit.stdout)).toMatchObject({ ok: true })
})

test('after kill -9 the signer ends by itself, and the next start finds everything again', {
  tags: ['ps'],
}, async () => {
  const { apiKey } = app
  const { id } = await makeInvoice()
  const signer = childrenOf(app.pid)
  expect(signer).toHaveLength(1)
  await app.kill()
  await until(() => signer.every((pid) => !isAlive(pid)), { timeoutMs: GONE_MS_MAX })

  app = await startApp(place)
  expect(app.apiKey).toBe(apiKey)
  expect(await readInvoice(id)).toMatchObject({ id })
  // The server that was left behind is ours again: it ends with this stop.
  const postgres = await postgresPid(place.dataDir)
  expect(await app.stop()).toBe(0)
  await until(() => !isAlive(postgres), { timeoutMs: GONE_MS_MAX })
})

test('a database server of another version is named with the fix', async () => {
  await app.stop()
  execFileSync('sh', ['-c', `echo 17 > ${join(place.dataDir, 'postgres', 'PG_VERSION')}`])
  const { code, stderr } = await runProgram(['start'], { DATA_DIR: place.dataDir })
  expect(stderr).toMatch(/^paylink: .* belongs to PostgreSQL 17 .*docs\/operating\.md/m)
  expect(code).toBe(1)
})

test('commands without a running service start the database for as long as they take', async () => {
  const fresh = await makeDataDir()
  const env = { DATA_DIR: fresh.dataDir }
  const runs = await Promise.all(
    ['One', 'Two', 'Three'].map((name) =>
      runProgram(['merchant', 'create', '--name', name, '--email', 'a@shop.example', '--json'], env),
    ),
  )
  expect(runs.map(({ code }) => code)).toEqual([0, 0, 0])
  const { code, stdout } = await runProgram(['doctor'], env)
  expect(stdout).toContain('3 merchants')
  // Nobody has ever started the signer here: the doctor says so.
  expect(stdout).toMatch(/✗ Signer: it has published no keys/)
  expect(code).toBe(1)
  await expect(postgresPid(fresh.dataDir)).rejects.toThrow('ENOENT')
  await fresh.remove()
})

async function postgresPid(dataDir: string): Promise<number> {
  return Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0])
}

function childrenOf(pid: number): number[] {
  const listed = execFileSync('ps', ['-e', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n')
  return listed.flatMap((line) => {
    const [child, parent, ...args] = line.trim().split(/\s+/)
    return Number(parent) === pid && args.includes('signer') ? [Number(child)] : []
  })
}

const pathOf = (url: string): string => new URL(url).pathname
