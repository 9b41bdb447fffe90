import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLIENT_ADDRESS_HEADER, clientBlockOf } from '../../src/http/api/client-address.ts'
import { type HttpServer, startHttpServer } from '../../src/http/server.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { freePort } from '../support/free-port.ts'

const SLOW_SOCKETS = 500
const DRIP_MS = 1_000
const REQUESTS = 120
const ROUNDS_MAX = 12
/** What the 99th of a hundred answers differs by on a machine with other work. */
const NOISE_MS = 200

let api: TestApi
let merchant: TestMerchant
let server: HttpServer
let port: number
beforeAll(async () => {
  api = await createTestApi()
  merchant = await api.addMerchant()
  port = await freePort()
  server = await startHttpServer({
    host: '127.0.0.1',
    port,
    parts: [
      { name: 'api', owns: (path) => path.startsWith('/api'), fetch: (request) => api.app.fetch(request) },
    ],
    log: api.deps.log,
    isHttps: true,
  })
})
afterAll(async () => {
  await server.stop(() => {})
  await api.drop()
})

const url = (path: string) => `http://127.0.0.1:${port}/api/v1${path}`
const headers = () => ({ authorization: `Bearer ${merchant.testKey}`, 'content-type': 'application/json' })
const create = (body: string, extra: { [name: string]: string } = {}) =>
  fetch(url('/invoices'), { method: 'POST', headers: { ...headers(), ...extra }, body })
const order = JSON.stringify({ usd_amount: '10', asset: 'LTC' })

/** What the server says to bytes that no client library would send. */
function talk(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => {
      said += chunk
      if (said.includes('\r\n0\r\n\r\n') || said.endsWith('}')) socket.destroy()
    })
    socket.on('close', () => resolve(said))
    socket.on('error', reject)
  })
}

test('nobody chooses the address that they are counted under, whichever way a header is looked up', async () => {
  const ownPort = await freePort()
  const echo = await startHttpServer({
    host: '127.0.0.1',
    port: ownPort,
    log: api.deps.log,
    isHttps: false,
    parts: [
      {
        name: 'echo',
        owns: () => true,
        fetch: ({ headers }) =>
          Response.json([
            clientBlockOf(headers),
            headers.get(CLIENT_ADDRESS_HEADER),
            new Map(headers).get(CLIENT_ADDRESS_HEADER),
          ]),
      },
    ],
  })
  const seen = async (sent: { [name: string]: string }) =>
    (await fetch(`http://127.0.0.1:${ownPort}/`, { headers: sent })).json()
  const forged = '192.0.2.1'
  const own = '127.0.0.1'
  expect(await seen({ [CLIENT_ADDRESS_HEADER]: forged })).toEqual([own, own, own])
  expect(await seen({})).toEqual([own, own, own])
  const told = '198.51.100.7'
  const byProxy = { 'x-forwarded-for': `${forged}, ${told}`, [CLIENT_ADDRESS_HEADER]: forged }
  expect(await seen(byProxy)).toEqual([told, told, told])
  const six = '2001:db8:1:2:3:4:5:6'
  expect(await seen({ 'x-forwarded-for': six })).toEqual(['2001:db8:1:2::', six, six])
  expect((await fetch(`http://127.0.0.1:${ownPort}/`)).headers.get('strict-transport-security')).toBeNull()
  await echo.stop(() => {})
})

test('where people come by https, every answer keeps their browsers from ever coming by anything else', async () => {
  const answers = await Promise.all([
    create(order),
    fetch(url('/invoices')),
    fetch(`http://127.0.0.1:${port}/no-such-page`),
  ])
  expect(answers.map(({ status }) => status)).toEqual([201, 401, 404])
  for (const answer of answers) {
    expect(answer.headers.get('strict-transport-security')).toBe('max-age=31536000')
  }
})

test('an invoice is made over the wire, declared, chunked and repeated', async () => {
  const made = await create(order, { 'idempotency-key': 'k' })
  expect(made.status).toBe(201)
  expect(made.headers.get('content-type')).toBe('application/json; charset=utf-8')
  const text = await made.text()
  const again = await create(order, { 'idempotency-key': 'k' })
  expect([await again.text(), again.headers.get('idempotent-replayed')]).toEqual([text, 'true'])
  const chunked = await fetch(url('/invoices'), {
    method: 'POST',
    headers: headers(),
    body: new Blob([order]).stream(),
    duplex: 'half',
  } as RequestInit)
  expect(chunked.status).toBe(201)
})

test('a POST without a body needs none where the route takes none', async () => {
  const { id } = (await (await create(order)).json()) as { id: string }
  const cancelled = await fetch(url(`/invoices/${id}/cancel`), {
    method: 'POST',
    headers: { authorization: `Bearer ${merchant.testKey}` },
  })
  expect(cancelled.status).toBe(200)
  const bare = await talk(
    `POST /api/v1/invoices/${id}/cancel HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${merchant.testKey}\r\nConnection: close\r\n\r\n`,
  )
  expect(bare).toContain('409 Conflict')
})

test('a body too large is 413 over the wire, declared and chunked, and the next request is answered', async () => {
  const huge = JSON.stringify({ usd_amount: '10', metadata: { a: 'x'.repeat(200_000) } })
  expect((await create(huge)).status).toBe(413)
  const chunked = await fetch(url('/invoices'), {
    method: 'POST',
    headers: headers(),
    body: new Blob([huge]).stream(),
    duplex: 'half',
  } as RequestInit)
  expect(chunked.status).toBe(413)
  expect((await create(order)).status).toBe(201)
})

test('a caller who hangs up within a body is no fault of the database', async () => {
  for (const declared of ['content-length: 50', 'transfer-encoding: chunked']) {
    const socket = connect(port, '127.0.0.1')
    const head = Object.entries(headers()).map(([name, value]) => `${name}: ${value}`)
    socket.write(
      `${['POST /api/v1/invoices HTTP/1.1', 'host: x', ...head, declared].join('\r\n')}\r\n\r\n9\r\n{"usd`,
    )
    await expect.poll(() => server.inFlight()).toBe(1)
    socket.destroy()
    await expect.poll(() => server.inFlight()).toBe(0)
  }
  expect(api.logged.filter((line) => line.includes('the database could not serve'))).toEqual([])
})

test('no header is dropped, however many come before it', async () => {
  const others = Array.from({ length: 300 }, (_, index) => `x-${index}: 1`)
  const known = Object.entries({ ...headers(), 'idempotency-key': 'behind-many' })
  const all = [
    ...others,
    ...known.map(([name, value]) => `${name}: ${value}`),
    `content-length: ${order.length}`,
  ]
  const bytes = `POST /api/v1/invoices HTTP/1.1\r\nhost: x\r\n${all.join('\r\n')}\r\n\r\n${order}`
  expect(await talk(bytes)).toContain('201 Created')
  expect(await talk(bytes)).toContain('idempotent-replayed: true')
})

test('headers that are too large, a body that lies about its length, and two keys are refused', async () => {
  const key = `Authorization: Bearer ${merchant.testKey}\r\n`
  expect(await talk(`GET /api/v1/assets HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 431 /,
  )
  expect(await talk(`GET /api/v1/assets HTTP/1.1\r\nHost: x\r\n${key}${key}\r\n`)).toMatch(
    /^HTTP\/1\.1 (?:200|400|401) /,
  )
  expect(
    await talk(
      `POST /api/v1/invoices HTTP/1.1\r\nHost: x\r\n${key}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`,
    ),
  ).toMatch(/^HTTP\/1\.1 400 /)
  expect(await talk('nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
})

test('no Host, however odd, is a 500 or stands in an answer', async () => {
  for (const host of ['evil.example', 'a b', '[::1', '"><script>', 'x:99999', '%00', 'xn--']) {
    const said = await talk(`GET /api/v1/assets HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    expect(said.split(' ')[1], host).toMatch(/^4[0-9]{2}$/)
    expect(said).not.toContain('evil')
    expect(said).not.toContain('<script>')
  }
})

test('no path, however odd, is a 500', async () => {
  for (const path of [
    '//',
    '/..',
    '/%',
    '/%zz',
    '/%ff',
    '/a%00b',
    '*',
    'http://x/y',
    '/\u00ff',
    '/?%',
    '/api/v1/invoices/%2e%2e',
    '/api/v1/invoices/%',
  ]) {
    const said = await talk(
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${merchant.testKey}\r\nConnection: close\r\n\r\n`,
    )
    expect(said.split(' ')[1], path).toMatch(/^4[0-9]{2}$/)
  }
})

/** Opens sockets that send the beginning of a request, each in its own way, and then a byte now and then. */
async function openSlowSockets(): Promise<() => void> {
  const beginnings = [
    'GET /api/v1/invoices HTTP/1.1\r\nHost: x\r\nX-Slow: ',
    `POST /api/v1/invoices HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${merchant.testKey}\r\nContent-Type: application/json\r\nContent-Length: 30000\r\n\r\n{"metadata":{"a":"`,
  ]
  const sockets = await Promise.all(
    Array.from({ length: SLOW_SOCKETS }, async (_, index) => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      await once(socket, 'connect')
      socket.write(beginnings[index % beginnings.length] ?? '')
      return socket
    }),
  )
  const dripping = setInterval(() => {
    for (const socket of sockets) socket.write('a')
  }, DRIP_MS)
  return () => {
    clearInterval(dripping)
    for (const socket of sockets) socket.destroy()
  }
}

/** The time under which 99 of 100 requests of an ordinary client are answered. */
async function p99OfRequests(): Promise<number> {
  const times: number[] = []
  for (let count = 0; count < REQUESTS; count++) {
    const startedAt = performance.now()
    const response = await fetch(url('/invoices?limit=1'), { headers: headers() })
    expect(response.status).toBe(200)
    await response.arrayBuffer()
    times.push(performance.now() - startedAt)
  }
  return times.sort((one, other) => one - other)[Math.floor(times.length * 0.99)] ?? Number.NaN
}

test('five hundred sockets that send slowly at most double what others wait for an answer', async () => {
  await p99OfRequests()
  const alone: number[] = []
  const beside: number[] = []
  const excess = () => Math.min(...beside) - (2 * Math.min(...alone) + NOISE_MS)
  // In turns, and the best of each of some: what else the machine does meanwhile is not ours to judge.
  for (let round = 0; round < ROUNDS_MAX && !(excess() <= 0); round++) {
    alone.push(await p99OfRequests())
    const close = await openSlowSockets()
    try {
      beside.push(await p99OfRequests())
    } finally {
      close()
    }
  }
  expect(excess()).toBeLessThanOrEqual(0)
})
