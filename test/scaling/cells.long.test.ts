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
import { startCellsDirectory } from './cells-directory.ts'
import { startSiteProxy, writeCellsProxy } from './cells-proxy.ts'
import { expectMoved, keepMoving, type MovingShop, writeEnvFiles } from './moving-shops.ts'
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
import { keepSigningIn, signUp } from './sign-ins.ts'
import { openTestNetwork, type TestMachine, type TestNetwork } from './test-network.ts'

/**
 * Three cells behind one address, as docs/cells.md describes them, on one chain that each watches for itself. For
 * minutes one thing after another is broken while shops of all cells sell, people sign in and shops move to other
 * cells. `CELLS_SECONDS` says for how long.
 */

const SECONDS = Number(process.env.CELLS_SECONDS ?? 600)
const SEED = Number(process.env.CELLS_SEED ?? randomInt(2 ** 31))
const CELLS = [0, 3, 40]
const SHOPS_OF_EACH = 2
/** Each moves twice, which takes about a minute. */
const MOVING_SHOPS_OF_EACH = Math.ceil(SECONDS / 180)
const CALLERS = 140
const BETWEEN_SALES_MS = 250
/** What no request takes in a cell where nothing is broken, on two cores that also run the rest. */
const SLOW_MS = 4_000
const RECOVERED_MS_MAX = 120_000
/** Until a new browser is signed in, where nothing is broken, and once the directory is back. */
const SIGNED_IN_MS_MAX = 20_000
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
  const directory = await startCellsDirectory(network, folder, CELLS)
  const started = []
  for (const number of CELLS) {
    const [own, prefix] = [join(folder, `cell${number}`), `c${number}-`]
    await mkdir(own)
    const database = await startPostgresPair(network, own, prefix)
    const chain =
      number === CELLS.at(-1) ? {} : { TEST_LITECOIN_RPC_URL: readerUrl(reader, `cell-${number}`) }
    const env = { CELL: String(number), BASE_URL: url, ...chain, ...directory.settings.get(number) }
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
  const proxy = startSiteProxy(front, await writeCellsProxy(folder, `${front.address}:80`, proxied))
  const hooks = `http://${network.ownAddress}:${receiver.port}/hooks`
  const cells: Cell[] = []
  for (const cell of started) {
    const shops: Shop[] = []
    while (shops.length < SHOPS_OF_EACH) shops.push(await openShop(cell.paylink, [url], hooks))
    cells.push({ ...cell, shops, person: await signUp(cell.number, cell.paylink.apiUrls[0] ?? '', url) })
  }
  await writeEnvFiles(folder, cells)
  const moving: MovingShop[] = []
  for (let round = 0; round < MOVING_SHOPS_OF_EACH; round++)
    for (const cell of cells)
      moving.push({ shop: await openShop(cell.paylink, [url], hooks, true), cells: [cell], sales: [] })
  return { url, cells, proxy, chains, reader, directory, moving }
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

/** From when to when something was so. */
type Span = { readonly from: number; readonly to: number }
/** A fault as it was: from when to when it may cost these cells requests. */
type Broken = Span & {
  readonly fault: Fault
  readonly cell: Cell
  readonly hit: readonly Cell[]
  readonly repairedAt: number
}

const isFailed = ({ status }: Attempt) => status === null || status >= 300
const isSlow = ({ startedAt, endedAt }: Attempt) => endedAt - startedAt > SLOW_MS
const unhit = ({ hit }: Broken) => site.cells.filter((cell) => !hit.includes(cell))
const attemptsOf = ({ shops }: Cell) => shops.flatMap(({ attempts }) => attempts)
const during = ({ from, to }: Span, { startedAt, endedAt }: Attempt) => startedAt <= to && endedAt >= from

test('cells are broken one after another: nothing is lost or doubled, and the others go on', {
  timeout: TIMEOUT_MS,
}, async () => {
  console.log(`seed ${SEED}, ${SECONDS} s`)
  const chain = new UtxoSandboxClient(await sandboxUrl(chains))
  const sold: Sale[] = []
  const errors: unknown[] = []
  // Until the last fault is over: that a cell sells again is seen by its shops.
  let over = false
  const isOver = () => over
  const noted = <Result>(work: Promise<Result>) => work.catch((error) => void errors.push(error))
  const keepSelling = async (shop: Shop) => {
    while (!over) {
      const sale = await sell(shop)
      sold.push(sale)
      await payOnChain(chain, sale.invoice)
      await pause(BETWEEN_SALES_MS)
    }
  }
  const [people, callers] = [site.cells.map(({ person }) => person), await network.callers(CALLERS)]
  const signingIn = people.map((person) => noted(keepSigningIn({ url: site.url, callers, isOver }, person)))
  await until(() => people.every(({ anew }) => anew.length > 0), { what: 'new browsers sign in' })
  const selling = site.cells.flatMap(({ shops }) => shops.map((shop) => noted(keepSelling(shop))))
  const moves = noted(keepMoving({ site, chain, folder, random: seededRandom(SEED + 1), isOver }))
  const broken = (await noted(breakUntil(Date.now() + SECONDS * 1_000))) ?? []
  over = true
  await Promise.all([...selling, ...signingIn])
  const moved = await moves
  expect(errors).toEqual([])
  expect(moved?.moves).toBeGreaterThan(0)
  console.log(`${sold.length} invoices, ${broken.length} faults\n${describe(broken)}`)
  console.log(`${JSON.stringify(moved)}; ${describeSignIns()}`)

  // Requests of a cell failed, or were slow, while something of that cell was broken, and at no other time.
  for (const cell of site.cells) {
    const missed = attemptsOf(cell).filter((attempt) => isFailed(attempt) || isSlow(attempt))
    const unexplained = [...missed, ...cell.person.known.filter(isFailed)].filter(
      (attempt) => !isExplained(attempt, broken, [cell]),
    )
    expect(unexplained.map((attempt) => ({ cell: cell.number, ...attempt }))).toEqual([])
  }
  // A new browser asks the first cell, which asks the directory.
  const ofDirectory = broken.filter(({ fault }) => fault.costs === 'new browsers')
  for (const cell of site.cells) {
    const late = cell.person.anew.filter(({ startedAt, endedAt }) => endedAt - startedAt > SIGNED_IN_MS_MAX)
    const causes = site.cells.slice(0, 1).concat(cell)
    expect(
      late.filter(
        (one) => !isExplained(one, broken, causes) && !ofDirectory.some((each) => during(each, one)),
      ),
    ).toEqual([])
    for (const { from, repairedAt } of ofDirectory) {
      const meanwhile = cell.person.known.filter((one) => one.startedAt > from && one.endedAt < repairedAt)
      expect(meanwhile.length).toBeGreaterThan(0)
    }
  }
  // While one was broken, each of the others sold.
  for (const each of broken.filter(({ from, to }) => to - from > SLOW_MS))
    for (const other of unhit(each))
      expect(attemptsOf(other).filter((attempt) => during(each, attempt)).length).toBeGreaterThan(0)

  const everMoved = site.moving.filter(({ sales }) => sales.length > 0)
  const all = [...sold, ...everMoved.flatMap(({ sales }) => sales)]
  const told = await expectAllSettled(all, receiver)
  for (const { paylink } of site.cells) await expectAuditOk(paylink)
  let ledgers = 0n
  for (const one of everMoved) ledgers += await expectMoved(one, site)
  for (const shop of site.cells.flatMap(({ shops }) => shops)) ledgers += await ledgerOf(shop)
  await expectUnionAgrees(all, { told, ledgers })
})

/** Whether something of these cells was broken at the time. */
const isExplained = (attempt: Attempt, broken: readonly Broken[], cells: readonly Cell[]) =>
  broken.some((each) => cells.some((cell) => each.hit.includes(cell)) && during(each, attempt))

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
    if (fault.costs === 'new browsers')
      await until(() => site.cells.every(({ person }) => (person.anew.at(-1)?.endedAt ?? 0) > repairedAt), {
        timeoutMs: SIGNED_IN_MS_MAX,
        what: 'new browsers sign in again',
      })
    broken.push({ fault, cell, hit, from, repairedAt, to: Date.now() })
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

function describeSignIns(): string {
  const people = site.cells.map(({ person }) => person)
  const [known, anew] = [people.flatMap((one) => one.known), people.flatMap((one) => one.anew)]
  return `${known.length} sign-ins with the cookie, ${known.filter(isFailed).length} failed; ${anew.length} of new browsers`
}

/** The coins that the chain has at the addresses, what the ledgers hold, and what shops were told of are the same. */
async function expectUnionAgrees(
  sold: readonly Sale[],
  { told, ledgers }: { readonly told: bigint; readonly ledgers: bigint },
): Promise<void> {
  const pools = await Promise.all(
    site.cells.map(async ({ database }) => {
      const { rows } = await database.ask(`select address from address where keyspace = 'litecoin-test'`)
      return z.array(z.object({ address: z.string() })).parse(rows)
    }),
  )
  const addresses = pools.flat().map(({ address }) => address)
  expect(new Set(addresses).size).toBe(addresses.length)
  const asked = sold.reduce((sum, { invoice }) => sum + unitsOf(invoice.amount), 0n)
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
