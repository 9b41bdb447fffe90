import { execFile } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { runProgram, startRoles } from '../support/app.ts'
import { databaseUrl } from '../support/postgres-server.ts'
import { until } from '../support/until.ts'
import { answerChallenges, startReceiver } from '../support/webhook-receiver.ts'
import { type ComposeService, parseEnvFile, readCompose } from './compose-file.ts'

/**
 * compose.yaml without Docker: each container is a process with the command and the variables that the file gives
 * it, on a loopback address of its own in place of the container's name.
 */

const run = promisify(execFile)
const MAKE_ENV = new URL('../../deploy/make-env.sh', import.meta.url).pathname
const HEALTH_CHECK = new URL('../../deploy/health-check.mjs', import.meta.url).pathname
const PAID_MS_MAX = 120_000
const SCOPES = 'invoices:read,invoices:write,webhooks:read,webhooks:write'
const LOGINS = ['api', 'watcher', 'delivery', 'signer'].map((role) => `paylink_${role}_login`)

type Container = {
  readonly name: string
  readonly args: readonly string[]
  readonly env: { [name: string]: string }
}

const database = `paylink_compose_${randomBytes(4).toString('hex')}`
let folder: string
let services: { [name: string]: ComposeService }
/** Addresses of containers, by name; a second copy of a service has a name of its own. */
const addresses = new Map<string, string>()
const subnet = `127.${randomInt(1, 255)}.${randomInt(255)}`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paylink-compose-'))
  const made = await run(MAKE_ENV, ['pay.example.com'], { env: { SIGNER_KEY_FOLDER: folder } })
  const env = { ...parseEnvFile(made.stdout), WEBHOOK_ALLOW_PRIVATE: '1', LOG_LEVEL: 'warn' }
  const { SECRET_KEY = '' } = parseEnvFile(made.stdout)
  const printed = async (command: string) =>
    (await runProgram([command], { SECRET_KEY, DATA_DIR: folder })).stdout.trim()
  const DELIVERY_KEY = await printed('delivery-key')
  const WATCHER_KEY = await printed('watcher-key')
  services = (await readCompose({ ...env, DELIVERY_KEY, WATCHER_KEY })).services
  for (const path of ['sandbox', 'address-keys', 'approval-key'])
    await mkdir(join(folder, path), { mode: 0o700 })
  await asOwner((client) => client.query(`create database ${database}`))
})
afterAll(async () => {
  await asOwner(async (client) => {
    await client.query(`drop database ${database} with (force)`)
    for (const login of LOGINS) await client.query(`drop role if exists ${login}`)
  })
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

test("compose.yaml's commands and variables take a payment, created at one API and paid at the other", {
  timeout: 300_000,
}, async () => {
  const admin = await container('migrate')
  const migrated = await runProgram(admin.args, admin.env)
  expect(migrated).toMatchObject({ code: 0, stderr: '' })
  for (const login of LOGINS) expect(migrated.stdout).toContain(`made the login ${login}\n`)
  expect(migrated.stdout).toMatch(/\nthe database is up to date\n$/)
  // A second time there is nothing to do: containers are started anew after every reboot.
  expect((await runProgram(admin.args, admin.env)).stdout).toBe('the database is up to date\n')
  const key = await makeKey(admin.env)

  const containers = await Promise.all(
    ['sandbox', 'signer', 'watcher', 'delivery', 'delivery-2', 'api-1', 'api-2'].map(container),
  )
  const running = await Promise.all(
    containers.map(async (each) => ({ ...each, process: await startRoles(each.args.slice(1), each.env) })),
  )
  const receiver = await startReceiver({ respond: answerChallenges })
  try {
    await Promise.all(containers.map(expectHealthy))
    const ask = async (api: string, method: string, path: string, body?: object) => {
      const response = await fetch(`http://${addresses.get(api)}:3000/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const answer = z.looseObject({ id: z.string().optional(), status: z.string().optional() })
      return { status: response.status, body: answer.parse(await response.json()) }
    }
    const endpoint = await ask('api-2', 'POST', '/webhook-endpoints', {
      url: receiver.url,
      subscribed_events: ['invoice.paid'],
    })
    expect((await ask('api-1', 'POST', `/webhook-endpoints/${endpoint.body.id}/verify`)).status).toBe(200)
    for (const asset of ['BTC', 'SOL']) {
      let id: string | undefined
      await until(
        async () => {
          const made = await ask('api-1', 'POST', '/invoices', { usd_amount: '7.00', asset })
          id = made.body.id
          return made.status === 201
        },
        { timeoutMs: PAID_MS_MAX },
      )
      expect((await ask('api-2', 'POST', `/test/invoices/${id}/pay`, { scenario: 'exact' })).status).toBe(200)
      await until(async () => (await ask('api-1', 'GET', `/invoices/${id}`)).body.status === 'paid', {
        timeoutMs: PAID_MS_MAX,
      })
      await until(() => receiver.events.some(({ body }) => body.includes(`"${id}"`)), {
        timeoutMs: PAID_MS_MAX,
      })
    }
    // The API's key for approvals reached the signer beside the database.
    await until(async () => existsSync(join(folder, 'signer', 'signer', 'approval-key')), {
      timeoutMs: PAID_MS_MAX,
    })
    const codes = await Promise.all(running.map(({ process }) => process.stop()))
    expect(codes).toEqual(running.map(() => 0))
    for (const { name, process } of running) {
      const faults = process
        .stderr()
        .split('\n')
        .filter((line) => /"level":"(error|fatal)"/.test(line))
      expect({ name, faults }).toEqual({ name, faults: [] })
    }
  } finally {
    await Promise.all(running.map(({ process }) => process.stop()))
    await receiver.close()
  }
})

/** A container as a process: names become addresses, mounts become folders, and nothing else changes. */
async function container(name: string): Promise<Container> {
  const service = services[name.replace(/-2$/, (end) => (services[name] === undefined ? '' : end))]
  if (service === undefined) throw new Error(`compose.yaml has no service ${name}`)
  const address = `${subnet}.${addresses.size + 1}`
  addresses.set(name, address)
  const dataDir = join(folder, name)
  await mkdir(dataDir, { mode: 0o700, recursive: true })
  if (service.volumes.some((volume) => volume.includes(':/data/sandbox')))
    await symlink(join(folder, 'sandbox'), join(dataDir, 'sandbox'))
  if (service.secrets.includes('signer-key')) await copyFile(join(folder, 'signer-key'), join(dataDir, 'key'))
  const server = new URL(databaseUrl(inject('postgresUrl'), database))
  const env = Object.fromEntries(
    Object.entries(service.environment).map(([variable, value]) => {
      if (variable === 'DATABASE_URL') return [variable, server.toString()]
      if (variable === 'HOST' || variable === 'OPERATOR_HOST') return [variable, address]
      if (variable === 'SANDBOX_HOST') return [variable, addresses.get(value) ?? value]
      const changed = value
        .replace('@postgres:5432/paylink', `@${server.host}${server.pathname}`)
        .replace('/run/secrets/signer-key', join(dataDir, 'key'))
        .replace(/^\/data$/, dataDir)
        .replace(/^\/(address-keys|approval-key)\//, `${folder}/$1/`)
      return [variable, changed]
    }),
  )
  return { name, args: service.command ?? [], env }
}

/** The very check that Docker would run. */
async function expectHealthy({ name, env }: Container): Promise<void> {
  const check = services[name.replace(/^delivery-2$/, 'delivery')]?.healthcheck
  if (check?.disable === true) return
  const words = check?.test?.slice(3) ?? []
  const checked = await run(process.execPath, [HEALTH_CHECK, ...words], { env: { ...env } })
  expect({ name, ...checked }).toEqual({ name, stdout: '', stderr: '' })
}

/** As `docker compose run --rm migrate merchant create …`. */
async function makeKey(env: { [name: string]: string }): Promise<string> {
  const merchant = ['merchant', 'create', '--name', 'Shop', '--email', 'shop@example.com', '--json']
  const { id } = z.object({ id: z.string() }).parse(JSON.parse((await runProgram(merchant, env)).stdout))
  const made = ['key', 'create', '--merchant', id, '--mode', 'test', '--scopes', SCOPES, '--json']
  return z.object({ key: z.string() }).parse(JSON.parse((await runProgram(made, env)).stdout)).key
}

async function asOwner(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
