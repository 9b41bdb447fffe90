import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { startServer } from '../examples/example-receiver.ts'
import { type App, makePlace, startApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

const ROOT = new URL('../../', import.meta.url).pathname
export const DONE_MS_MAX = 120_000

// biome-ignore lint/suspicious/noExplicitAny: what a test reads of an answer, it compares.
export type Data = { readonly [field: string]: any }

type ShopPlan = {
  /** The folder of the plugin in `packages/`, which has the example shop, and the script that installs its engine. */
  readonly engine: 'medusa' | 'vendure'
  /** One of the engine's packages: it is installed where this is. */
  readonly installed: string
  /** The example shop, in that folder. */
  readonly program: string
  readonly webhookPath: string
  /** What it prints when it sells. */
  readonly ready: string
  readonly env: { readonly [name: string]: string }
}

/** An engine's example shop with the plugin, a Paylink with sandbox chains, and a verified webhook endpoint between them. */
export type Shop = {
  readonly app: App
  readonly database: TestDatabase
  readonly port: number
  log(): string
  /** Ends the shop, and starts it again with the same data. */
  down(): Promise<void>
  up(): Promise<void>
  pay(invoiceId: string, scenario: string): Promise<unknown>
  invoice(id: string): Promise<Data>
  status(invoiceId: string): Promise<string>
  /** Sends the invoice's `invoice.paid` once more; `delivered` counts how often the shop took it. */
  sendPaidAgain(invoiceId: string): Promise<{ again(): Promise<unknown>; delivered(): Promise<number> }>
  close(): Promise<void>
}

async function run(command: string, ...args: string[]): Promise<void> {
  const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`)
}

export async function openShop(plan: ShopPlan): Promise<Shop> {
  const folder = `${ROOT}packages/${plan.engine}/`
  if (existsSync(`${folder}node_modules/${plan.installed}`)) await run('npx', 'tsc', '-p', folder)
  else await run('npm', 'run', '-s', plan.engine)
  const place = await makePlace()
  const app = await startApp({ ...place, env: { WEBHOOK_ALLOW_PRIVATE: '1' } })
  const database = await createTestDatabase(undefined, 'template1')
  const port = await freePort()
  const made = await app.api('POST', '/api/v1/webhook-endpoints', {
    url: `http://127.0.0.1:${port}${plan.webhookPath}`,
    subscribed_events: ['*'],
  })
  const { id: endpointId, secret } = made.body as { id: string; secret: string }
  const environment = {
    DATABASE_URL: database.ownerUrl,
    PAYLINK_URL: app.baseUrl,
    PAYLINK_API_KEY: app.apiKey,
    PAYLINK_WEBHOOK_SECRET: secret,
    ...plan.env,
  }
  const start = async () => {
    const server = await startServer([process.execPath, `${folder}${plan.program}`], port, environment)
    await until(() => server.log().includes(plan.ready), { timeoutMs: DONE_MS_MAX })
    return server
  }
  const end = async () => {
    await app.stop()
    await place.remove()
    await database.drop()
  }
  let server = await start().catch(async (error: unknown) => {
    await end()
    throw error
  })
  const verified = (await app.api('POST', `/api/v1/webhook-endpoints/${endpointId}/verify`)).body as Data
  if (verified.status !== 'enabled') {
    await server.stop()
    await end()
    throw new Error(`${JSON.stringify(verified)}\n${server.log()}`)
  }
  const invoice = async (id: string) => (await app.api('GET', `/api/v1/invoices/${id}`)).body as Data
  return {
    app,
    database,
    port,
    log: () => server.log(),
    down: () => server.stop(),
    up: async () => {
      server = await start()
    },
    pay: (id, scenario) => app.api('POST', `/api/v1/test/invoices/${id}/pay`, { scenario }),
    invoice,
    status: async (id) => (await invoice(id)).status,
    sendPaidAgain: async (id) => {
      const events = (await app.api('GET', `/api/v1/events?resource_id=${id}&limit=100`)).body as Data
      const paid = events.data.find(({ event_type }: Data) => event_type === 'invoice.paid')
      const path = `/api/v1/events/${paid.id}`
      return {
        again: () =>
          app.api('POST', `${path}/queue`, { endpoint_id: endpointId }, { 'idempotency-key': randomUUID() }),
        delivered: async () => {
          const { data } = (await app.api('GET', `${path}/attempts?limit=100`)).body as Data
          return data.filter(({ code }: Data) => code === 'ok').length
        },
      }
    },
    close: async () => {
      await server.stop()
      await end()
    },
  }
}
