import { spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { markInstallation } from '../../src/postgres/installation-mark.ts'
import { migrate } from '../../src/postgres/migrate.ts'
import { findPostgresProgram } from '../../src/postgres/postgres-program.ts'
import { freePort } from './free-port.ts'
import { makeMemoryFolder } from './memory-folder.ts'

export const TEMPLATE_DATABASE = 'paylink_template'

/** Of 103 bytes on macOS, the name of a socket itself takes up to 15. */
const SOCKET_FOLDER_LENGTH_MAX = 88

/** Not durable is what loses nothing unless the machine itself ends: as safe for tests, and many times as fast. */
type Durability = { readonly isDurable: boolean }

/**
 * A PostgreSQL server for tests: the one in `TEST_DATABASE_URL` (an owner that may create databases and
 * roles), or an embedded one in a temporary folder. It holds the migrated template.
 */
export async function startTestPostgres(
  options: Durability,
): Promise<{ ownerUrl: string; stop: () => Promise<void> }> {
  const given = process.env.TEST_DATABASE_URL
  if (given === undefined) return startOwnPostgres(options)
  await makeTemplate(given)
  return { ownerUrl: given, stop: async () => {} }
}

export type OwnPostgres = {
  readonly ownerUrl: string
  /** Stops the server (`immediate`: as a crash would) and resolves when it takes connections again. */
  restart(mode: 'fast' | 'immediate'): Promise<void>
  stop(): Promise<void>
}

/** An embedded server in a temporary folder, with the migrated template, to be stopped and started at will. */
export async function startOwnPostgres(options: Durability = { isDurable: true }): Promise<OwnPostgres> {
  const server = await startEmbedded(options)
  try {
    await makeTemplate(server.ownerUrl)
  } catch (error) {
    await server.stop()
    throw error
  }
  return server
}

async function startEmbedded({ isDurable }: Durability): Promise<OwnPostgres> {
  const folder = isDurable
    ? await mkdtemp(join(tmpdir(), 'paylink-postgres-'))
    : await makeMemoryFolder('paylink-postgres-')
  // mkdtemp makes a folder that only we may enter; as root the server runs as another user.
  await chmod(folder, 0o711)
  const data = join(folder, 'data')
  const port = await freePort()
  const program = await findPostgresProgram(data)
  endWithUs(folder)
  await mkdir(data, { mode: 0o700 })
  await program.own(data)
  const settings = [
    `fsync=${isDurable ? 'on' : 'off'}`,
    'listen_addresses=127.0.0.1',
    // In the folder that only it may enter; nothing where the path is longer than a socket's may be.
    `unix_socket_directories=${data.length < SOCKET_FOLDER_LENGTH_MAX ? data : ''}`,
    'max_connections=300',
    'log_min_messages=log',
    // Every database that is made or dropped is a checkpoint, after which each page is logged whole.
    ...(isDurable ? [] : ['full_page_writes=off', 'scram_iterations=1']),
  ]
  const options = [`-p ${port}`, ...settings.map((setting) => `-c ${setting}`)].join(' ')
  const trust = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync']
  await program.initdb([`--pgdata=${data}`, ...trust])
  const start = ['-D', data, '-w', '-l', join(data, 'server.log'), '-o', options]
  await program.pgCtl([...start, 'start'])
  return {
    ownerUrl: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    restart: async (mode) => {
      await program.pgCtl([...start, '-m', mode, 'restart'])
    },
    stop: async () => {
      await program.pgCtl(['-D', data, '-m', 'immediate', '-w', 'stop'])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** A run that is killed cannot stop its server: a process that outlives it does, and removes the folder. */
function endWithUs(folder: string): void {
  const script = `while kill -0 "$1" 2>/dev/null; do sleep 1; done
    kill -QUIT "$(head -n 1 "$2/data/postmaster.pid" 2>/dev/null)" 2>/dev/null; sleep 1; rm -rf "$2"`
  const keeper = spawn('sh', ['-c', script, 'sh', String(process.pid), folder], {
    detached: true,
    stdio: 'ignore',
  })
  keeper.unref()
}

export async function makeTemplate(ownerUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl })
  await client.connect()
  try {
    await client.query(`drop database if exists ${TEMPLATE_DATABASE} with (force)`)
    await client.query(`create database ${TEMPLATE_DATABASE}`)
  } finally {
    await client.end()
  }
  const templateUrl = databaseUrl(ownerUrl, TEMPLATE_DATABASE)
  await migrate(templateUrl)
  const template = new pg.Client({ connectionString: templateUrl })
  await template.connect()
  try {
    // As its owner's first start marks it.
    await markInstallation(template, { staging: false, cell: 0 }, 'the template')
  } finally {
    await template.end()
  }
}

/** The server's connection string with another database in it. */
export function databaseUrl(ownerUrl: string, database: string): string {
  const url = new URL(ownerUrl)
  url.pathname = `/${database}`
  return url.toString()
}
