import { appendFile, chmod, chown, mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type pg from 'pg'
import { identityOf } from '../support/debian-postgres.ts'
import { programPath } from '../support/programs.ts'
import { until } from '../support/until.ts'
import { askServer, killServer } from './postgres-cluster.ts'
import type { StartedChild, TestMachine, TestNetwork } from './test-network.ts'

const START_MS_MAX = 120_000
const SETTINGS = {
  wal_level: 'replica',
  // As in Patroni's strict mode: a primary without a standby takes no commits.
  synchronous_standby_names: '*',
  max_connections: '200',
  wal_keep_size: '256MB',
}
/** What HAProxy asks, answered as Patroni does: is the server of this machine up, and no standby? */
const CHECK = `
const [address, data] = process.argv.slice(1)
require('node:http').createServer((request, response) => {
  const end = (isPrimary) => response.writeHead(isPrimary ? 200 : 503).end()
  const socket = require('node:net').connect(5432, address)
  socket.once('error', () => end(false))
  socket.once('connect', () => { socket.destroy(); end(!require('node:fs').existsSync(data + '/standby.signal')) })
}).listen(8008, address)`

/**
 * A primary and its synchronous standby, each on a machine. Without Patroni: three cells of it are nine of its
 * processes and nine of etcd, and test/scaling/cluster.long.test.ts has its failovers. Here the test promotes.
 */
export type PostgresPair = {
  readonly machines: readonly TestMachine[]
  /** One statement, asked of the primary as the owner of Paylink's database. */
  ask(statement: string): Promise<pg.QueryResult>
  /** Ends the primary as a crash does; then either it starts again, or the standby takes its place and it becomes one. */
  crashPrimary(): Promise<void>
  restartPrimary(): Promise<void>
  promoteStandby(): Promise<void>
  crashStandby(): Promise<void>
  restartStandby(): Promise<void>
  /** Waits until the standby has all that the primary commits. */
  untilWhole(): Promise<void>
}

/** One alone, with nobody behind it. */
export type LonePostgres = {
  readonly machine: TestMachine
  kill(): Promise<void>
  start(): void
}

type Server = { readonly machine: TestMachine; readonly home: string; running: StartedChild | null }

const binary = (name: string) => join(dirname(programPath('postgresql')), name)
const dataOf = ({ home }: Server) => join(home, 'data')

async function openServer(machine: TestMachine, home: string): Promise<Server> {
  const { uid, gid } = await identityOf('postgres')
  await mkdir(home)
  await chown(home, uid, gid)
  await chmod(home, 0o700)
  return { machine, home, running: null }
}

async function asPostgres({ machine }: Server, name: string, ...args: readonly string[]): Promise<void> {
  const user = ['--reuid=postgres', '--regid=postgres', '--init-groups']
  const ended = await machine.run('setpriv', [...user, binary(name), ...args])
  if (ended.code !== 0) throw new Error(`${name}: ${ended.stdout}${ended.stderr}`)
}

async function initialize(server: Server): Promise<void> {
  const trust = ['--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync']
  await asPostgres(server, 'initdb', '-D', dataOf(server), '-U', 'postgres', ...trust)
  const lines = 'host all all all trust\nhost replication all all trust\n'
  await appendFile(join(dataOf(server), 'pg_hba.conf'), lines)
}

function start(server: Server, settings: { readonly [name: string]: string } = SETTINGS): void {
  const { machine, home } = server
  const own = { ...settings, listen_addresses: machine.address, unix_socket_directories: home }
  const args = [
    '-D',
    dataOf(server),
    ...Object.entries(own).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
  ]
  const program = { name: `postgres-${machine.name}`, file: binary('postgres'), args, user: 'postgres' }
  server.running = machine.start(program)
}

const untilTrue = ({ machine }: Server, statement: string, what: string) =>
  until(async () => (await askServer(machine, statement).catch(() => null))?.rows[0]?.is === true, {
    timeoutMs: START_MS_MAX,
    what: `${machine.name}: ${what}`,
  })
const untilStarted = (server: Server) => untilTrue(server, 'select true as is', 'it takes connections')

export async function startLonePostgres(machine: TestMachine, home: string): Promise<LonePostgres> {
  const server = await openServer(machine, home)
  await initialize(server)
  start(server, {})
  await untilStarted(server)
  return {
    machine,
    kill: async () => server.running?.kill(),
    start: () => start(server, {}),
  }
}

export async function startPostgresPair(
  network: TestNetwork,
  folder: string,
  prefix: string,
): Promise<PostgresPair> {
  const open = async (name: string): Promise<Server> => {
    const server = await openServer(await network.machine(`${prefix}${name}`), join(folder, name))
    const args = ['-e', CHECK, server.machine.address, dataOf(server)]
    server.machine.start({ name: `${prefix}check-${name}`, file: process.execPath, args })
    return server
  }
  const crash = async (server: Server) => {
    await killServer(server.home)
    await until(() => server.running?.isRunning() !== true, { what: `${server.machine.name} ended` })
  }
  const follow = async (server: Server, primary: Server) => {
    await rm(dataOf(server), { recursive: true, force: true })
    const from = `host=${primary.machine.address} user=postgres`
    await asPostgres(server, 'pg_basebackup', '-d', from, '-D', dataOf(server), '-R', '-c', 'fast')
    start(server)
  }

  let [primary, standby] = [await open('db1'), await open('db2')]
  const machines = [primary.machine, standby.machine]
  await initialize(primary)
  start(primary)
  await untilStarted(primary)
  await follow(standby, primary)
  const untilWhole = () =>
    untilTrue(
      primary,
      `select count(*) = 1 as is from pg_stat_replication where state = 'streaming' and sync_state = 'sync'`,
      'its standby follows',
    )
  await untilWhole()
  await askServer(primary.machine, 'create database paylink')
  return {
    machines,
    ask: (statement) => askServer(primary.machine, statement, 'paylink'),
    crashPrimary: () => crash(primary),
    restartPrimary: async () => start(primary),
    promoteStandby: async () => {
      await askServer(standby.machine, 'select pg_promote()')
      const lost = primary
      ;[primary, standby] = [standby, primary]
      await follow(lost, primary)
    },
    crashStandby: () => crash(standby),
    restartStandby: async () => start(standby),
    untilWhole,
  }
}
