// @module-tag haproxy
// @module-tag postgresql
import { randomInt } from 'node:crypto'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { SandboxRpc } from '../../src/sandbox/sandbox-rpc.ts'
import { UtxoSandboxClient } from '../../src/sandbox/utxo/utxo-sandbox-client.ts'
import { scriptOfAddress } from '../../src/sandbox/utxo/utxo-wallet.ts'
import { PROGRAM } from '../support/app.ts'
import { seededRandom } from '../support/random.ts'
import { until } from '../support/until.ts'
import { answerChallenges, startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { type Cell, costCells, FAULTS, type Fault, type Site } from './cell-faults.ts'
import { writeCellsProxy } from './cells-proxy.ts'
import { type SandboxChains, startPaylinkMachines, startSandboxChains } from './paylink-machines.ts'
import { startPostgresPair } from './postgres-pair.ts'
import {
  type Attempt,
  expectAllSettled,
  expectAuditOk,
  ledgerOf,
  openShop,
  payOnChain,
  type Sale,
  type Shop,
  sandboxUrl,
  sell,
  unitsOf,
} from './shop.ts'
import { openTestNetwork, type TestMachine, type TestNetwork } from './test-network.ts'

/**
 * Three cells behind one address, as docs/scaling.md describes them, on one chain that each watches for itself. For
 * minutes one thing after another is broken while shops of all cells sell. `CELLS_SECONDS` says for how long.
 */

const SECONDS = Number(process.env.CELLS_SECONDS ?? 600)
const SEED = Number(process.env.CELLS_SEED ?? randomInt(2 ** 31))
const CELLS = [0, 3, 40]
const SHOPS_OF_EACH = 2
const BETWEEN_SALES_MS = 250
/** What no request takes in a cell where nothing is broken, on two cores that also run the rest. */
const SLOW_MS = 4_000
const RECOVERED_MS_MAX = 120_000
const TIMEOUT_MS = SECONDS * 1_000 + 900_000
const LAYOUT = { app1: ['api', 'watcher', 'delivery', 'signer'], app2: ['api', 'watcher'] }

let folder: string
let network: TestNetwork
let receiver: WebhookReceiver
let chains: SandboxChains
let site: Site
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paylink-cells-'))
  await chmod(folder, 0o711)
  network = await openTestNetwork(folder)
  receiver = await startReceiver({ host: network.ownAddress, respond: answerChallenges })
  chains = await startSandboxChains(network, folder)
  site = await startSite()
}, TIMEOUT_MS)
afterAll(async () => {
  await receiver?.close()
  await network?.close()
  if (process.env.CELLS_KEEP !== '1') await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}, TIMEOUT_MS)

async function startSite(): Promise<Site> {
  const [front, reader] = [await network.machine('proxy'), await network.machine('reader')]
  const url = `http://${front.address}`
  await startReader(reader)
  const started = []
  for (const number of CELLS) {
    const [own, prefix] = [join(folder, `cell${number}`), `c${number}-`]
    await mkdir(own)
    const database = await startPostgresPair(network, own, prefix)
    const chain =
      number === CELLS.at(-1) ? {} : { TEST_LITECOIN_RPC_URL: readerUrl(reader, `cell-${number}`) }
    const env = { CELL: String(number), BASE_URL: url, ...chain }
    const options = { folder: own, layout: LAYOUT, prefix, env }
    started.push({
      number,
      database,
      paylink: await startPaylinkMachines(network, database.machines, chains, options),
    })
  }
  const proxied = started.map(({ number, paylink }) => ({
    number,
    servers: paylink.apiUrls.map((api) => new URL(api).host),
  }))
  const proxy = proxyOn(front, await writeCellsProxy(folder, `${front.address}:80`, proxied))
  proxy.start()
  const hooks = `http://${network.ownAddress}:${receiver.port}/hooks`
  const cells: Cell[] = []
  for (const cell of started) {
    const shops: Shop[] = []
    while (shops.length < SHOPS_OF_EACH) shops.push(await openShop(cell.paylink, [url], hooks))
    cells.push({ ...cell, shops })
  }
  return { cells, proxy, chains, reader }
}

const READER_TOKEN = 'a-token-of-three-cells'
const readerUrl = ({ address }: TestMachine, name: string) =>
  `http://${name}:${READER_TOKEN}@${address}:8555/litecoin-test/0`

/** The role `reader` before the sandbox chain. */
async function startReader(machine: TestMachine): Promise<void> {
  await until(() => sandboxUrl(chains).then(Boolean, () => false), { what: 'the chain is there' })
  const nodes = { TEST_LITECOIN_RPC_URL: await sandboxUrl(chains) }
  const dataDir = join(folder, 'reader')
  await mkdir(dataDir)
  const env = { ...nodes, READER_HOST: machine.address, READER_TOKEN, DATA_DIR: dataDir }
  machine.keep({ name: 'reader', file: process.execPath, args: [PROGRAM, 'start', 'reader'], env })
}

function proxyOn(machine: TestMachine, config: string): Site['proxy'] {
  const launch = () =>
    machine.start({ name: 'cells-proxy', file: '/usr/sbin/haproxy', args: ['-db', '-f', config] })
  let running: ReturnType<typeof launch> | null = null
  return {
    kill: async () => running?.kill(),
    start: () => {
      running = launch()
    },
  }
}

/** A fault as it was: from when to when it may cost these cells requests. */
type Broken = {
  readonly fault: Fault
  readonly cell: Cell
  readonly hit: readonly Cell[]
  readonly from: number
  readonly to: number
}

const isFailed = ({ status }: Attempt) => status === null || status >= 300
const isSlow = ({ startedAt, endedAt }: Attempt) => endedAt - startedAt > SLOW_MS
const unhit = ({ hit }: Broken) => site.cells.filter((cell) => !hit.includes(cell))
const attemptsOf = ({ shops }: Cell) => shops.flatMap(({ attempts }) => attempts)
const during = ({ from, to }: Broken, { startedAt, endedAt }: Attempt) => startedAt <= to && endedAt >= from

test('cells are broken one after another: nothing is lost or doubled, and the others go on', {
  timeout: TIMEOUT_MS,
}, async () => {
  console.log(`seed ${SEED}, ${SECONDS} s`)
  const chain = new UtxoSandboxClient(await sandboxUrl(chains))
  const sold: Sale[] = []
  const errors: unknown[] = []
  const endsAt = Date.now() + SECONDS * 1_000
  // Until the last fault is over: that a cell sells again is seen by its shops.
  let isOver = false
  const keepSelling = async (shop: Shop) => {
    while (!isOver) {
      const sale = await sell(shop)
      sold.push(sale)
      await payOnChain(chain, sale.invoice)
      await pause(BETWEEN_SALES_MS)
    }
  }
  const selling = site.cells.flatMap(({ shops }) =>
    shops.map((shop) => keepSelling(shop).catch((error) => void errors.push(error))),
  )
  const broken = await breakUntil(endsAt).finally(() => {
    isOver = true
  })
  await Promise.all(selling)
  expect(errors).toEqual([])
  console.log(`${sold.length} invoices, ${broken.length} faults\n${describe(broken)}`)

  // Requests of a cell failed, or were slow, while something of that cell was broken, and at no other time.
  for (const cell of site.cells) {
    const missed = attemptsOf(cell).filter((attempt) => isFailed(attempt) || isSlow(attempt))
    const causes = broken.filter(({ hit }) => hit.includes(cell))
    const unexplained = missed.filter((attempt) => !causes.some((cause) => during(cause, attempt)))
    expect(unexplained.map((attempt) => ({ cell: cell.number, ...attempt }))).toEqual([])
  }
  // While one was broken, each of the others sold.
  for (const each of broken.filter(({ from, to }) => to - from > SLOW_MS))
    for (const other of unhit(each))
      expect(attemptsOf(other).filter((attempt) => during(each, attempt)).length).toBeGreaterThan(0)

  const told = await expectAllSettled(sold, receiver)
  for (const { paylink } of site.cells) await expectAuditOk(paylink)
  await expectUnionAgrees(sold, told)
})

/** One fault after another at random, once each first; each is over when what it broke sells again. */
async function breakUntil(endsAt: number): Promise<readonly Broken[]> {
  const random = seededRandom(SEED)
  const broken: Broken[] = []
  while (Date.now() < endsAt) {
    await pause(1_000 + random.below(2_000))
    const fault = FAULTS[broken.length] ?? random.pick(FAULTS)
    const cell = random.pick(site.cells)
    const from = Date.now()
    await fault.carryOut(cell, site, random)
    const repairedAt = Date.now()
    const hit = costCells(fault, cell, site)
    for (const each of hit) {
      await each.database.untilWhole()
      await until(() => each.shops.every((shop) => sellsSince(shop, repairedAt)), {
        timeoutMs: RECOVERED_MS_MAX,
        what: `cell ${each.number} sold again after: ${fault.name}`,
      })
    }
    broken.push({ fault, cell, hit, from, to: Date.now() })
  }
  return broken
}

/** Whether what it asked for lately was answered, twice in a row. */
function sellsSince({ attempts }: Shop, since: number): boolean {
  const [one, two] = attempts.slice(-2)
  return one !== undefined && two !== undefined && one.startedAt > since && !isFailed(one) && !isFailed(two)
}

function describe(broken: readonly Broken[]): string {
  const lines = broken.map((each) => {
    const { fault, cell, hit, from, to } = each
    const within = (cells: readonly Cell[]) =>
      cells.flatMap(attemptsOf).filter((attempt) => during(each, attempt))
    const others = within(unhit(each))
    const slowest = others.reduce((most, { startedAt, endedAt }) => Math.max(most, endedAt - startedAt), 0)
    const count = (attempts: readonly Attempt[]) =>
      `${attempts.filter(isFailed).length} of ${attempts.length} failed`
    return `${fault.name}, cell ${cell.number}, ${to - from} ms: ${count(within(hit))}; elsewhere ${count(others)}, slowest ${slowest} ms`
  })
  return lines.join('\n')
}

/** The coins that the chain has at the addresses, what the ledgers hold, and what shops were told of are the same. */
async function expectUnionAgrees(sold: readonly Sale[], told: bigint): Promise<void> {
  const pools = await Promise.all(
    site.cells.map(async ({ database }) => {
      const { rows } = await database.ask(`select address from address where keyspace = 'litecoin-test'`)
      return z.array(z.object({ address: z.string() })).parse(rows)
    }),
  )
  const addresses = pools.flat().map(({ address }) => address)
  expect(new Set(addresses).size).toBe(addresses.length)
  const asked = sold.reduce((sum, { invoice }) => sum + unitsOf(invoice.amount), 0n)
  let ledgers = 0n
  for (const shop of site.cells.flatMap(({ shops }) => shops)) ledgers += await ledgerOf(shop)
  const coins = await coinsAt(sold.map(({ invoice }) => invoice.address))
  console.log(`${addresses.length} addresses, ${asked} base units sold`)
  expect({ told, ledgers, coins }).toEqual({ told: asked, ledgers: asked, coins: asked })
}

const outputsShape = z.array(z.object({ value: z.number(), scriptPubKey: z.object({ hex: z.string() }) }))
const blockShape = z.object({ tx: z.array(z.object({ vout: outputsShape })) })

/** What all blocks of the chain pay to the addresses, in base units. */
async function coinsAt(addresses: readonly string[]): Promise<bigint> {
  const rpc = new SandboxRpc(await sandboxUrl(chains))
  const scripts = new Set(
    addresses.map((address) => Buffer.from(scriptOfAddress(address, 'rltc') ?? []).toString('hex')),
  )
  let sum = 0n
  const height = await rpc.call('getblockcount', [], z.int())
  for (let at = 1; at <= height; at++) {
    const hash = await rpc.call('getblockhash', [at], z.string())
    const { tx } = await rpc.call('getblock', [hash, 2], blockShape)
    for (const { value, scriptPubKey } of tx.flatMap(({ vout }) => vout))
      if (scripts.has(scriptPubKey.hex)) sum += BigInt(Math.round(value * 1e8))
  }
  await rpc.close()
  return sum
}
