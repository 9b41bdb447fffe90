import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type App, makeDataDir, runProgram, startApp, startProgram, startRoles } from '../support/app.ts'
import { freePort } from '../support/free-port.ts'
import { randomLitecoinAddress } from '../support/resources.ts'
import { S3_KEYS, type S3Server, startS3Server } from '../support/s3-server.ts'
import { until } from '../support/until.ts'

/** A shop that sold, and has two payouts under way, is backed up; then its machine is gone. */

const TIMEOUT_MS = 240_000
const WAIT = { timeoutMs: 90_000 }
const payoutShape = z.object({ id: z.string(), status: z.string(), txid: z.string().nullable() })
const invoiceShape = z.object({ id: z.string(), status: z.string(), address: z.string() })

let lost: Awaited<ReturnType<typeof makeDataDir>>
let s3: S3Server
let folder: string
let keyFile: string
let settings: { [name: string]: string }
let apiKey: string
const sold: z.output<typeof invoiceShape>[] = []
/** Signed and not sent when the backup was made; approved and not signed. */
let signed: z.output<typeof payoutShape>
let approved: z.output<typeof payoutShape>

beforeAll(async () => {
  lost = await makeDataDir()
  s3 = await startS3Server()
  folder = join(dirname(lost.dataDir), 'backups')
  keyFile = join(dirname(lost.dataDir), 'backup.key')
  const made = await runProgram(['backup', 'create-key', keyFile], {})
  expect(made.stderr).toContain('opens every backup')
  settings = {
    DATA_DIR: lost.dataDir,
    BACKUP_TO: folder,
    BACKUP_RECIPIENT: /BACKUP_RECIPIENT=(age1\w+)/.exec(made.stdout)?.[1] ?? '',
    SMTP_URL: "smtp://shop:it's%20secret@mail.example.com",
  }
  await makeShop()
}, TIMEOUT_MS)
afterAll(async () => {
  await s3.stop()
  await lost.remove()
})

async function makeShop(): Promise<void> {
  const app = await startApp({ dataDir: lost.dataDir })
  apiKey = app.apiKey
  for (let n = 0; n < 2; n++) sold.push(await sell(app))
  for (const { id } of sold) await pay(app, id)
  sold.push(await sell(app))
  signed = await requestPayout(app)
  approved = await requestPayout(app)
  await app.stop()
  // Nobody sends what is signed now, and then nobody signs.
  await withRoles(['api', 'signer'], async (ask) => {
    await ask('POST', `/payouts/${signed.id}/approve`)
    await until(async () => (await rows('select from payout_transaction')).length === 1, WAIT)
  })
  await withRoles(['api'], async (ask) => {
    await ask('POST', `/payouts/${approved.id}/approve`)
    const open = await rows(`select id from payout where status = 'approved' order by id`)
    expect(open).toEqual([{ id: signed.id }, { id: approved.id }])
  })
}

async function sell(app: App) {
  let made = invoiceShape.nullable().parse(null)
  await until(async () => {
    const answer = await app.api('POST', '/api/v1/invoices', { usd_amount: '50', asset: 'LTC' })
    made = answer.status === 201 ? invoiceShape.parse(answer.body) : null
    return made !== null
  }, WAIT)
  return invoiceShape.parse(made)
}

async function pay(app: App, id: string): Promise<void> {
  await app.api('POST', `/api/v1/test/invoices/${id}/pay`, { scenario: 'exact' })
  await until(async () => {
    const { body } = await app.api('GET', `/api/v1/invoices/${id}`)
    return invoiceShape.parse(body).status === 'paid'
  }, WAIT)
}

async function requestPayout(app: App) {
  const name = { asset: 'LTC', address: randomLitecoinAddress('regtest'), name: 'Treasury' }
  const { body } = await app.api('POST', '/api/v1/payout-destinations', name)
  const { id } = z.object({ id: z.string() }).parse(body)
  return payoutShape.parse(
    (await app.api('POST', '/api/v1/payouts', { destination_id: id, amount: '0.3' })).body,
  )
}

async function withRoles(
  roles: string[],
  work: (ask: (method: string, path: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const port = await freePort()
  const running = await startRoles(roles, { DATA_DIR: lost.dataDir, PORT: String(port) })
  try {
    await work(async (method, path) => {
      const headers = { authorization: `Bearer ${apiKey}` }
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, { method, headers })
      expect(answer.status, await answer.text()).toBe(200)
    })
  } finally {
    await running.stop()
  }
}

/** Of the lost shop's database, while some process keeps it running; a command does by itself. */
async function rows(sql: string): Promise<Record<string, unknown>[]> {
  const { port, password } = z
    .object({ port: z.number(), password: z.string() })
    .parse(JSON.parse(await readFile(join(lost.dataDir, 'postgres.json'), 'utf8')))
  const client = new pg.Client({ host: '127.0.0.1', port, password, user: 'postgres', database: 'paylink' })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

const backUp = (more: { [name: string]: string } = {}) => runProgram(['backup'], { ...settings, ...more })
const restore = (
  name: string,
  dataDir: string,
  more: { [name: string]: string } = {},
  ...options: string[]
) => runProgram(['restore', name, '--key-file', keyFile, ...options], { DATA_DIR: dataDir, ...more })
const backups = async () => (await readdir(folder)).filter((name) => name.endsWith('.age')).sort()
const newest = async () => join(folder, (await backups()).at(-1) ?? '')

test(
  'a shop restored into an empty folder passes its audit and carries on with its payouts',
  async () => {
    const made = await backUp()
    expect(made).toMatchObject({ code: 0 })
    const [name = ''] = await backups()
    expect(made.stdout).toContain(`Backed up to ${folder}/${name}`)
    expect((await stat(join(folder, name))).mode & 0o077).toBe(0)

    const next = await makeDataDir()
    const restored = await restore(join(folder, name), next.dataDir)
    expect(restored, restored.stderr).toMatchObject({ code: 0 })
    expect(restored.stdout).toContain('Everything that was checked agrees.')
    expect(restored.stdout).toContain('Look these through before the first start')
    expect(restored.stdout).toMatch(/Active API keys: [1-9]/)
    expect(restored.stdout).toMatch(
      new RegExp(`Payouts that were approved and not yet signed[^]*${approved.id}`),
    )
    expect(restored.stdout).not.toContain(signed.id)
    expect(await readFile(join(next.dataDir, 'restored.env'), 'utf8')).toContain(
      `SMTP_URL="smtp://shop:it's%20secret@mail.example.com"`,
    )

    const app = await startApp({ dataDir: next.dataDir })
    expect(app.apiKey).toBe(apiKey)
    const payout = async ({ id }: { id: string }) =>
      payoutShape.parse((await app.api('GET', `/api/v1/payouts/${id}`)).body)
    await until(async () => (await payout(signed)).status === 'confirmed', WAIT)
    expect((await payout(approved)).status).toBe('requested')
    expect((await app.api('POST', `/api/v1/payouts/${approved.id}/approve`)).status).toBe(200)
    await until(async () => (await payout(approved)).status === 'confirmed', WAIT)
    await pay(app, sold[2]?.id ?? '')
    const used = new Set(sold.map(({ address }) => address))
    for (let n = 0; n < 5; n++) expect(used).not.toContain((await sell(app)).address)
    expect(await app.command('audit')).toMatchObject({ code: 0 })
    expect(await app.stop()).toBe(0)
    await next.remove()
  },
  TIMEOUT_MS,
)

test(
  'a restore lists what was submitted, and the shop that starts on it confirms that',
  async () => {
    await withRoles(['api'], async () => {
      await rows(`update payout set status = 'submitted', submitted_at = now(), txid = t.txid
        from payout_transaction t where t.payout_id = payout.id`)
      expect(await backUp()).toMatchObject({ code: 0 })
    })
    const next = await makeDataDir()
    const restored = await restore(await newest(), next.dataDir)
    expect(restored, restored.stderr).toMatchObject({ code: 0 })
    const [, transaction] =
      new RegExp(
        `Payouts that were submitted[^]*${signed.id} on litecoin-test, transaction ([0-9a-f]{64})\n`,
      ).exec(restored.stdout) ?? []
    const app = await startApp({ dataDir: next.dataDir })
    await until(async () => {
      const { body } = await app.api('GET', `/api/v1/payouts/${signed.id}`)
      const { status, txid } = payoutShape.parse(body)
      expect(txid).toBe(transaction)
      return status === 'confirmed'
    }, WAIT)
    expect(await app.stop()).toBe(0)
    await next.remove()
  },
  TIMEOUT_MS,
)

test('a restore overwrites nothing: an installation that is in use is refused', async () => {
  const before = await readFile(join(lost.dataDir, 'signer/seed.json'))
  const refused = await restore(await newest(), lost.dataDir)
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toMatch(
    /^paylink: \S+ is in use, and a restore overwrites nothing: set DATA_DIR .*\n$/,
  )
  expect(await readFile(join(lost.dataDir, 'signer/seed.json'))).toEqual(before)
})

test(
  'another key and every kind of damage is one clear line, and leaves the place free',
  async () => {
    const next = await makeDataDir()
    const whole = await readFile(await newest())
    const flipped = Buffer.from(whole)
    const middle = Math.floor(whole.length / 2)
    flipped.writeUInt8(whole.readUInt8(middle) ^ 1, middle)
    const damaged = {
      cut: whole.subarray(0, whole.length - 100),
      flipped,
      empty: Buffer.alloc(0),
      other: Buffer.from('no'),
    }
    for (const [kind, bytes] of Object.entries(damaged)) {
      const path = join(dirname(folder), `${kind}.age`)
      await writeFile(path, bytes)
      for (const options of [['--check'], []]) {
        const refused = await restore(path, next.dataDir, {}, ...options)
        expect(refused, kind).toMatchObject({ code: 1, stdout: '' })
        expect(refused.stderr.split('\n').at(-2), kind).toMatch(
          /^paylink: the backup is damaged or not whole: /,
        )
      }
    }
    const other = join(dirname(folder), 'other.key')
    await runProgram(['backup', 'create-key', other], {})
    const refused = await runProgram(['restore', await newest(), '--key-file', other], {
      DATA_DIR: next.dataDir,
    })
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toBe(
      'paylink: this key does not open the backup, which was encrypted to another\n',
    )

    expect(await restore(await newest(), next.dataDir, {}, '--check')).toMatchObject({ code: 0 })
    const restored = await restore(await newest(), next.dataDir)
    expect(restored, restored.stderr).toMatchObject({ code: 0 })
    await next.remove()
  },
  TIMEOUT_MS,
)

/** Enough that a backup takes a while. */
const fill = `insert into backup_run (started_at, finished_at, error)
  select now() - make_interval(days => n), now(), (select string_agg(md5(random()::text || n || m), '') from generate_series(1, 32000) m)
  from generate_series(1, 40) n`

test(
  'a backup that is killed leaves nothing that passes for one',
  async () => {
    await withRoles(['api'], async () => void (await rows(fill)))
    const before = await backups()
    const killed = startProgram(['backup'], settings)
    const unfinished = async () => (await readdir(folder)).find((name) => name.endsWith('.part'))
    await until(async () => {
      const name = await unfinished()
      return name !== undefined && (await stat(join(folder, name))).size > 1_000_000
    }, WAIT)
    killed.signal('SIGKILL')
    await killed.exited()
    expect(await unfinished()).toBeDefined()
    expect(await backups()).toEqual(before)
    const path = join(folder, (await unfinished()) ?? '')
    const refused = await restore(path, lost.dataDir, {}, '--check')
    expect(refused.stderr).toContain('the backup is damaged or not whole')
    expect(await backUp()).toMatchObject({ code: 0 })
    expect(await restore(await newest(), lost.dataDir, {}, '--check')).toMatchObject({ code: 0 })
  },
  TIMEOUT_MS,
)

const inS3 = () => ({
  BACKUP_TO: 's3://shop-backups/paylink',
  BACKUP_S3_ENDPOINT: s3.url,
  BACKUP_S3_REGION: S3_KEYS.region,
  BACKUP_S3_ACCESS_KEY_ID: S3_KEYS.id,
  BACKUP_S3_SECRET_ACCESS_KEY: S3_KEYS.secret,
})

test(
  'an S3-compatible store keeps the newest backups, in parts, under signatures that it checks',
  async () => {
    let parts = 0
    s3.onPart = () => void parts++
    for (let n = 0; n < 3; n++)
      expect(await backUp({ ...inS3(), BACKUP_KEEP: '2' })).toMatchObject({ code: 0 })
    expect(parts).toBeGreaterThan(3)
    expect([...s3.objects.keys()].every((key) => key.startsWith('/shop-backups/paylink/paylink-'))).toBe(true)
    expect(s3.objects.size).toBe(2)
    expect(s3.uploads.size).toBe(0)
    const listed = await runProgram(['backup', 'list'], { ...settings, ...inS3() })
    expect(listed.stdout.trim().split('\n')).toHaveLength(2)
    const next = await makeDataDir()
    const restored = await restore('s3://shop-backups/paylink/latest', next.dataDir, {
      ...inS3(),
      BACKUP_TO: '',
    })
    expect(restored, restored.stderr).toMatchObject({ code: 0 })
    await next.remove()
  },
  TIMEOUT_MS,
)

test(
  'a backup to S3 that is killed or refused is no object, and a refusal is one clear line',
  async () => {
    const before = [...s3.objects.keys()]
    const arrived = new Promise<void>((resolve) => {
      s3.onPart = () => {
        resolve()
        return new Promise(() => {})
      }
    })
    const killed = startProgram(['backup'], { ...settings, ...inS3() })
    await arrived
    killed.signal('SIGKILL')
    await killed.exited()
    expect(s3.uploads.size).toBe(1)
    expect([...s3.objects.keys()]).toEqual(before)
    s3.onPart = () => {}
    const refused = await backUp({ ...inS3(), BACKUP_S3_SECRET_ACCESS_KEY: 'another' })
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr.split('\n').at(-2)).toBe(
      'paylink: s3://shop-backups/paylink answers POST with 403: SignatureDoesNotMatch, no',
    )
    expect([...s3.objects.keys()]).toEqual(before)
  },
  TIMEOUT_MS,
)
