import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { writeCellsProxy } from '../test/scaling/cells-proxy.ts'
import { runProgram } from '../test/support/app.ts'
import { createTestDatabase } from '../test/support/database.ts'
import { freePort } from '../test/support/free-port.ts'
import { startOwnPostgres } from '../test/support/postgres-server.ts'
import { until } from '../test/support/until.ts'
import { median, printFigure, spread } from './support/figure.ts'
import { driveHttp } from './support/http-load.ts'
import { numberOf } from './support/number-of.ts'
import { startPaylink } from './support/paylink.ts'
import {
  createProcessorGroup,
  PERIODS_PER_SECOND,
  type ProcessorGroup,
  parentOf,
} from './support/processor-quota.ts'
import { processorTimeOf } from './support/processor-time.ts'
import { createSignedPool, openNetwork } from './support/signed-pool.ts'

/**
 * Each cell with a PostgreSQL of its own in a share of a processor, so small that all of them, HAProxy and the load
 * together leave room on two cores: what a cell does is then limited by its own share. Their data is in memory, since
 * they would share one disk here.
 */
const COUNTS = [1, 2, 4]
const CORES_OF_EACH = numberOf('CELL_CORES', 0.12)
const ROUNDS = numberOf('CELL_ROUNDS', 6)
const ROUND_SECONDS = 6
/** Of each cell: so many that its requests always wait for one another, and share as much as they can. */
const CLIENTS = 32
const ADDRESSES = 25_000

type Cell = {
  readonly number: number
  readonly port: number
  readonly key: string
  readonly group: ProcessorGroup
}

test('creating invoices with one, two and four cells behind one address', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'paylink-bench-'))
  const ends: (() => unknown)[] = [() => rm(folder, { recursive: true, force: true })]
  try {
    const ours = createProcessorGroup('load')
    ends.push(ours.close)
    const port = await freePort()
    const cells: Cell[] = []
    for (let number = 0; number < Math.max(...COUNTS); number++)
      cells.push(await startCell(number, `http://127.0.0.1:${port}`, join(folder, String(number)), ends))
    const proxy = await startProxy(folder, port, cells)
    ends.push(() => proxy.kill())
    for (const pid of [process.pid, proxy.pid ?? 0]) ours.add(pid)

    await load(port, cells)
    for (const { group } of cells) group.limitTo(CORES_OF_EACH)
    await load(port, cells)
    const usedBefore = processorTimeOf(proxy.pid ?? 0)
    const turns = new Map<number, Turn[]>(COUNTS.map((count) => [count, []]))
    for (let round = 1; round <= ROUNDS; round++)
      for (const [count, measured] of turns) {
        // Another one begins each round: none is the warmest of all.
        const begun = [...cells.slice(round % cells.length), ...cells.slice(0, round % cells.length)]
        measured.push(await load(port, begun.slice(0, count)))
      }
    const invoices = [...turns.values()]
      .flat()
      .reduce((sum, { perSecond }) => sum + perSecond * ROUND_SECONDS, 0)
    const proxyUs = processorTimeOf(proxy.pid ?? 0) - usedBefore
    printFigure({
      name: "the proxy's processor time for a request, without encryption",
      target: 'measured',
      measured: `${(proxyUs / invoices).toFixed(0)} µs`,
    })
    const alone = median((turns.get(1) ?? []).map(({ perSecond }) => perSecond))
    for (const [count, measured] of turns) {
      const rates = measured.map(({ perSecond }) => perSecond)
      const ratios = rates.map((rate) => rate / alone / count)
      printFigure({
        name: `create-invoice with ${count} cells of ${CORES_OF_EACH} cores ÷ ${count} times one cell`,
        target: '≥ 0.9',
        measured: median(ratios).toFixed(2),
        detail: `spread ${spread(ratios)}; ${median(rates).toFixed(0)}/s (${spread(rates)}), a cell stopped at its share in ${spread(measured.map(({ stopped }) => stopped))} of its time`,
      })
    }
  } finally {
    for (const end of ends.reverse()) await end()
  }
})

/** A PostgreSQL and an API process with a merchant, in a group of their own. */
async function startCell(
  number: number,
  baseUrl: string,
  folder: string,
  ends: (() => unknown)[],
): Promise<Cell> {
  await mkdir(folder)
  const group = createProcessorGroup(`cell${number}`)
  ends.push(group.close)
  const server = await startOwnPostgres({ isDurable: false })
  ends.push(server.stop)
  const database = await createTestDatabase(server.ownerUrl, 'template1')
  ends.push(database.drop)
  const port = await freePort()
  const env = {
    DATABASE_URL: database.ownerUrl,
    API_DATABASE_URL: database.urls.api,
    WATCHER_DATABASE_URL: database.urls.watcher,
    DELIVERY_DATABASE_URL: database.urls.delivery,
    SIGNER_DATABASE_URL: database.urls.signer,
    DATA_DIR: folder,
    PORT: String(port),
    OPERATOR_PORT: String(await freePort()),
    BASE_URL: baseUrl,
    CELL: String(number),
    RATE_LIMIT_TEST: '100000',
    OPEN_INVOICES_MAX: '1000000',
  }
  expect((await runProgram(['migrate'], env)).code).toBe(0)
  const paylink = await startPaylink(['api'], env)
  ends.push(paylink.stop)
  const { key } = await paylink.createKey()
  await openNetwork(database)
  await (await createSignedPool(folder)).fill(database, ADDRESSES)
  // A connection's parent is the server itself.
  const { rows } = await database.owner.query('select pg_backend_pid() as pid')
  const [{ pid } = { pid: 0 }] = z.array(z.object({ pid: z.number() })).parse(rows)
  group.add(parentOf(pid) ?? 0)
  group.add(paylink.pid)
  return { number, port, key, group }
}

async function startProxy(folder: string, port: number, cells: readonly Cell[]): Promise<ChildProcess> {
  const proxied = cells.map(({ number, port: at }) => ({ number, servers: [`127.0.0.1:${at}`] }))
  const config = await writeCellsProxy(folder, `127.0.0.1:${port}`, proxied)
  const proxy = spawn('haproxy', ['-db', '-f', config], { stdio: 'ignore' })
  await until(async () => (await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null))?.status === 200)
  return proxy
}

/** Invoices a second of all these cells together, and in what part of the time each was stopped at its share. */
type Turn = { readonly perSecond: number; readonly stopped: number }

async function load(port: number, cells: readonly Cell[]): Promise<Turn> {
  const body = '{"usd_amount":"49.99","asset":"LTC","external_reference":"order-1","metadata":{"cart":"A"}}'
  const requestOf = (key: string) => () =>
    `POST /api/v1/invoices HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n` +
    `idempotency-key: ${randomBytes(12).toString('hex')}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const stoppedBefore = cells.map(({ group }) => group.stoppedPeriods())
  const each = await Promise.all(
    cells.map(({ key }) =>
      driveHttp({ port, connections: CLIENTS, durationMs: ROUND_SECONDS * 1000, request: requestOf(key) }),
    ),
  )
  for (const { statuses } of each) expect([...statuses.keys()]).toEqual([201])
  const stopped = cells.map(({ group }, at) => group.stoppedPeriods() - (stoppedBefore[at] ?? 0))
  return {
    perSecond: each.reduce((sum, { perSecond }) => sum + perSecond, 0),
    stopped: median(stopped) / ROUND_SECONDS / PERIODS_PER_SECOND,
  }
}
