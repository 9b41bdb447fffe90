import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { inject } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { databaseUrl } from '../support/postgres-server.ts'
import { programPath } from '../support/programs.ts'
import { until } from '../support/until.ts'

const FOLDER = new URL('../../examples/receivers/', import.meta.url).pathname
const READY_MS_MAX = 120_000

type Language = {
  readonly command: (port: number) => readonly [string, ...string[]]
  readonly env: { readonly [name: string]: string }
}

const LANGUAGES = {
  node: {
    command: () => [process.execPath, `${FOLDER}node/receiver.mjs`],
    env: {},
  },
  python: {
    command: () => [programPath('python'), `${FOLDER}python/receiver.py`],
    env: { PYTHONDONTWRITEBYTECODE: '1' },
  },
  php: {
    command: (port) => [programPath('php'), '-S', `127.0.0.1:${port}`, `${FOLDER}php/receiver.php`],
    env: { PHP_CLI_SERVER_WORKERS: '4' },
  },
} as const satisfies { readonly [name: string]: Language }
export type LanguageName = keyof typeof LANGUAGES
export const LANGUAGE_PROGRAMS = { node: null, python: 'python', php: 'php' } as const
export const LANGUAGE_NAMES = Object.keys(LANGUAGES) as LanguageName[]

export type Shop = {
  readonly databaseUrl: string
  readonly pool: pg.Pool
  drop(): Promise<void>
}

/** A database of a shop's own, with the tables of the example. */
export async function createShop(): Promise<Shop> {
  const server = inject('postgresUrl')
  const name = `shop_test_${randomBytes(6).toString('hex')}`
  const admin = new pg.Pool({ connectionString: server, max: 1 })
  await admin.query(`create database ${name}`)
  const url = databaseUrl(server, name)
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  pool.on('error', () => {})
  await pool.query(await readFile(`${FOLDER}schema.sql`, 'utf8'))
  return {
    databaseUrl: url,
    pool,
    drop: async () => {
      await pool.end()
      await admin.query(`drop database ${name} with (force)`)
      await admin.end()
    },
  }
}

export type ExampleReceiver = {
  readonly url: string
  readonly port: number
  /** Everything it wrote, on both outputs. */
  log(): string
  stop(): Promise<void>
}

/** Starts the example in that language on a shop's database. Fails with the command that installs what is missing. */
export async function startExample(
  language: LanguageName,
  shop: Shop,
  secrets: readonly string[],
  givenPort?: number,
): Promise<ExampleReceiver> {
  const { command, env }: Language = LANGUAGES[language]
  const port = givenPort ?? (await freePort())
  const variables = { ...env, DATABASE_URL: shop.databaseUrl, WEBHOOK_SECRETS: secrets.join(',') }
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    port,
    ...(await startServer(command(port), port, variables)),
  }
}

/** Starts a program that listens on the port, and waits until it answers 404 where it has nothing. */
export async function startServer(
  command: readonly [string, ...string[]],
  port: number,
  env: { readonly [name: string]: string },
): Promise<{ log(): string; stop(): Promise<void> }> {
  const [program, ...args] = command
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: PHP's server has workers, which must end with it.
    detached: true,
    env: { PATH: process.env.PATH, ...env, PORT: String(port) },
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text
    })
  }
  await until(
    () => {
      if (child.exitCode !== null) throw new Error(`${program} ${args.join(' ')} ended:\n${log}`)
      return answers(port)
    },
    { timeoutMs: READY_MS_MAX },
  )
  return { log: () => log, stop: () => stopGroup(child) }
}

function answers(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' }).then(
    (response) => response.status === 404,
    () => false,
  )
}

async function stopGroup(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('close', resolve))
  if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
  await ended
}
