import { createServer, type Server } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPool } from '../src/postgres/pool.ts'

/** Messages of PostgreSQL's protocol 3: a kind, a length that counts itself, and a body. */
function message(kind: string, body: readonly number[]): Buffer {
  const head = Buffer.alloc(5)
  head.write(kind)
  head.writeInt32BE(4 + body.length, 1)
  return Buffer.concat([head, Buffer.from(body)])
}
const AUTHENTICATED = message('R', [0, 0, 0, 0])
const READY = message('Z', ['I'.charCodeAt(0)])
/** A row of five values, of which none follows. */
const CUT_OFF_ROW = message('D', [0, 5])

/** A server whose first connection answers a query with nonsense, and later ones with nothing. */
let server: Server
let connections = 0
beforeAll(async () => {
  server = createServer((socket) => {
    const isFirst = connections++ === 0
    socket.once('data', () => {
      socket.write(Buffer.concat([AUTHENTICATED, READY]))
      socket.on('data', () => socket.write(isFirst ? CUT_OFF_ROW : message('C', [0])))
      socket.on('data', () => socket.write(READY))
    })
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => server?.close())

test('an answer that cannot be read fails its query, and the next one has a new connection', async () => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const pool = openPool({
    connectionString: `postgresql://u:p@127.0.0.1:${address.port}/d`,
    applicationName: 'test',
    max: 1,
    onError: () => {},
  })
  await expect(pool.query('select 1')).rejects.toThrow(RangeError)
  expect((await pool.query('select 1')).rows).toEqual([])
  expect(connections).toBe(2)
  await pool.end()
})
