import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPool, type Pool } from '../../src/postgres/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { createTestPeople, PASSWORD, type TestPeople } from '../support/people.ts'

let database: TestDatabase
let line: Line
let pool: Pool
let people: TestPeople
beforeAll(async () => {
  database = await createTestDatabase()
  const url = new URL(database.urls.api)
  line = await openLine(Number(url.port))
  url.port = String(line.port)
  pool = openPool({ connectionString: url.href, applicationName: 'test', max: 4, onError: () => {} })
  people = await createTestPeople({ pool })
})
afterAll(async () => {
  await people.drop()
  await pool.end()
  await line.close()
  await database.drop()
})

type Line = {
  readonly port: number
  /** Ends every connection and takes no new one. */
  cut(): void
  mend(): void
  close(): Promise<void>
}

/** A line to the database that can be cut. */
async function openLine(target: number): Promise<Line> {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    if (isCut) {
      near.destroy()
      return
    }
    const far = connect(target, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.pipe(other)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    cut: () => {
      isCut = true
      for (const socket of sockets) socket.destroy()
    },
    mend: () => {
      isCut = false
    },
    close: async () => {
      server.close()
      await once(server, 'close')
    },
  }
}

test('while the database is away every answer is a 503, nobody is signed out, and then all is as before', async () => {
  const { browser, email, merchantId } = await people.signUp('Ada')
  const cookies = new Map(browser.cookies)
  const requests = [
    ['GET', '/api/v1/invoices'],
    ['GET', '/api/auth/get-session'],
    ['GET', '/api/auth/list-sessions'],
    ['GET', '/api/auth/organization/list'],
    ['GET', `/api/auth/organization/list-members?organizationId=${merchantId}`],
    ['GET', '/api/auth/passkey/list-user-passkeys'],
    ['POST', '/api/auth/two-factor/enable', { password: PASSWORD }],
    [
      'POST',
      '/api/auth/change-password',
      { currentPassword: PASSWORD, newPassword: PASSWORD, revokeOtherSessions: true },
    ],
    ['POST', '/api/auth/organization/set-active', { organizationId: merchantId }],
    ['POST', '/api/auth/organization/leave', { organizationId: merchantId }],
    ['POST', '/api/auth/open-shop', { name: 'Another' }],
    ['POST', '/api/auth/sign-in/email', { email, password: PASSWORD }],
  ] as const
  line.cut()
  for (const [method, path, body] of requests) {
    const answer = await browser.ask(method, path, body)
    expect([path, answer.status, answer.headers.get('retry-after')]).toEqual([path, 503, '1'])
    expect([path, answer.headers.getSetCookie()]).toEqual([path, []])
  }
  expect(browser.cookies).toEqual(cookies)
  line.mend()
  expect((await browser.ask('GET', '/api/v1/invoices')).status).toBe(200)
  expect((await browser.ask('GET', '/api/auth/get-session')).body.user.email).toBe(email)
  expect((await people.browser().ask('GET', '/api/auth/list-sessions')).status).toBe(401)
})
