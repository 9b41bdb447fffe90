// @module-tag haproxy
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, askApi, makeKey, makePlace, runProgram, startApp, startProgram } from '../support/app.ts'
import { freePort } from '../support/free-port.ts'
import { randomLitecoinAddress } from '../support/resources.ts'
import { until } from '../support/until.ts'
import {
  answerChallenges,
  startReceiver,
  verifiedBy,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts'
import { type CellsProxy, startCellsProxy } from './cells-proxy.ts'

/** A shop that moves from cell 0 to cell 3 while it sells, behind the proxy of docs/cells.md. */

let places: Awaited<ReturnType<typeof makePlace>>[]
let first: App
let third: App
let proxy: CellsProxy
let receiver: WebhookReceiver
let site: string
let key: string
beforeAll(async () => {
  places = [await makePlace(), await makePlace()]
  site = `http://127.0.0.1:${await freePort()}`
  receiver = await startReceiver({ respond: answerChallenges })
  await placeOf(3).database.owner.query('update installation set cell = 3')
  ;[first, third] = (await Promise.all(
    [0, 3].map((cell) => startApp({ ...placeOf(cell), env: { ...envOf(cell), WEBHOOK_ALLOW_PRIVATE: '1' } })),
  )) as [App, App]
  proxy = await startCellsProxy(site, [
    { number: 0, servers: [new URL(first.baseUrl).host] },
    { number: 3, servers: [new URL(third.baseUrl).host] },
  ])
  key = first.apiKey
})
afterAll(async () => {
  await proxy?.stop()
  await Promise.all([first?.stop(), third?.stop()])
  await receiver?.close()
  for (const place of places ?? []) await place.remove()
})

function placeOf(cell: number) {
  const place = places[cell === 0 ? 0 : 1]
  if (place === undefined) throw new Error('there are two cells')
  return place
}
const envOf = (cell: number) => ({ BASE_URL: site, CELL: String(cell) })
/** What commands of a cell are given. */
const settings = (cell: number) => ({
  ...envOf(cell),
  DATABASE_URL: placeOf(cell).database.ownerUrl,
  DATA_DIR: placeOf(cell).dataDir,
})

// biome-ignore lint/suspicious/noExplicitAny: what a test reads of an answer, it compares.
type Json = any
/** Again while a cell does not answer the proxy's checks, on a busy machine. */
async function ask(method: string, path: string, body?: object, { at = site, by = key } = {}): Promise<Json> {
  let answer: Awaited<ReturnType<typeof askApi>> | undefined
  await until(async () => {
    answer = await askApi(`${at}/api/v1${path}`, by, method, body)
    return answer.status !== 503
  })
  expect(answer?.status, JSON.stringify(answer?.body)).toBeLessThan(300)
  return answer?.body
}
const create = (at: string, path: string, body: object, idempotencyKey: string) =>
  fetch(`${at}/api/v1${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
    },
    body: JSON.stringify(body),
  })
/** As a shop does: with the same key until it is made. */
async function sell(name: string): Promise<Json> {
  let made: Json
  await until(async () => {
    const sale = { usd_amount: '12.50', asset: 'LTC', external_reference: name }
    const answer = await create(site, '/invoices', sale, name).catch(() => null)
    made = await answer?.json().catch(() => null)
    return answer?.status === 201
  })
  return made
}
/** What a buyer reads. */
async function pageOf(url: string): Promise<string> {
  let page: Response | undefined
  await until(async () => {
    page = await fetch(url)
    return page.status !== 503
  })
  return (await page?.text()) ?? ''
}
const pay = async (id: string, at?: string) => {
  await ask('POST', `/test/invoices/${id}/pay`, { scenario: 'exact' }, at === undefined ? {} : { at })
  await until(async () => (await ask('GET', `/invoices/${id}`)).status === 'paid')
}
/** Until the receiver was sent this invoice's payment, signed with the secret. */
const untilTold = (id: string, secret: string) =>
  until(
    () =>
      receiver.events.some((event) => {
        const { event_type: type, data } = JSON.parse(event.body.toString())
        return type === 'invoice.paid' && data.id === id && verifiedBy(event, [secret]) === secret
      }),
    { what: `${id} is told` },
  )

const CELL_0 = /^inv_.{10}[ef]/
const CELL_3 = /^inv_.{10}g03/

test('a shop sells with one key before, while and after it moves; what it sold before ends where it was', async () => {
  const { rows } = await placeOf(0).database.owner.query<{ id: string }>(
    `select merchant_id as id from api_key where key_hash = sha256(convert_to($1, 'UTF8'))`,
    [key],
  )
  const merchantId = rows[0]?.id ?? ''
  const neighbour = await makeKey(settings(0))
  const endpoint = await ask('POST', '/webhook-endpoints', { url: receiver.url, subscribed_events: ['*'] })
  await ask('POST', `/webhook-endpoints/${endpoint.id}/verify`)
  const link = await ask('POST', '/payment-links', { name: 'Tea', allow_dynamic_amount: true, asset: 'LTC' })
  const session = await ask('POST', `/payment-links/${link.id}/checkout-sessions`, {
    order_reference: 'order-1',
    usd_amount: '9.00',
  })
  const open = await sell('open')
  expect(open.id).toMatch(CELL_0)

  const toEnv = `${placeOf(3).dataDir}.env`
  await writeFile(
    toEnv,
    Object.entries(settings(3))
      .map((pair) => pair.join('='))
      .join('\n'),
  )
  const move = ['merchant', 'move', merchantId, '--to-env', toEnv]
  const sold: { name: string; id: string }[] = []
  let isOver = false
  const selling = (async () => {
    while (!isOver) {
      const name = randomUUID()
      sold.push({ name, id: (await sell(name)).id })
      await pause(100)
    }
  })()
  // A process that is killed holds nobody up: the next one ends what it began.
  for (const line of ['copying', 'gives the merchant up']) {
    const killed = startProgram(move, settings(0))
    await until(() => killed.stderr().includes(line))
    killed.signal('SIGKILL')
    await killed.exited()
    const homes = await Promise.all(
      [first, third].map(async ({ baseUrl }) => {
        const probe = { usd_amount: '1.00', asset: 'LTC', external_reference: 'probe' }
        return (await create(baseUrl, '/invoices', probe, randomUUID())).status
      }),
    )
    expect(homes.filter((status) => status === 201).length, `${homes}`).toBeLessThanOrEqual(1)
  }
  const moved = await runProgram([...move, '--json'], settings(0))
  expect([moved.code, moved.stderr]).toEqual([0, expect.stringContaining('cell 03 takes new sales')])
  const { map, people } = JSON.parse(moved.stdout)
  expect(map).toContain(`${link.slug} cell_03`)
  expect(people).toEqual([
    { email: expect.any(String), set_password_url: expect.stringContaining(`${site}/cells/03/`) },
  ])
  const early = await create(first.baseUrl, '/invoices', { usd_amount: '1.00', asset: 'LTC' }, randomUUID())
  expect([early.status, early.headers.get('paylink-cell')]).toEqual([421, '03'])
  expect((await fetch(`${first.baseUrl}/l/${link.slug}?usd=5`)).status).toBe(421)
  await proxy.learn(map)
  await until(() => sold.some(({ id }) => CELL_3.test(id)), { what: 'something is sold in cell 3' })
  isOver = true
  await selling

  // One invoice for each key, in one of the cells, and the answer is the first one's.
  const inCells = await Promise.all(
    [0, 3].map((cell) =>
      placeOf(cell).database.owner.query<{ id: string; name: string }>(
        `select id, external_reference as name from invoice where external_reference ~ '^.{8}-'`,
      ),
    ),
  )
  const stored = inCells.flatMap((answer) => answer.rows)
  const sorted = (list: readonly { id: string; name: string }[]) =>
    list.map(({ name, id }) => `${name} ${id}`).sort()
  expect(sorted(stored)).toEqual(sorted(sold))
  for (const { name, id } of sold) expect((await sell(name)).id).toBe(id)
  expect(await sell('open')).toEqual(open)

  // What is of cell 0 by its id is found there, and new things are in cell 3.
  const sale = await sell('new')
  expect(sale.id).toMatch(CELL_3)
  for (const invoice of [open, sale]) {
    expect(await pageOf(invoice.checkout_url)).toContain('Demo Shop')
    await pay(invoice.id)
    await untilTold(invoice.id, endpoint.secret)
  }
  expect((await ask('GET', '/invoices?limit=100')).data.every(({ id }: Json) => CELL_3.test(id))).toBe(true)
  expect(await pageOf(`${site}/l/${link.slug}?usd=5`)).toContain('Tea')
  expect(await pageOf(session.checkout_url)).toContain('Tea')
  const continued = await fetch(session.checkout_url, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({
      checkout_token: new URL(session.checkout_url).searchParams.get('checkout_token') ?? '',
      asset: 'LTC',
    }),
  })
  expect(continued.status).toBe(303)
  const { rows: continuedIn } = await placeOf(0).database.owner.query(
    `select from invoice where order_reference = 'order-1'`,
  )
  expect(continuedIn).toHaveLength(1)
  const repeat = { order_reference: 'order-1', usd_amount: '9.00' }
  const again = await create(site, `/payment-links/${link.id}/checkout-sessions`, repeat, randomUUID())
  expect([again.status, again.headers.get('paylink-cell')]).toEqual([421, '00'])
  const next = await ask('POST', `/payment-links/${link.id}/checkout-sessions`, {
    order_reference: 'order-2',
    usd_amount: '9.00',
  })
  expect(await pageOf(next.checkout_url)).toContain('Tea')
  const other = await ask('POST', '/invoices', { usd_amount: '3.00', asset: 'LTC' }, { by: neighbour })
  expect(other.id).toMatch(CELL_0)

  // The money stays where it came, and is paid out there.
  const at = first.baseUrl
  const [balance] = (await ask('GET', '/balances', undefined, { at })).data.filter(
    ({ asset }: Json) => asset === 'LTC',
  )
  expect(balance.available).toBe(open.amount)
  const destination = await ask(
    'POST',
    '/payout-destinations',
    { asset: 'LTC', address: randomLitecoinAddress('regtest'), name: 'Rest' },
    { at },
  )
  const payout = await ask(
    'POST',
    '/payouts',
    { destination_id: destination.id, amount: open.amount },
    { at },
  )
  await ask('POST', `/payouts/${payout.id}/approve`)
  await until(async () => (await ask('GET', `/payouts/${payout.id}`)).status === 'confirmed')

  for (const command of [['audit'], ['access', 'check']])
    for (const cell of [0, 3]) {
      const { code, stdout, stderr } = await runProgram(command, settings(cell))
      expect([command, cell, code], stdout + stderr).toEqual([command, cell, 0])
    }
}, 240_000)

test('a move is refused where it makes no sense, with the remedy', async () => {
  const toEnv = `${placeOf(3).dataDir}.env`
  const stderrOf = async (args: readonly string[], env = settings(0)) => {
    const { code, stderr } = await runProgram(['merchant', 'move', ...args], env)
    expect(code).not.toBe(0)
    return stderr
  }
  const nobody = `mer_${'0'.repeat(26)}`
  expect(await stderrOf([nobody, '--to-env', toEnv])).toContain('No such merchant in cell 0')
  expect(await stderrOf([nobody, '--to-env', toEnv, '--abort'])).toContain('is not being moved to cell 3')
  expect(await stderrOf([nobody, '--to-env', toEnv], settings(3))).toContain(
    'is of this cell: set CELL in it',
  )
  expect(await stderrOf(['mer_a', '--to-env', toEnv])).toContain('must be a merchant’s id')
  const elsewhere = { ...settings(0), BASE_URL: 'http://127.0.0.1:1' }
  expect(await stderrOf([nobody, '--to-env', toEnv], elsewhere)).toContain('must have the same BASE_URL')
})
