import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signedHeaders } from '../../src/delivery/send.ts'
import { type App, makePlace, startApp } from '../support/app.ts'
import { describeNeeding } from '../support/describe-needing.ts'
import { eventExamples } from '../support/event-examples.ts'
import { freePort } from '../support/free-port.ts'
import { programPath } from '../support/programs.ts'
import { until } from '../support/until.ts'
import { startServer } from './example-receiver.ts'

/** Each quick-start as its guide tells it: an order, a checkout, a payment on the sandbox chain, an event, an order that is paid. */

const run = promisify(execFile)
const FOLDER = new URL('../../examples/quick-start/', import.meta.url).pathname
const HANDLERS = new URL('serve-route-handlers.mjs', import.meta.url).pathname
const PAID_MS_MAX = 120_000
const EVENT_BYTES_MAX = 65_536

const SHOP_PROGRAMS = { express: null, nextjs: null, php: 'php', python: 'python' } as const
const SHOPS: {
  readonly [name in keyof typeof SHOP_PROGRAMS]: (port: number) => readonly [string, ...string[]]
} = {
  express: () => [process.execPath, `${FOLDER}express/shop.mjs`],
  nextjs: () => [process.execPath, HANDLERS, `${FOLDER}nextjs`],
  php: (port) => [programPath('php'), '-S', `127.0.0.1:${port}`, `${FOLDER}php/shop.php`],
  python: () => [programPath('python'), `${FOLDER}python/shop.py`],
}
type Order = { reference: string; usd_amount: string; status: string; invoice_id: string }

let place: Awaited<ReturnType<typeof makePlace>>
let app: App
let ordersRoot: string
beforeAll(async () => {
  ordersRoot = await mkdtemp(join(tmpdir(), 'paylink-orders-'))
  place = await makePlace()
  app = await startApp({ ...place, env: { WEBHOOK_ALLOW_PRIVATE: '1' } })
})
afterAll(async () => {
  await app?.stop()
  await place?.remove()
  await rm(ordersRoot, { recursive: true, force: true })
})

/** Starts a shop whose endpoint Paylink has verified. */
async function openShop(name: string, command: (port: number) => readonly [string, ...string[]]) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const orders = await mkdtemp(join(ordersRoot, `${name}-`))
  const made = await app.api('POST', '/api/v1/webhook-endpoints', {
    url: `${url}/webhooks`,
    subscribed_events: ['*'],
  })
  const { id, secret } = made.body as { id: string; secret: string }
  const server = await startServer(command(port), port, {
    PAYLINK_URL: app.baseUrl,
    PAYLINK_API_KEY: app.apiKey,
    PAYLINK_WEBHOOK_SECRET: secret,
    ORDERS_DIR: orders,
    PHP_CLI_SERVER_WORKERS: '4',
    PYTHONDONTWRITEBYTECODE: '1',
  })
  const verified = await app.api('POST', `/api/v1/webhook-endpoints/${id}/verify`)
  expect(verified.body).toMatchObject({ status: 'enabled' })
  const order = async (): Promise<Order> => {
    const [file, ...others] = (await readdir(orders)).filter((one) => one.endsWith('.json'))
    if (file === undefined || others.length > 0) throw new Error('there is not one order')
    return JSON.parse(await readFile(join(orders, file), 'utf8'))
  }
  const close = async () => {
    await server.stop()
    await app.api('POST', `/api/v1/webhook-endpoints/${id}/disable`)
  }
  return { ...server, url, order, close }
}

test('the routes for Next.js load without any variable, as its build does', async () => {
  const load = ['buy', 'webhooks'].map((name) => `await import('${FOLDER}nextjs/app/${name}/route.mjs')`)
  await run(process.execPath, ['--input-type=module', '--eval', load.join('\n')], { env: {} })
})

test('they load as route.js in a package created by npm init, once it declares ES modules', async () => {
  const shop = await mkdtemp(join(tmpdir(), 'paylink-nextjs-'))
  try {
    await run('npm', ['init', '-y'], { cwd: shop })
    const [, command = ''] =
      /run `(npm pkg set [^`]+)`/.exec(await readFile(`${FOLDER}README.md`, 'utf8')) ?? []
    await run('sh', ['-c', command], { cwd: shop })
    await cp(`${FOLDER}nextjs`, shop, { recursive: true })
    await symlink(join(FOLDER, '../../node_modules'), join(shop, 'node_modules'))
    const load = ['buy', 'webhooks'].map((name) => {
      const route = join(shop, `app/${name}/route`)
      return rename(`${route}.mjs`, `${route}.js`).then(() => `await import('${route}.js')`)
    })
    const program = (await Promise.all(load)).join('\n')
    await run(process.execPath, ['--input-type=module', '--eval', program], { env: {} })
  } finally {
    await rm(shop, { recursive: true, force: true })
  }
})

describeNeeding(SHOP_PROGRAMS, 'the quick-start in %s', (name) => {
  const command = SHOPS[name]
  test('sells: an order leads to a checkout, and its payment to a paid order', async () => {
    const shop = await openShop(name, command)
    const answer = await fetch(`${shop.url}/buy`, { method: 'POST', redirect: 'manual' })
    expect(answer.status).toBe(303)
    const checkout = await fetch(answer.headers.get('location') ?? '')
    expect(await checkout.text()).toContain('12.50')
    const order = await shop.order()
    expect(order).toMatchObject({ status: 'open', usd_amount: '12.50' })
    const invoice = await app.api('GET', `/api/v1/invoices/${order.invoice_id}`)
    expect(invoice.body).toMatchObject({ external_reference: order.reference, usd_amount: '12.50' })

    // Whoever knocks without a signature moves nothing.
    const forged = JSON.stringify({
      schema_version: 1,
      event_type: 'invoice.paid',
      data: { id: order.invoice_id },
    })
    const headers = { 'content-type': 'application/json', 'paylink-signature': `t=1,v1=${'0'.repeat(64)}` }
    expect((await fetch(`${shop.url}/webhooks`, { method: 'POST', headers, body: forged })).status).toBe(400)
    expect((await shop.order()).status).toBe('open')

    await app.api('POST', `/api/v1/test/invoices/${order.invoice_id}/pay`, { scenario: 'exact' })
    await until(async () => (await shop.order()).status === 'paid', { timeoutMs: PAID_MS_MAX })
    await until(() => shop.log().includes(`${order.reference} is paid: ship it`), { timeoutMs: PAID_MS_MAX })
    await shop.close()
  })

  test('takes an event of 64 KB, the largest that there is', async () => {
    const secret = 'whsec_x'
    const port = await freePort()
    const shop = await startServer(command(port), port, {
      PAYLINK_URL: app.baseUrl,
      PAYLINK_API_KEY: app.apiKey,
      PAYLINK_WEBHOOK_SECRET: secret,
      ORDERS_DIR: await mkdtemp(join(ordersRoot, `${name}-`)),
      PYTHONDONTWRITEBYTECODE: '1',
    })
    // Of a payout, which no order waits for: what counts is that it is read whole.
    const payout = JSON.parse(JSON.stringify(eventExamples().get('payout.requested')))
    const sized = (filler: string) =>
      JSON.stringify({ ...payout, data: { ...payout.data, filler }, livemode: false })
    const body = Buffer.from(sized('x'.repeat(EVENT_BYTES_MAX - sized('').length)))
    expect(body.length).toBe(EVENT_BYTES_MAX)
    const seconds = Math.floor(Date.now() / 1_000)
    const headers = signedHeaders({ eventId: payout.id, schemaVersion: 1, body, secrets: [secret] }, seconds)
    const answer = await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', headers, body })
    expect(answer.ok, shop.log()).toBe(true)
    await shop.stop()
  })

  test('shows the buyer an error of its own while Paylink is down, and has saved the order', async () => {
    const port = await freePort()
    const orders = await mkdtemp(join(ordersRoot, `${name}-`))
    const shop = await startServer(command(port), port, {
      PAYLINK_URL: 'http://127.0.0.1:9',
      PAYLINK_API_KEY: app.apiKey,
      PAYLINK_WEBHOOK_SECRET: 'whsec_x',
      ORDERS_DIR: orders,
      PYTHONDONTWRITEBYTECODE: '1',
    })
    const answer = await fetch(`http://127.0.0.1:${port}/buy`, { method: 'POST', redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([500, null])
    expect(await readdir(orders)).toHaveLength(1)
    await shop.stop()
  })
})
