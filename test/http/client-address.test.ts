import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLIENT_ADDRESS_HEADER } from '../../src/http/api/client-address.ts'
import { type HttpServer, startHttpServer } from '../../src/http/server.ts'
import { freePort } from '../support/free-port.ts'

let server: HttpServer
let port: number
beforeAll(async () => {
  port = await freePort()
  server = await startHttpServer({
    host: '127.0.0.1',
    port,
    parts: [
      {
        name: 'echo',
        owns: () => true,
        fetch: ({ headers }) => {
          const one = headers.get(CLIENT_ADDRESS_HEADER)
          const ofAll = new Headers([...headers]).get(CLIENT_ADDRESS_HEADER)
          return new Response(one === ofAll ? one : `one of: ${one}; ${ofAll}`)
        },
      },
    ],
    log: pino({ level: 'silent' }),
  })
})
afterAll(() => server.stop(() => {}))

/** Whom the server takes the caller for, who comes by this machine, as a proxy does. */
const taken = async (headers: [string, string][]): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}/`, { headers })).text()

test('the caller’s address is the last one a near proxy added, and never what the caller says of itself', async () => {
  const forged: [string, string][] = [
    [CLIENT_ADDRESS_HEADER, '198.51.100.9'],
    [CLIENT_ADDRESS_HEADER.toUpperCase(), '198.51.100.9'],
  ]
  expect(await taken(forged)).toBe('127.0.0.1')
  expect(await taken([...forged, ['x-forwarded-for', '203.0.113.5']])).toBe('203.0.113.5')
  expect(await taken([['x-forwarded-for', '198.51.100.9, 203.0.113.5']])).toBe('203.0.113.5')
  for (const nonsense of ['', 'unknown', '203.0.113.5,', '203.0.113.5, <script>', '999.1.1.1'])
    expect(await taken([['x-forwarded-for', nonsense]])).toBe('127.0.0.1')
})

test('an address has one spelling', async () => {
  for (const spelling of [
    '203.0.113.5',
    '::ffff:203.0.113.5',
    '::FFFF:CB00:7105',
    '0:0:0:0:0:FFFF:cb00:7105',
  ])
    expect(await taken([['x-forwarded-for', spelling]])).toBe('203.0.113.5')
  for (const spelling of ['2001:db8::7', '2001:0DB8:0:0::0007', '2001:db8:0:0:0:0:0:7'])
    expect(await taken([['x-forwarded-for', spelling]])).toBe('2001:db8::7')
})
