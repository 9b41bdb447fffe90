import { spawn } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { childEnvironment } from '../config/child-environment.ts'
import { ConfigError } from '../config/config-values.ts'
import { readEnvFile } from '../config/env-file.ts'
import { COINS, PAYMENT_ASSET_IDS } from '../core/assets.ts'
import { cellOfTag, cellTag } from '../core/cells.ts'
import { formatCoinAmount, parseCoinAmount } from '../core/money.ts'
import type { Output } from './command-context.ts'
import { EXIT_FAILED } from './exit-codes.ts'
import { UsageError } from './usage-error.ts'

const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url))
const FILE = /^([0-9a-z]{2})\.env$/
/** As doctor names the seed behind a cell's public keys. */
const SEED = /; seed ([0-9a-f]{16})$/m

/** What makes sense in every cell, and whether it takes --json. Nothing that starts a role or names what one cell has. */
const COMMANDS = new Map([
  ['access check', true],
  ['audit', true],
  ['doctor', false],
  ['fees status', true],
  ['migrate', false],
  ['operator list', true],
  ['signer status', true],
  ['upgrade', false],
])

type Ended = { readonly exitCode: number; readonly stdout: string; readonly stderr: string }
type Cell = { readonly tag: string; readonly path: string }

/** `paylink cells each`: runs a command for every cell, with the env file of each; one that fails stops no other. */
export async function eachCellCommand(
  command: readonly string[],
  options: { readonly envFiles: string; readonly json: boolean },
  output: Output,
): Promise<number> {
  const name = [command.slice(0, 2).join(' '), command[0] ?? ''].find((words) => COMMANDS.has(words))
  if (name === undefined)
    throw new UsageError(
      `${command.join(' ')} runs in no cell. Give one of: ${[...COMMANDS.keys()].join(', ')}`,
    )
  const asJson = options.json && COMMANDS.get(name) === true
  const args = asJson && !command.includes('--json') ? [...command, '--json'] : command
  const ended = new Map<string, Ended>()
  for (const cell of await cellsIn(options.envFiles)) {
    if (!options.json) output.line(`${ended.size === 0 ? '' : '\n'}Cell ${cell.tag}`)
    const problem = problemOf(cell)
    if (problem !== null && !options.json) output.problem(problem)
    const failed = { exitCode: EXIT_FAILED, stdout: '', stderr: problem ?? '' }
    ended.set(cell.tag, problem === null ? await run(args, cell.path, options.json) : failed)
  }
  const shared = sharedSeeds(ended)
  for (const tags of shared)
    output.problem(
      `Cells ${tags.join(' and ')} have one seed, and show the same addresses to customers of different merchants. Stop all of them but one, and see docs/cells.md`,
    )
  if (options.json) output.line(JSON.stringify(report(ended, asJson, name)))
  else {
    const failed = [...ended].filter(([, { exitCode }]) => exitCode !== 0).map(([tag]) => tag)
    if (failed.length > 0)
      output.problem(`Failed in ${failed.length} of ${ended.size} cells: ${failed.join(', ')}`)
  }
  return Math.max(shared.length > 0 ? EXIT_FAILED : 0, ...[...ended.values()].map(({ exitCode }) => exitCode))
}

/** Cells by the seed that doctor named, where several named the same. */
function sharedSeeds(ended: ReadonlyMap<string, Ended>): string[][] {
  const cells = new Map<string, string[]>()
  for (const [tag, { stdout }] of ended) {
    const seed = stdout.match(SEED)?.[1]
    if (seed !== undefined) cells.set(seed, [...(cells.get(seed) ?? []), tag])
  }
  return [...cells.values()].filter(({ length }) => length > 1)
}

async function cellsIn(folder: string): Promise<Cell[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw new UsageError(`--env-files: ${resolve(folder)} cannot be read`, { cause: error })
  })
  const cells = names.sort().flatMap((name) => {
    const [, tag] = name.match(FILE) ?? []
    return tag === undefined ? [] : { tag, path: resolve(join(folder, name)) }
  })
  if (cells.length === 0)
    throw new UsageError(`--env-files: ${resolve(folder)} holds no env file such as 00.env or 03.env`)
  return cells
}

/** What is wrong with an env file: it would lead to another cell's database, or to a new one. */
function problemOf({ tag, path }: Cell): string | null {
  try {
    const { CELL, DATABASE_URL, DATA_DIR } = readEnvFile(path)
    const cell = tag === cellTag(0) ? 0 : cellOfTag(tag)
    if (cell === null) return `${path} is named after no cell: cell 3 is 03.env`
    if (Number(CELL || 0) !== cell) return `${path} must say CELL=${cell}`
    return DATABASE_URL || DATA_DIR ? null : `${path} names no database: set DATABASE_URL or DATA_DIR`
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
}

/** The command as a process of its own, which takes no setting of ours; what it prints is shown at once unless captured, and kept. */
function run(args: readonly string[], envFile: string, isCaptured: boolean): Promise<Ended> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    stdio: ['ignore', 'pipe', isCaptured ? 'pipe' : 'inherit'],
    env: childEnvironment({ PAYLINK_ENV_FILE: envFile }),
  })
  let [stdout, stderr] = ['', '']
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    if (!isCaptured) process.stdout.write(text)
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  return new Promise((done, fail) => {
    child.once('error', fail)
    child.once('close', (code) => done({ exitCode: code ?? EXIT_FAILED, stdout, stderr }))
  })
}

/** By cell: exit code, what it printed and the problems that it named; of fees also the sums over all cells. */
function report(ended: ReadonlyMap<string, Ended>, asJson: boolean, name: string): object {
  const outputs = [...ended].map(([tag, { exitCode, stdout, stderr }]) => {
    const text = stdout.trim()
    const output: unknown = asJson && text !== '' ? JSON.parse(text) : text === '' ? null : text
    return [tag, { exit_code: exitCode, output, problems: stderr.trim() }] as const
  })
  const cells = Object.fromEntries(outputs)
  return name === 'fees status'
    ? { cells, fees: sumOfFees(outputs.map(([, { output }]) => output)) }
    : { cells }
}

const feesShape = z.object({
  fees: z.array(
    z.object({
      livemode: z.boolean(),
      asset: z.enum(PAYMENT_ASSET_IDS),
      collected: z.string(),
      reserved: z.string(),
      owed: z.string(),
    }),
  ),
})
const PARTS = ['collected', 'reserved', 'owed'] as const

/** Of the cells that answered, by mode and coin. */
function sumOfFees(outputs: readonly unknown[]): object[] {
  const sums = new Map<string, { livemode: boolean; asset: string; [part: string]: string | boolean }>()
  for (const row of outputs.flatMap((output) => (output === null ? [] : feesShape.parse(output).fees))) {
    const { livemode, asset } = row
    const { decimals } = COINS[asset]
    const sum = sums.get(`${livemode} ${asset}`) ?? { livemode, asset }
    for (const part of PARTS)
      sum[part] = formatCoinAmount(
        unitsOf(sum[part] ?? '0', decimals) + unitsOf(row[part], decimals),
        decimals,
      )
    sums.set(`${livemode} ${asset}`, sum)
  }
  return [...sums.values()]
}

function unitsOf(amount: unknown, decimals: number): bigint {
  const units = parseCoinAmount(String(amount), decimals)
  if (units === null) throw new Error(`${amount} is no amount of a coin`)
  return units
}
