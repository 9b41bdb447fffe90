import { type ChildProcess, spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { expectDeclared } from './declared-answers.ts'
import { freePort } from './free-port.ts'
import { makeMemoryFolder } from './memory-folder.ts'
import { until } from './until.ts'

export const PROGRAM = new URL('../../dist/main.js', import.meta.url).pathname
const READY_MS_MAX = 120_000
const EXIT_MS_MAX = 120_000

type Environment = { readonly [name: string]: string }

export type RunResult = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** The built program as a process of its own, as an operator runs it. */
export type App = {
  readonly baseUrl: string
  readonly operatorUrl: string
  readonly dataDir: string
  /** The demo shop's test key, as the start printed it. */
  readonly apiKey: string
  readonly checkoutUrl: string
  readonly pid: number
  /** Everything the process wrote so far. */
  stdout(): string
  stderr(): string
  /** Asks it to stop and waits; the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
  /** Ends it as a power cut would, and waits until it is gone. */
  kill(): Promise<void>
  signal(name: NodeJS.Signals): void
  exited(): Promise<number | null>
  /** A request to the API with the demo shop's key. */
  api(
    method: string,
    path: string,
    body?: object,
    headers?: Environment,
  ): Promise<{ status: number; body: unknown }>
  /** Runs a command of the program beside it, on the same data. */
  command(...args: string[]): Promise<RunResult>
}

/** A folder of its own for one program's data. */
export async function makeDataDir(): Promise<{ dataDir: string; remove(): Promise<void> }> {
  const folder = await makeMemoryFolder('paylink-app-')
  return {
    dataDir: join(folder, 'data'),
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 5 }),
  }
}

/** The same with a database: a first start without one makes a server, and runs every migration. */
export async function makePlace(): Promise<{
  dataDir: string
  database: TestDatabase
  remove(): Promise<void>
}> {
  const database = await createTestDatabase()
  const { dataDir, remove } = await makeDataDir()
  return {
    dataDir,
    database,
    remove: async () => {
      await database.drop()
      await remove()
    },
  }
}

type StartOptions = {
  readonly dataDir: string
  /** Absent: the program has a server of its own in the folder. */
  readonly database?: TestDatabase
  readonly env?: Environment
  readonly port?: number
  /** Another installation's `dist/main.js`. */
  readonly program?: string
  /** The folder that it is started in. */
  readonly cwd?: string
}

/** Starts all roles in the sandbox and waits until it has printed its banner. */
export async function startApp(options: StartOptions): Promise<App> {
  const port = options.port ?? (await freePort())
  const operatorPort = await freePort()
  const env = {
    DATA_DIR: options.dataDir,
    PORT: String(port),
    OPERATOR_PORT: String(operatorPort),
    ...(options.database === undefined ? {} : { DATABASE_URL: options.database.ownerUrl }),
    ...NO_EXCHANGES,
    ...options.env,
  }
  const child = spawnProgram(['start'], env, 'ignore', options.program, options.cwd)
  const written = collect(child)
  const exited = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
  await ready(child, () => {
    if (written.stdout().includes('Stop with Ctrl-C')) return true
    if (child.exitCode !== null)
      throw new Error(`the program ended with ${child.exitCode}:\n${written.stderr()}`)
    return false
  })
  const baseUrl = `http://127.0.0.1:${port}`
  const apiKey = /Test API key +(\S+)/.exec(written.stdout())?.[1]
  const checkoutUrl = /Open checkout +(\S+)/.exec(written.stdout())?.[1]
  if (apiKey === undefined || checkoutUrl === undefined || child.pid === undefined) {
    throw new Error(`the banner is not complete:\n${written.stdout()}`)
  }
  return {
    ...written,
    baseUrl,
    operatorUrl: `http://127.0.0.1:${operatorPort}`,
    dataDir: options.dataDir,
    apiKey,
    checkoutUrl,
    pid: child.pid,
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal)
      return await inTime(exited, child)
    },
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
    signal: (name) => void child.kill(name),
    exited: () => inTime(exited, child),
    api: (method, path, body, headers) => askApi(baseUrl + path, apiKey, method, body, headers),
    command: (...args) => runProgram(args, env),
  }
}

/** One that is never ready is ended: nobody else has it to end. */
async function ready(child: ChildProcess, isReady: () => boolean): Promise<void> {
  try {
    await until(isReady, { timeoutMs: READY_MS_MAX })
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}

/** One or several roles as a process of their own; ready when it says what it runs. */
export async function startRoles(
  roles: readonly string[],
  env: Environment,
  program?: string,
): Promise<{ stdout(): string; stderr(): string; stop(): Promise<number | null> }> {
  const child = spawnProgram(['start', ...roles], { ...NO_EXCHANGES, ...env }, 'ignore', program)
  const written = collect(child)
  const exited = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
  await ready(child, () => {
    if (child.exitCode !== null)
      throw new Error(`${roles} ended with ${child.exitCode}:\n${written.stderr()}`)
    return written.stdout().includes('paylink runs')
  })
  return {
    ...written,
    stop: async () => {
      child.kill('SIGTERM')
      return await inTime(exited, child)
    },
  }
}

/** No test asks a real exchange: nothing listens on port 9 of this machine. */
export const NO_EXCHANGES: Environment = {
  PRICE_COINBASE_URL: 'http://127.0.0.1:9',
  PRICE_KRAKEN_URL: 'http://127.0.0.1:9',
  PRICE_BITSTAMP_URL: 'http://127.0.0.1:9',
  CURRENCY_COINBASE_URL: 'http://127.0.0.1:9',
  CURRENCY_ECB_URL: 'http://127.0.0.1:9',
}

/** Starts the program and waits for nothing. */
export function startProgram(args: readonly string[], env: Environment) {
  const child = spawnProgram(args, { ...NO_EXCHANGES, ...env })
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  return {
    ...collect(child),
    signal: (name: NodeJS.Signals) => void child.kill(name),
    exited: () => inTime(exited, child),
  }
}

/** Runs the program to its end, with exactly the given variables beside PATH, and the text on its standard input. */
export async function runProgram(
  args: readonly string[],
  env: Environment,
  input?: string,
): Promise<RunResult> {
  const child = spawnProgram(args, { ...NO_EXCHANGES, ...env }, input === undefined ? 'ignore' : 'pipe')
  child.stdin?.end(input)
  const written = collect(child)
  const code = await inTime(new Promise<number | null>((resolve) => child.once('close', resolve)), child)
  return { code, stdout: written.stdout(), stderr: written.stderr() }
}

function spawnProgram(
  args: readonly string[],
  env: Environment,
  input: 'ignore' | 'pipe' = 'ignore',
  program = PROGRAM,
  cwd?: string,
): ChildProcess {
  return spawn(process.execPath, [program, ...args], {
    ...(cwd === undefined ? {} : { cwd }),
    stdio: [input, 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
  })
}

function collect(child: ChildProcess): { stdout(): string; stderr(): string } {
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  return { stdout: () => stdout, stderr: () => stderr }
}

async function inTime<Result>(ended: Promise<Result>, child: ChildProcess): Promise<Result> {
  const timer = setTimeout(() => child.kill('SIGKILL'), EXIT_MS_MAX)
  try {
    return await ended
  } finally {
    clearTimeout(timer)
  }
}

/** A request with a key; its answer is held to the API's document. */
export async function askApi(
  url: string,
  key: string,
  method: string,
  body?: object,
  headers: Environment = {},
) {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  expectDeclared(method, new URL(url).pathname, response.status, text)
  const answer: unknown = JSON.parse(text)
  return { status: response.status, body: answer }
}

/** A shop made by command, and a test key of it for invoices. */
export async function makeKey(env: Environment): Promise<string> {
  const merchant = await runProgram(
    ['merchant', 'create', '--name', 'S', '--email', 'a@b.example', '--json'],
    env,
  )
  const { id } = JSON.parse(merchant.stdout)
  const scopes = 'invoices:read,invoices:write'
  const args = ['key', 'create', '--merchant', id, '--mode', 'test', '--scopes', scopes, '--json']
  return JSON.parse((await runProgram(args, env)).stdout).key
}
