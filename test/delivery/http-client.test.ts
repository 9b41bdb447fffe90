import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createHttpClient, type HttpClient } from '../../src/delivery/http-client.ts'
import { createDnsResolver, type ResolveHost, resolveBySystem } from '../../src/delivery/resolve-host.ts'
import { type SendOutcome, sendEvent } from '../../src/delivery/send.ts'
import { type Random, seededRandom } from '../support/random.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { startDnsServer } from './dns-server.ts'
import { hostileAnswer, hostileRecord } from './hostile-bytes.ts'

const closes: (() => Promise<unknown>)[] = []
let receiver: WebhookReceiver

beforeEach(async () => {
  receiver = await startReceiver()
  closes.push(() => receiver.close())
})
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close()
})

const certificate = (name: string) =>
  readFileSync(new URL(`../support/certificates/${name}.pem`, import.meta.url), 'utf8')
/** The deadline of an attempt, and more for a machine with more to do: without one, an attempt would never end. */
const DEADLINE_AND_SLACK_MS = 25_000
const toLoopback: ResolveHost = async () => ['127.0.0.1']

function client(policy: { publicOnly: boolean; resolve?: ResolveHost }): HttpClient {
  const http = createHttpClient({
    publicOnly: policy.publicOnly,
    resolve: policy.resolve ?? resolveBySystem,
    ca: certificate('authority'),
  })
  closes.push(() => http.close())
  return http
}

function post(http: HttpClient, url: string): Promise<SendOutcome> {
  return sendEvent(
    { http, clock: () => new Date() },
    {
      queue: 'we_test',
      url,
      eventId: 'evt_test',
      schemaVersion: 1,
      body: Buffer.from('{"id":"evt_test"}'),
      secrets: ['whsec_test'],
    },
  )
}

/** A server of raw sockets. */
async function startSocketServer(
  onSocket: (socket: Socket, number: number) => void,
): Promise<{ url: string; accepted(): number }> {
  const sockets = new Set<Socket>()
  let accepted = 0
  const server: Server = createServer((socket) => {
    accepted += 1
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    onSocket(socket, accepted)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closes.push(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://localhost:${(server.address() as AddressInfo).port}/`, accepted: () => accepted }
}

const ANSWERS_SEED = 20_261_121
const ANSWERS = process.env.LONG === '1' ? 20_000 : 400
const ANSWERS_TIMEOUT_MS = process.env.LONG === '1' ? 600_000 : 180_000

test('no spelling of a private address is ever connected to', async () => {
  const http = client({ publicOnly: true, resolve: toLoopback })
  const tls = await startReceiver({ tls: { key: certificate('good.key'), cert: certificate('good') } })
  closes.push(() => tls.close())
  for (const host of [
    'localhost',
    'shop.test',
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '0x7f.1',
    '0x7f000001',
    '0177.1',
    '017700000001',
    '2130706433',
    '127.0.0.1.',
    '１２７.１',
    '127。0。0。1',
    '%31%32%37.1',
    '0.0.0.0',
    '0',
    '10.0.0.1',
    '192.168.0.1',
    '169.254.169.254',
    '[::1]',
    '[::]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[::7f00:1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b::127.0.0.1]',
    '[2002:7f00:1::]',
    '[fe80::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '0x7f.0.0.1',
    '127.0x0.1',
    '①②⑦.⓪.⓪.①',
    '127．0．0．1',
    '100.64.0.1',
    '172.16.0.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '[::ffff:a9fe:a9fe]',
    '[64:ff9b:1::7f00:1]',
    '[2001:0:7f00:1::]',
    '[fec0::1]',
    '[ff02::1]',
  ]) {
    expect([host, (await post(http, `https://${host}:${tls.port}/hooks`)).code]).toEqual([
      host,
      'address_refused',
    ])
  }
  // What was taken while private receivers were allowed is looked at again here, its port too.
  for (const port of [22, 25, 444, 1_023]) {
    expect([port, (await post(http, `https://shop.test:${port}/`)).code]).toEqual([port, 'address_refused'])
  }
  expect(tls.connections()).toBe(0)
  expect((await post(http, receiver.url)).code).toBe('address_refused')
  expect(receiver.connections()).toBe(0)
})

test('a name is refused when any one of its addresses is not public', async () => {
  const dns = await startDnsServer(() => [])
  closes.push(() => dns.close())
  const http = client({ publicOnly: true, resolve: createDnsResolver([dns.address]) })
  for (const addresses of [
    ['127.0.0.1'],
    ['2d00::1', '127.0.0.1'],
    ['2d00::1', '10.0.0.1', '2d00::2'],
    ['2d00::1', '::1'],
    ['2d00::1', '::ffff:127.0.0.1'],
    ['64:ff9b::7f00:1'],
    ['2002:7f00:1::'],
    ['169.254.169.254'],
  ]) {
    dns.answer = () => addresses
    expect([addresses, (await post(http, `https://shop.test:${receiver.port}/`)).code]).toEqual([
      addresses,
      'address_refused',
    ])
  }
  dns.answer = () => []
  expect((await post(http, `https://shop.test:${receiver.port}/`)).code).toBe('dns')
  expect(receiver.connections()).toBe(0)
})

test('no port of another service is connected to, nor its name looked up', async () => {
  let asked = 0
  const resolve: ResolveHost = async () => {
    asked += 1
    return ['2d00::1']
  }
  const http = client({ publicOnly: true, resolve })
  for (const port of [1, 22, 25, 80, 1_023]) {
    expect([port, (await post(http, `https://shop.test:${port}/`)).code]).toEqual([port, 'address_refused'])
  }
  expect(asked).toBe(0)
})

test('a name that turns private between two look-ups is never connected to: the vetted address is dialled', async () => {
  // 2d00::/8 is public by its form and given to nobody: a connection there fails.
  let asked = 0
  const dns = await startDnsServer(() => {
    asked += 1
    return asked <= 2 ? ['2d00::1'] : ['127.0.0.1']
  })
  closes.push(() => dns.close())
  const http = client({ publicOnly: true, resolve: createDnsResolver([dns.address]) })
  expect((await post(http, `https://shop.test:${receiver.port}/`)).code).toBe('connect')
  expect(dns.queries.map((query) => query.type).sort()).toEqual(['A', 'AAAA'])
  expect((await post(http, `https://shop.test:${receiver.port}/`)).code).toBe('address_refused')
  expect(receiver.connections()).toBe(0)
})

test('each fault of a certificate has its code, and not a byte of the event is sent', async () => {
  for (const [name, code] of [
    ['expired', 'tls_expired'],
    ['other-host', 'tls_wrong_host'],
    ['self-signed', 'tls_untrusted'],
    ['good', 'ok'],
  ] as const) {
    const server = await startReceiver({ tls: { key: certificate(`${name}.key`), cert: certificate(name) } })
    closes.push(() => server.close())
    const http = client({ publicOnly: false, resolve: toLoopback })
    const outcome = await post(http, `https://shop.test:${server.port}/`)
    expect([name, outcome.code]).toEqual([name, code])
    expect(server.events).toHaveLength(code === 'ok' ? 1 : 0)
    expect(server.connections()).toBe(1)
  }
  const http = client({ publicOnly: false, resolve: toLoopback })
  expect((await post(http, `https://shop.test:${receiver.port}/`)).code).toBe('tls')
})

test('a refused, unknown or silent receiver has its code', async () => {
  const http = client({ publicOnly: false })
  expect((await post(http, 'http://localhost:1/')).code).toBe('connect')
  expect((await post(http, 'http://no-such-host.invalid/')).code).toBe('dns')
  const nonsense = await startSocketServer((socket) => socket.end('this is not HTTP\r\n\r\n'))
  expect((await post(http, nonsense.url)).code).toBe('malformed_response')
  const headers = await startSocketServer((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\n${'x-large: '.concat('a'.repeat(60), '\r\n').repeat(1_000)}\r\n`)
  })
  expect((await post(http, headers.url)).code).toBe('malformed_response')
})

test('whatever bytes a receiver answers with, in plain text or over TLS, the fault is reported as its own', {
  timeout: ANSWERS_TIMEOUT_MS,
}, async () => {
  const random = seededRandom(ANSWERS_SEED)
  const http = client({ publicOnly: false, resolve: toLoopback })
  const server = await startSocketServer((socket) => {
    socket.once('data', () => socket.end(hostileAnswer(random), 'latin1'))
  })
  const secureUrl = await startHostileTlsServer(random)
  const codes = new Set<string>()
  for (let round = 0; round < ANSWERS; round++) {
    const { code, error, retryAfterMs } = await post(http, round % 4 === 0 ? secureUrl : server.url)
    if (code === 'internal') throw new Error(`round ${round} of seed ${ANSWERS_SEED}`, { cause: error })
    expect(retryAfterMs ?? 0).toBeGreaterThanOrEqual(0)
    codes.add(code)
  }
  expect([...codes]).toEqual(expect.arrayContaining(['ok', 'http_status', 'malformed_response', 'reset']))
})

/** Its handshake is real; what follows is an answer, or bytes that its TLS session never made. */
async function startHostileTlsServer(random: Random): Promise<string> {
  const sockets = new Map<number, Socket>()
  const server = createTlsServer({ key: certificate('good.key'), cert: certificate('good') }, (secure) => {
    secure.on('error', () => secure.destroy())
    secure.once('data', () => {
      if (random.chance(0.5)) secure.end(hostileAnswer(random), 'latin1')
      else sockets.get(secure.remotePort ?? 0)?.end(hostileRecord(random), 'latin1')
    })
  })
  server.on('connection', (socket: Socket) => sockets.set(socket.remotePort ?? 0, socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closes.push(async () => {
    for (const socket of sockets.values()) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return `https://shop.test:${(server.address() as AddressInfo).port}/`
}

test('every attempt ends at ten seconds, however slow the receiver, its TLS or its DNS', async () => {
  const drip = (socket: Socket, first: string): void => {
    socket.write(first)
    const timer = setInterval(() => socket.write('a'), 200)
    socket.on('close', () => clearInterval(timer))
  }
  const silent = await startSocketServer(() => {})
  const slowHeaders = await startSocketServer((socket) => drip(socket, 'HTTP/1.1 200 OK\r\nx-slow: '))
  const interim = await startSocketServer((socket) => {
    const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 200)
    socket.on('close', () => clearInterval(timer))
  })
  const slowBody = await startSocketServer((socket) =>
    drip(socket, 'HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n'),
  )
  const dns = await startDnsServer(() => null)
  closes.push(() => dns.close())
  const loose = client({ publicOnly: false })
  const strict = client({ publicOnly: true, resolve: createDnsResolver([dns.address]) })
  const timed = async (http: HttpClient, url: string) => {
    const startedAt = performance.now()
    const { code } = await post(http, url)
    return { code, withinTheDeadline: performance.now() - startedAt < DEADLINE_AND_SLACK_MS }
  }
  const outcomes = await Promise.all([
    timed(loose, silent.url),
    timed(loose, slowHeaders.url),
    timed(loose, interim.url),
    timed(loose, slowBody.url),
    timed(loose, silent.url.replace('http:', 'https:')),
    timed(strict, 'https://shop.test/'),
  ])
  expect(outcomes).toEqual(
    ['timeout', 'timeout', 'timeout', 'ok', 'tls', 'dns'].map((code) => ({ code, withinTheDeadline: true })),
  )
})

test('bodies of any size are thrown away unread past a small cap, and cost no more than their connection', async () => {
  const http = client({ publicOnly: false })
  const chunk = Buffer.alloc(64 * 1024, 'x')
  let sent = 0
  receiver.respond = (event, response) => {
    if (event.path === '/gzip') {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(10_000_000)))
      return
    }
    response.writeHead(event.path === '/error' ? 500 : 200)
    const more = (): void => {
      while (!response.destroyed) {
        sent += chunk.length
        if (!response.write(chunk)) break
      }
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  }
  const before = process.memoryUsage().rss
  const base = `http://localhost:${receiver.port}`
  const paths = Array.from({ length: 48 }, (_, index) => ['/endless', '/error', '/gzip'][index % 3] ?? '')
  const outcomes = await Promise.all(paths.map((path) => post(http, base + path)))
  expect(outcomes.map((outcome) => outcome.code)).toEqual(
    paths.map((path) => (path === '/error' ? 'http_status' : 'ok')),
  )
  expect(process.memoryUsage().rss - before).toBeLessThan(400_000_000)
  expect(sent).toBeLessThan(48 * 20_000_000)
})

test('a kept connection that was reset before any answer is tried once more on a fresh one, and only then', async () => {
  const http = client({ publicOnly: false })
  const stale = await startSocketServer((socket, number) => {
    let requests = 0
    socket.on('data', () => {
      requests += 1
      if (number === 1 && requests === 2) socket.resetAndDestroy()
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n')
    })
  })
  expect((await post(http, stale.url)).code).toBe('ok')
  expect(stale.accepted()).toBe(1)
  expect((await post(http, stale.url)).code).toBe('ok')
  expect(stale.accepted()).toBe(2)

  const resetting = await startSocketServer((socket) => socket.on('data', () => socket.resetAndDestroy()))
  expect((await post(http, resetting.url)).code).toBe('reset')
  expect(resetting.accepted()).toBe(1)
})

test('connections are kept and used again', async () => {
  const http = client({ publicOnly: false })
  for (let index = 0; index < 20; index++) expect((await post(http, receiver.url)).code).toBe('ok')
  expect(receiver.connections()).toBe(1)
})

test('a connection of five minutes ago is not used again: its name may lead elsewhere by now', async () => {
  const http = client({ publicOnly: false })
  const now = performance.now.bind(performance)
  let later = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + later)
  closes.push(async () => clock.mockRestore())
  expect((await post(http, receiver.url)).code).toBe('ok')
  later = 5 * 60_000 - 10_000
  expect((await post(http, receiver.url)).code).toBe('ok')
  expect(receiver.connections()).toBe(1)
  later = 5 * 60_000
  expect((await post(http, receiver.url)).code).toBe('ok')
  expect(receiver.connections()).toBe(2)
})

test('nothing of the signing secret leaves in any header', async () => {
  const http = client({ publicOnly: false })
  await post(http, receiver.url)
  const seen = JSON.stringify(receiver.events[0]?.headers)
  for (const encoding of ['utf8', 'hex', 'base64'] as const) {
    expect(seen).not.toContain(Buffer.from('whsec_test').toString(encoding))
  }
  expect(Object.keys(receiver.events[0]?.headers ?? {}).sort()).toEqual([
    'connection',
    'content-length',
    'content-type',
    'host',
    'paylink-event-id',
    'paylink-signature',
    'paylink-version',
    'user-agent',
    'webhook-id',
    'webhook-signature',
    'webhook-timestamp',
  ])
})
