import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { z } from 'zod'
import {
  hasCode,
  openDataDir,
  readFileIfPresent,
  readOrMakeSecretFile,
  systemReason,
  writeSecretFile,
} from '../runtime/data-dir.ts'
import { isAlive, withFileLock } from '../runtime/file-lock.ts'
import { freePort, isFreePort } from '../runtime/free-port.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { findPostgresProgram, type PostgresProgram } from './postgres-program.ts'

/** The database of Paylink on the embedded server. */
const DATABASE = 'paylink'
const OWNER = 'postgres'
const SERVER_VERSION = '18'
/** A session of this name says: this process needs the server. The last one to leave stops it. */
const KEEPER = 'paylink-keeper'
const START_SECONDS_MAX = 90
const STOP_SECONDS_MAX = 30
const CONNECT_TIMEOUT_MS = 5_000
const PORT_TRIES_MAX = 5
const BUSY_POLL_MS = 100

const settingsShape = z.object({ port: z.number().int(), password: z.string() })
type Settings = z.output<typeof settingsShape>

type EmbeddedPostgres = {
  /** Connection string of the owner, with the database in it. */
  readonly ownerUrl: string
  /** Leaves the server; stops it where no other process of Paylink uses it. */
  stop(): Promise<void>
}

type Place = {
  readonly program: PostgresProgram
  readonly dataDir: string
  /** The cluster. */
  readonly folder: string
  readonly onStep: (line: string) => void
}

type Connection = { readonly port: number; readonly password: string; readonly keeper: pg.Client }

/**
 * The PostgreSQL server in `<dataDir>/postgres`: made on the first start, started where it does not run, and
 * shared where it does, whether another process of Paylink uses it or one that was killed left it behind. It
 * listens on 127.0.0.1 only, under a random password that is kept in `<dataDir>/postgres.json`. `onLost` is
 * called once if the server goes away for good before `stop`.
 */
export async function startEmbeddedPostgres(
  dataDir: string,
  on: { step?: (line: string) => void; lost?: (error: Error) => void } = {},
): Promise<EmbeddedPostgres> {
  await openDataDir(dataDir)
  const folder = join(dataDir, 'postgres')
  const place = { program: await findPostgresProgram(folder), dataDir, folder, onStep: on.step ?? (() => {}) }
  let connection = await connect(place)
  let leaving = false
  let reconnecting: Promise<void> = Promise.resolve()
  const stay = (keeper: pg.Client) => {
    let lost = false
    // Without a listener the loss of this connection would end the process by itself. It may be reported twice:
    // by the server's last words and by the end of the connection.
    keeper.on('error', (error) => {
      if (leaving || lost) return
      lost = true
      reconnecting = reconnect(place, connection.port, error).then(
        (next) => {
          connection = next
          stay(next.keeper)
        },
        (failure: Error) => on.lost?.(failure),
      )
    })
  }
  stay(connection.keeper)
  return {
    ownerUrl: urlOf(connection.port, connection.password, DATABASE),
    stop: async () => {
      leaving = true
      await reconnecting
      await leave(place, connection.keeper)
    },
  }
}

/** Starting and leaving exclude each other, so that nobody stops a server that another has just found running. */
const lockOf = (dataDir: string): string => join(dataDir, 'postgres.lock')

function connect(place: Place): Promise<Connection> {
  return withFileLock(lockOf(place.dataDir), async () => {
    const settings = await readSettings(place.dataDir)
    await initialise(place, settings.password)
    const giveUpAt = Date.now() + START_SECONDS_MAX * 1_000
    for (;;) {
      const running = await runningServer(place.folder)
      const port =
        typeof running === 'number' ? running : running === null ? await start(place, settings) : null
      try {
        if (port === null) throw new ServerBusy('it is starting')
        const keeper = await connectKeeper(port, settings.password)
        return { port, password: settings.password, keeper }
      } catch (error) {
        if (!isPassing(error) || Date.now() > giveUpAt) {
          throw new StartRefused(
            `the database server in ${place.folder} does not let us in: ${systemReason(error)}`,
            {
              cause: error,
            },
          )
        }
        await pause(BUSY_POLL_MS)
      }
    }
  })
}

/** A server that crashed recovers by itself, and one that was stopped is started; the port must stay, for the pools know it. */
async function reconnect(place: Place, port: number, lostBy: Error): Promise<Connection> {
  const next = await connect(place)
  if (next.port === port) return next
  await next.keeper.end()
  throw new Error(`the database server came back on port ${next.port} and not on ${port}`, { cause: lostBy })
}

async function leave(place: Place, keeper: pg.Client): Promise<void> {
  await withFileLock(lockOf(place.dataDir), async () => {
    const othersStay = await othersUse(keeper)
    await keeper.end()
    if (othersStay || (await runningServer(place.folder)) === null) return
    await place.program.pgCtl([
      '-D',
      place.folder,
      '-m',
      'fast',
      '-w',
      '-t',
      String(STOP_SECONDS_MAX),
      'stop',
    ])
  })
}

/** The server is there, but not ready to let anybody in. */
class ServerBusy extends Error {
  override name = 'ServerBusy'
}

/** Whether an error of connecting goes away by itself: the server is starting, recovering or stopping. */
function isPassing(error: unknown): boolean {
  return (
    error instanceof ServerBusy ||
    ['57P03', 'ECONNREFUSED', 'ECONNRESET'].some((code) => hasCode(error, code))
  )
}

async function readSettings(dataDir: string): Promise<Settings> {
  const path = join(dataDir, 'postgres.json')
  const text = await readOrMakeSecretFile(
    path,
    () => `${JSON.stringify({ port: 0, password: randomBytes(24).toString('base64url') })}\n`,
  )
  try {
    return settingsShape.parse(JSON.parse(text))
  } catch (error) {
    throw new StartRefused(`${path} is damaged: put back the file from your backup`, { cause: error })
  }
}

/** Makes the cluster beside its place and moves it there, so that a kill halfway leaves nothing that looks whole. */
async function initialise({ program, folder, onStep }: Place, password: string): Promise<void> {
  const version = (await readFileIfPresent(join(folder, 'PG_VERSION')))?.trim()
  if (version === SERVER_VERSION) return
  if (version !== undefined) {
    throw new StartRefused(
      `${folder} belongs to PostgreSQL ${version} and this version of Paylink brings ${SERVER_VERSION}: follow docs/operating.md, "Another PostgreSQL"`,
    )
  }
  onStep('making the database server')
  const fresh = `${folder}.new`
  const passwordFile = `${folder}.password`
  try {
    await rm(fresh, { recursive: true, force: true })
    await mkdir(fresh, { mode: 0o700 })
    await program.own(fresh)
    await writeSecretFile(passwordFile, `${password}\n`)
    await program.own(passwordFile)
    await program.initdb([
      `--pgdata=${fresh}`,
      `--username=${OWNER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--locale=C',
    ])
    await rename(fresh, folder)
  } catch (error) {
    throw new StartRefused(`the database server could not be made in ${folder}: ${commandReason(error)}`, {
      cause: error,
    })
  } finally {
    await rm(passwordFile, { force: true })
  }
}

/** The port of the server that runs on this folder, or null. A file left by a server that is no more is removed. */
async function runningServer(folder: string): Promise<number | 'starting' | null> {
  const path = join(folder, 'postmaster.pid')
  const lines = (await readFileIfPresent(path))?.split('\n')
  if (lines === undefined) return null
  const pid = Number(lines[0])
  if (isAlive(pid) && (await isPostgres(pid))) {
    const port = Number(lines[3])
    return Number.isSafeInteger(port) && port > 0 ? port : 'starting'
  }
  // PostgreSQL itself takes the file for a running server's where any process has that number now, as happens
  // in a container that was killed and started again.
  await rm(path, { force: true })
  return null
}

async function isPostgres(pid: number): Promise<boolean> {
  try {
    // `pid (name) state …`; a zombie, whose parent has not asked for its end yet, is no server.
    const [, name, state] = /\((.*)\) (\S)/.exec(await readFile(`/proc/${pid}/stat`, 'utf8')) ?? []
    return name === 'postgres' && state !== 'Z'
  } catch (error) {
    // No /proc on macOS: a living process of that number is taken for the server.
    return hasCode(error, 'ENOENT') && process.platform !== 'linux'
  }
}

async function start({ program, dataDir, folder, onStep }: Place, settings: Settings): Promise<number> {
  onStep('starting the database server')
  let port = settings.port
  for (let attempt = 1; ; attempt++) {
    if (port === 0 || !(await isFreePort(port))) port = await freePort()
    try {
      await program.pgCtl([
        ...['-D', folder, '-w', '-t', String(START_SECONDS_MAX), '-l', join(folder, 'server.log')],
        ...['-o', serverOptions(port), 'start'],
      ])
      break
    } catch (error) {
      const log = await lastLogLine(folder)
      // Between our look and the server's another program may have taken the port.
      if (attempt < PORT_TRIES_MAX && log.includes('could not create any TCP/IP sockets')) continue
      throw new StartRefused(
        `the database server in ${folder} did not start: ${log === '' ? commandReason(error) : log}`,
        { cause: error },
      )
    }
  }
  if (port !== settings.port) {
    await writeSecretFile(join(dataDir, 'postgres.json'), `${JSON.stringify({ ...settings, port })}\n`)
  }
  return port
}

/** Durability stays as PostgreSQL has it by default; it is said here because a payment depends on it. */
function serverOptions(port: number): string {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    // Files of the log are kept and written again: to make one of 16 MB holds up every commit for 20 to 70 ms.
    min_wal_size: '256MB',
    max_connections: '200',
    // Expected refusals of a statement (a duplicate, a guard) are no news, and a statement may hold a password.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
  }
  const flags = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)
  return [`-p ${port}`, ...flags].join(' ')
}

/** The last line of the server's log that says why it stopped. */
async function lastLogLine(folder: string): Promise<string> {
  const log = (await readFileIfPresent(join(folder, 'server.log'))) ?? ''
  const lines = log.trimEnd().split('\n').slice(-20)
  const fatal = lines.findLast((line) => /\b(FATAL|PANIC):/.test(line)) ?? lines.at(-1) ?? ''
  return fatal.replace(/^.*?\b(?:FATAL|PANIC): +/, '')
}

async function connectKeeper(port: number, password: string): Promise<pg.Client> {
  const keeper = new pg.Client({
    connectionString: urlOf(port, password, OWNER),
    application_name: KEEPER,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  })
  try {
    await keeper.connect()
    await ensureDatabase(keeper)
    return keeper
  } catch (error) {
    await keeper.end()
    throw error
  }
}

async function ensureDatabase(keeper: pg.Client): Promise<void> {
  const { rowCount } = await keeper.query('select from pg_database where datname = $1', [DATABASE])
  if (rowCount === 0) await keeper.query(`create database ${DATABASE}`)
}

async function othersUse(keeper: pg.Client): Promise<boolean> {
  try {
    const { rowCount } = await keeper.query(
      'select from pg_stat_activity where application_name = $1 and pid <> pg_backend_pid()',
      [KEEPER],
    )
    return rowCount !== 0
  } catch {
    // The server is gone or going: there is nobody left to ask, and stopping it again does no harm.
    return false
  }
}

function urlOf(port: number, password: string, database: string): string {
  return `postgresql://${OWNER}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`
}

/** The line of a failed command's output that says what is wrong. */
function commandReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const output = 'stderr' in error && typeof error.stderr === 'string' ? error.stderr : ''
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  return (
    lines.find((line) => /error|fatal|denied|space/i.test(line))?.trim() ??
    lines.at(-1)?.trim() ??
    systemReason(error)
  )
}
