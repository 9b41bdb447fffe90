import { execFile } from 'node:child_process'
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { stringify } from 'yaml'
import { identityOf } from '../support/debian-postgres.ts'
import { until } from '../support/until.ts'
import type { RunningProgram, TestMachine, TestNetwork } from './test-network.ts'

const run = promisify(execFile)
const BINARIES = '/usr/lib/postgresql/15/bin'
const START_MS_MAX = 120_000
const ASK_MS_MAX = 1_000
export const PATRONI_PORT = 8008

/** One machine of the database: etcd, and Patroni with its PostgreSQL. */
export type DatabaseNode = {
  readonly machine: TestMachine
  /** Kills Patroni and PostgreSQL, or starts them again. */
  kill(): Promise<void>
  start(): void
  isPrimary(): Promise<boolean>
}

/** Three nodes with synchronous replication, as docs/cluster.md describes them. Needs Debian's patroni and etcd-server. */
export async function startPostgresCluster(
  network: TestNetwork,
  folder: string,
): Promise<readonly DatabaseNode[]> {
  const machines = []
  for (const name of ['db1', 'db2', 'db3']) machines.push(await network.machine(name))
  const members = machines.map(({ name, address }) => `${name}=http://${address}:2380`).join(',')
  const identity = await identityOf('postgres')
  for (const machine of machines) startEtcd(machine, members, join(folder, `etcd-${machine.name}`))
  const endpoints = machines.map(({ address }) => `${address}:2379`)
  const nodes: DatabaseNode[] = []
  for (const machine of machines) {
    const home = join(folder, machine.name)
    await mkdir(home, { mode: 0o700 })
    const config = join(home, 'patroni.yml')
    await writeFile(config, stringify(patroniConfig(machine, endpoints, home)))
    for (const path of [home, config]) await chown(path, identity.uid, identity.gid)
    nodes.push(startNode(machine, config, home))
  }
  await until(
    async () => {
      const answers = await Promise.all(nodes.map(({ machine }) => ask(machine, '/replica')))
      const synchronous = await Promise.all(nodes.map(({ machine }) => ask(machine, '/synchronous')))
      return answers.filter((ok) => ok).length === 2 && synchronous.some((ok) => ok)
    },
    { timeoutMs: START_MS_MAX },
  )
  return nodes
}

function startEtcd(machine: TestMachine, members: string, data: string): void {
  const { name, address } = machine
  const args = {
    name,
    'data-dir': data,
    'listen-peer-urls': `http://${address}:2380`,
    'listen-client-urls': `http://${address}:2379,http://127.0.0.1:2379`,
    'initial-advertise-peer-urls': `http://${address}:2380`,
    'advertise-client-urls': `http://${address}:2379`,
    'initial-cluster': members,
    'initial-cluster-token': 'paylink-test',
    'heartbeat-interval': '200',
    'election-timeout': '2000',
    'enable-v2': 'true',
  }
  const words = Object.entries(args).map(([option, value]) => `--${option}=${value}`)
  machine.start({ name: `etcd-${name}`, file: 'etcd', args: words })
}

function patroniConfig({ name, address }: TestMachine, etcd: readonly string[], home: string): object {
  const parameters = {
    max_connections: 200,
    wal_level: 'replica',
    hot_standby: 'on',
    max_wal_senders: 10,
    wal_keep_size: '256MB',
  }
  return {
    scope: 'paylink',
    name,
    restapi: { listen: `${address}:${PATRONI_PORT}`, connect_address: `${address}:${PATRONI_PORT}` },
    // Through etcd's interface 2 the leader's key is renewed only by who has it. Through 3, Patroni before 3.0.3 puts its
    // own name over another leader's when it was cut off for longer than its lease (pull request 2689 of Patroni).
    etcd: { hosts: etcd },
    bootstrap: {
      dcs: {
        ttl: 10,
        loop_wait: 2,
        retry_timeout: 3,
        maximum_lag_on_failover: 0,
        synchronous_mode: true,
        synchronous_mode_strict: true,
        synchronous_node_count: 1,
        postgresql: { use_pg_rewind: true, use_slots: true, parameters },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
    },
    postgresql: {
      listen: `${address}:5432`,
      connect_address: `${address}:5432`,
      data_dir: join(home, 'data'),
      bin_dir: BINARIES,
      // Of each machine, not of the cluster: here they share one file system.
      parameters: { unix_socket_directories: home },
      pgpass: join(home, 'pgpass'),
      pg_hba: ['local all all trust', 'host all all 0.0.0.0/0 trust', 'host replication all 0.0.0.0/0 trust'],
      authentication: {
        superuser: { username: 'postgres', password: 'postgres' },
        replication: { username: 'replicator', password: 'replicator' },
        rewind: { username: 'rewinder', password: 'rewinder' },
      },
    },
    watchdog: { mode: 'off' },
  }
}

function startNode(machine: TestMachine, config: string, home: string): DatabaseNode {
  const launch = () =>
    machine.start({ name: `patroni-${machine.name}`, file: 'patroni', args: [config], user: 'postgres' })
  let patroni: RunningProgram = launch()
  return {
    machine,
    kill: async () => {
      await patroni.kill()
      // Patroni starts PostgreSQL in a session of its own.
      await killServer(home)
    },
    start: () => {
      patroni = launch()
    },
    isPrimary: () => ask(machine, '/primary'),
  }
}

/** Ends the server that has its data in this folder, by the number in its own file. */
export async function killServer(home: string): Promise<void> {
  const script = 'pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" || true'
  await run('sh', ['-c', script, 'sh', home])
}

/** Whether Patroni says so; a machine that does not answer says nothing. */
async function ask({ address }: TestMachine, path: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(ASK_MS_MAX)
    const answer = await fetch(`http://${address}:${PATRONI_PORT}${path}`, { signal })
    await answer.text()
    return answer.status === 200
  } catch {
    return false
  }
}

/** One statement, asked of this machine's server as its owner. */
export async function askServer(
  { address }: TestMachine,
  statement: string,
  database = 'postgres',
): Promise<pg.QueryResult> {
  const client = new pg.Client({
    connectionString: `postgresql://postgres:postgres@${address}:5432/${database}`,
    connectionTimeoutMillis: 2_000,
    query_timeout: 10_000,
  })
  // The connection may be lost with its server; what is asked then fails and is asked again.
  client.on('error', () => {})
  await client.connect()
  try {
    return await client.query(statement)
  } finally {
    await client.end()
  }
}
