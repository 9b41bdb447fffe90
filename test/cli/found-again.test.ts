import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isAlive } from '../../src/runtime/file-lock.ts'
import { makeDataDir, runProgram, startApp } from '../support/app.ts'
import { until } from '../support/until.ts'

/** What was once answered is there after every kind of end. */

const PAID_MS_MAX = 30_000
const GONE_MS_MAX = 15_000
let place: Awaited<ReturnType<typeof makeDataDir>>
beforeEach(async () => {
  place = await makeDataDir()
})
afterEach(() => place.remove())

type Invoice = { id: string; status: string }

test('a second start finds keys, invoices, money and chains again', async () => {
  const first = await startApp(place)
  const made = (await first.api('POST', '/api/v1/invoices', { usd_amount: '9.00', asset: 'LTC' }))
    .body as Invoice
  await first.api('POST', `/api/v1/test/invoices/${made.id}/pay`, { scenario: 'exact' })
  const read = async (app: typeof first) =>
    (await app.api('GET', `/api/v1/invoices/${made.id}`)).body as Invoice
  await until(async () => (await read(first)).status === 'paid', { timeoutMs: PAID_MS_MAX })
  expect(await first.stop()).toBe(0)

  const second = await startApp(place)
  expect(second.apiKey).toBe(first.apiKey)
  expect(pathOf(second.checkoutUrl)).toBe(pathOf(first.checkoutUrl))
  expect((await read(second)).status).toBe('paid')
  const audit = await second.command('audit', '--json')
  expect(JSON.parse(audit.stdout)).toMatchObject({ ok: true })
  expect(await second.stop()).toBe(0)
})

test('after kill -9 the signer ends by itself, and the next start finds everything again', {
  tags: ['ps'],
}, async () => {
  const first = await startApp(place)
  const made = (await first.api('POST', '/api/v1/invoices', { usd_amount: '9.00', asset: 'LTC' }))
    .body as Invoice
  const signer = childrenOf(first.pid)
  expect(signer).toHaveLength(1)
  await first.kill()
  await until(() => signer.every((pid) => !isAlive(pid)), { timeoutMs: GONE_MS_MAX })

  const second = await startApp(place)
  expect(second.apiKey).toBe(first.apiKey)
  expect((await second.api('GET', `/api/v1/invoices/${made.id}`)).body).toMatchObject({ id: made.id })
  // The server that was left behind is ours again: it ends with this stop.
  const postgres = await postgresPid(place.dataDir)
  expect(await second.stop()).toBe(0)
  await until(() => !isAlive(postgres), { timeoutMs: GONE_MS_MAX })
})

test('a killed signer is started again while the rest goes on', { tags: ['ps'] }, async () => {
  const app = await startApp(place)
  const [signer] = childrenOf(app.pid)
  if (signer === undefined) throw new Error('there is no signer')
  process.kill(signer, 'SIGKILL')
  await until(() => childrenOf(app.pid).some((pid) => pid !== signer), { timeoutMs: GONE_MS_MAX })
  expect((await fetch(`${app.baseUrl}/readyz`)).status).toBe(200)
  expect(await app.stop('SIGINT')).toBe(0)
})

test('a database server that is killed under the service is started again, and the service goes on', async () => {
  const app = await startApp(place)
  process.kill(await postgresPid(place.dataDir), 'SIGKILL')
  await until(
    async () => {
      const { status } = await app.api('POST', '/api/v1/invoices', { usd_amount: '9.00', asset: 'LTC' })
      return status === 201
    },
    { timeoutMs: PAID_MS_MAX },
  )
  expect(await app.stop()).toBe(0)
})

test('commands without a running service start the database for as long as they take', async () => {
  const env = { DATA_DIR: place.dataDir }
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
  await expect(postgresPid(place.dataDir)).rejects.toThrow('ENOENT')
})

test('a database server of another version is named with the fix', async () => {
  await (await startApp(place)).stop()
  execFileSync('sh', ['-c', `echo 17 > ${join(place.dataDir, 'postgres', 'PG_VERSION')}`])
  const { code, stderr } = await runProgram(['start'], { DATA_DIR: place.dataDir })
  expect(stderr).toMatch(/^paylink: .* belongs to PostgreSQL 17 .*docs\/operating\.md/m)
  expect(code).toBe(1)
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
