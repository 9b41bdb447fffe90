// @module-tag haproxy
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'
import { type CellsProxy, startCellsProxy } from './cells-proxy.ts'

/** The file of the proxy before several cells, and what stands behind it says only which server it is. */

let servers: Server[] = []
let proxy: CellsProxy
afterEach(async () => {
  await proxy?.stop()
  for (const server of servers) end(server)
  servers = []
})

async function serve(name: string): Promise<{ readonly server: Server; readonly host: string }> {
  const server = createServer((_, answer) => answer.end(name)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  servers.push(server)
  return { server, host: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function end(server: Server): void {
  server.close()
  server.closeAllConnections()
}

const PATH = '/api/v1/invoices'
async function ask(site: string, key = 'sk_test_a'): Promise<readonly [status: number, body: string]> {
  const answer = await fetch(site + PATH, { headers: { authorization: `Bearer ${key}` } })
  return [answer.status, await answer.text()]
}

test('what a connection is asked while the proxy reads its map again is answered', async () => {
  const [first, third] = [await serve('first'), await serve('third')]
  const port = await freePort()
  const site = `http://127.0.0.1:${port}`
  proxy = await startCellsProxy(site, [
    { number: 0, servers: [first.host] },
    { number: 3, servers: [third.host] },
  ])
  const open = async (text: string) => {
    const socket = connect(port, '127.0.0.1').setEncoding('utf8')
    await once(socket, 'connect')
    socket.write(text)
    return socket
  }
  const head = `GET ${PATH} HTTP/1.1\r\nhost: a\r\n`
  const idle = await open(`${head}\r\n`)
  await once(idle, 'data')
  const slow = await open(head)
  expect(await ask(site, 'sk_test_09_a')).toEqual([200, 'first'])
  const learned = proxy.learn(['09 cell_03'])
  await until(async () => (await ask(site, 'sk_test_09_a'))[1] === 'third')
  idle.write(`${head}\r\n`)
  slow.write('\r\n')
  for (const socket of [idle, slow]) {
    const [answer] = await once(socket, 'data', { signal: AbortSignal.timeout(10_000) })
    expect(String(answer).split('\r\n')[0]).toBe('HTTP/1.1 200 OK')
    socket.destroy()
  }
  await learned
})

test('a process that died, which the proxy does not know yet, costs its cell no request', async () => {
  const [dead, alive] = [await serve('dead'), await serve('alive')]
  const site = `http://127.0.0.1:${await freePort()}`
  proxy = await startCellsProxy(site, [{ number: 0, servers: [dead.host, alive.host] }])
  end(dead.server)
  expect(await Promise.all(Array.from({ length: 6 }, () => ask(site)))).toEqual(Array(6).fill([200, 'alive']))
})
