import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { z } from 'zod'
import { readCell } from '../../src/core/cells.ts'
import { parseId } from '../../src/core/ids.ts'
import type { UtxoSandboxClient } from '../../src/sandbox/utxo/utxo-sandbox-client.ts'
import { PROGRAM } from '../support/app.ts'
import type { Random } from '../support/random.ts'
import { until } from '../support/until.ts'
import type { Cell, Site } from './cell-faults.ts'
import { INSIST_MS_MAX, ledgerOf, payOnChain, type Sale, type Shop, sell } from './shop.ts'

/** Shops of a test that are moved from cell to cell while they sell, by a command that is killed at random. */

const BETWEEN_SALES_MS = 400
const SALES_BEFORE = 3

/** A shop, with the cells where it has been, in their order, and all that it sold. */
export type MovingShop = { readonly shop: Shop; readonly cells: Cell[]; readonly sales: Sale[] }

type Surroundings = {
  readonly site: Site
  readonly chain: UtxoSandboxClient
  readonly random: Random
  /** Where the env files of the cells are. */
  readonly folder: string
  isOver(): boolean
}

type Counts = { moves: number; killed: number; failed: number }

const envFileOf = (folder: string, { number }: Cell) => join(folder, `cell${number}.env`)

export async function writeEnvFiles(folder: string, cells: readonly Cell[]): Promise<void> {
  for (const cell of cells) {
    const lines = Object.entries(cell.paylink.settings).map(([name, value]) => `${name}=${value}\n`)
    await writeFile(envFileOf(folder, cell), lines.join(''))
  }
}

/** One shop after the other goes through all cells, none of which it comes back to. What was done. */
export async function keepMoving(around: Surroundings): Promise<Counts> {
  const counts = { moves: 0, killed: 0, failed: 0 }
  for (const moving of around.site.moving) {
    const left = around.site.cells.filter((cell) => !moving.cells.includes(cell))
    if (around.random.chance(0.5)) left.reverse()
    for (const target of left) {
      if (around.isOver()) return counts
      await moveOn(moving, target, around, counts)
    }
  }
  return counts
}

const cellOf = ({ invoice }: Sale): number | null => {
  const uuid = parseId('invoice', invoice.id)
  return uuid === null ? null : readCell(uuid)
}

/** Sells before, while and after it moves. One buyer of before pays when all is done: to the old cell. */
async function moveOn(moving: MovingShop, target: Cell, around: Surroundings, counts: Counts): Promise<void> {
  const { shop, sales } = moving
  const before = sales.length
  const keepSelling = async (isDone: () => boolean) => {
    while (!isDone()) {
      const sale = await sell(shop)
      sales.push(sale)
      if (sales.length > before + 1) await payOnChain(around.chain, sale.invoice)
      await pause(BETWEEN_SALES_MS)
    }
  }
  await keepSelling(() => sales.length >= before + SALES_BEFORE)
  let isThere = false
  const selling = keepSelling(() => isThere)
  const moved = (async () => {
    const map = await runMove(moving, target, around, counts)
    await around.site.proxy.learn(map)
    moving.cells.push(target)
    await until(() => sales.slice(-SALES_BEFORE).every((sale) => cellOf(sale) === target.number), {
      timeoutMs: INSIST_MS_MAX,
      what: `${shop.merchantId} sells in cell ${target.number}`,
    })
  })()
  await Promise.all([
    selling,
    moved.finally(() => {
      isThere = true
    }),
  ])
  const late = sales[before]
  if (late !== undefined) await payOnChain(around.chain, late.invoice)
  counts.moves += 1
}

const movedShape = z.object({ map: z.array(z.string()).min(1) })

/** The command, killed at random moments, and then run until it ends well: the lines of the map. */
async function runMove(
  { shop, cells }: MovingShop,
  target: Cell,
  { random, folder }: Surroundings,
  counts: Counts,
): Promise<readonly string[]> {
  const source = cells.at(-1)
  const [machine] = source?.paylink.machines ?? []
  if (source === undefined || machine === undefined) throw new Error('it is nowhere')
  const args = ['merchant', 'move', shop.merchantId, '--to-env', envFileOf(folder, target), '--json']
  while (random.chance(0.6)) {
    const program = { name: 'move', file: process.execPath, args: [PROGRAM, ...args] }
    const running = machine.start({ ...program, env: source.paylink.settings })
    await pause(500 + random.below(4_000))
    if (running.isRunning()) counts.killed += 1
    await running.kill()
  }
  const giveUpAt = Date.now() + INSIST_MS_MAX
  for (;;) {
    const { code, stdout, stderr } = await source.paylink.command(...args)
    if (code === 0) return movedShape.parse(JSON.parse(stdout)).map
    // A cell of the two is broken: the same command again.
    counts.failed += 1
    console.log(`a move failed: ${stderr.trim().split('\n').at(-1)}`)
    if (Date.now() > giveUpAt) throw new Error(`paylink merchant move: ${stdout}${stderr}`)
    await pause(1_000)
  }
}

const storedShape = z.array(z.object({ id: z.string(), status: z.string() }))

/**
 * Each key made one invoice over all cells, in the cell that its id names, where it was paid; asked again, each key is
 * answered with the same one. Returns what the shop has in the ledgers of the cells where it was, in base units.
 */
export async function expectMoved({ shop, cells, sales }: MovingShop, site: Site): Promise<bigint> {
  const stored = []
  for (const { number, database } of site.cells) {
    const invoices = `select id, status from invoice where merchant_id = '${shop.merchantId}'`
    for (const row of storedShape.parse((await database.ask(invoices)).rows))
      stored.push({ ...row, cell: number })
  }
  const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1)
  const sold = sales.map((sale) => ({ id: sale.invoice.id, status: 'paid', cell: cellOf(sale) }))
  expect(stored.sort(byId)).toEqual(sold.sort(byId))
  expect([...new Set(sales.map(cellOf))]).toEqual(cells.map(({ number }) => number))
  for (const { idempotencyKey, invoice } of sales)
    expect((await sell(shop, idempotencyKey)).invoice.id).toBe(invoice.id)
  let sum = 0n
  for (const { paylink } of cells) sum += await ledgerOf({ ...shop, urls: paylink.apiUrls })
  return sum
}
