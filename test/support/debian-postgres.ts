import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { programPath } from './programs.ts'

/**
 * The PostgreSQL of Debian, with the programs for backups that the embedded one lacks. Everything runs as the user
 * `postgres`, since PostgreSQL refuses root.
 */

const run = promisify(execFile)
const COMMAND_MS_MAX = 120_000
const COMMON_SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=200',
  'log_min_messages=warning',
]

export type DebianPostgres = {
  /** A folder that the user `postgres` may write, removed in the end. */
  readonly folder: string
  /** Makes a folder in it. */
  makeFolder(name: string): Promise<string>
  /** Runs one of PostgreSQL's programs; what it printed. */
  program(name: string, ...args: readonly string[]): Promise<string>
  /** Makes an empty cluster in a new folder of that name. */
  initialize(name: string): Promise<string>
  /** Starts a cluster and waits until it takes connections. */
  start(data: string, settings?: readonly string[]): Promise<{ url(database: string): string; port: number }>
  /** Ends a cluster as a power cut would. */
  crash(data: string): Promise<void>
  remove(): Promise<void>
}

export async function openDebianPostgres(): Promise<DebianPostgres> {
  const binaries = dirname(programPath('postgresql'))
  const identity = process.getuid?.() === 0 ? await identityOf('postgres') : {}
  const folder = await mkdtemp(join(tmpdir(), 'paylink-debian-'))
  await own(folder, identity)
  const running = new Set<string>()
  const program = async (name: string, ...args: readonly string[]) => {
    const options = {
      ...identity,
      cwd: folder,
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8', PGTZ: 'UTC' },
    }
    const { stdout } = await run(join(binaries, name), args, { ...options, timeout: COMMAND_MS_MAX })
    return stdout
  }
  const crash = async (data: string) => {
    running.delete(data)
    await program('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop')
  }
  const makeFolder = async (name: string) => {
    const path = join(folder, name)
    await mkdir(path, { mode: 0o700 })
    await own(path, identity)
    return path
  }
  return {
    folder,
    makeFolder,
    program,
    crash,
    initialize: async (name) => {
      const data = await makeFolder(name)
      await program(
        'initdb',
        '-D',
        data,
        '-U',
        'postgres',
        '--auth=trust',
        '--encoding=UTF8',
        '--locale=C.UTF-8',
        '--no-sync',
      )
      return data
    },
    start: async (data, settings = []) => {
      const port = await freePort()
      const options = [...COMMON_SETTINGS, ...settings].map((setting) => `-c ${quoted(setting)}`).join(' ')
      await program('pg_ctl', '-D', data, '-w', '-l', `${data}.log`, '-o', `-p ${port} ${options}`, 'start')
      running.add(data)
      return { port, url: (database) => `postgresql://postgres@127.0.0.1:${port}/${database}` }
    },
    remove: async () => {
      for (const data of [...running]) await crash(data)
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

const quoted = (setting: string): string => `'${setting.replaceAll("'", "'\\''")}'`

async function own(path: string, { uid, gid }: { uid?: number; gid?: number }): Promise<void> {
  await chmod(path, 0o711)
  if (uid !== undefined && gid !== undefined) await chown(path, uid, gid)
}

/** A user's numbers, as the system knows them. */
export async function identityOf(user: string): Promise<{ uid: number; gid: number }> {
  const [uid, gid] = await Promise.all([run('id', ['-u', user]), run('id', ['-g', user])])
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
}
