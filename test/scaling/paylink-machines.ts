import { randomBytes } from 'node:crypto'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RunResult } from '../support/app.ts'
import { readRootFile } from '../support/root-file.ts'
import { until } from '../support/until.ts'
import type { DatabaseNode } from './postgres-cluster.ts'
import type { RunningProgram, TestMachine, TestNetwork } from './test-network.ts'

const PROGRAM = new URL('../../dist/main.js', import.meta.url).pathname
const READY_MS_MAX = 120_000
const PRIMARY_MS_MAX = 30_000
/** What runs on which machine: three API, two watchers, three delivery workers, one signer, and the chains. */
const MACHINES = {
  app1: ['api', 'watcher', 'delivery', 'signer'],
  app2: ['api', 'watcher', 'delivery'],
  app3: ['api', 'delivery'],
} as const
/** Only Litecoin's sandbox chain runs: nothing listens where the others are said to be. */
const NO_OTHER_CHAINS = Object.fromEntries(
  ['BITCOIN', 'ETHEREUM', 'BASE', 'SOLANA'].map((chain) => [`TEST_${chain}_RPC_URL`, 'http://127.0.0.1:9']),
)
const NO_EXCHANGES = Object.fromEntries(
  ['PRICE_COINBASE', 'PRICE_KRAKEN', 'PRICE_BITSTAMP', 'CURRENCY_COINBASE', 'CURRENCY_ECB'].map((name) => [
    `${name}_URL`,
    'http://127.0.0.1:9',
  ]),
)

export type PaylinkMachines = {
  readonly machines: readonly TestMachine[]
  readonly apiUrls: readonly string[]
  readonly processes: readonly RunningProgram[]
  readonly sandboxFolder: string
  readonly sandboxAddress: string
  /** Runs a command of the program beside them, as the owner. */
  command(...args: readonly string[]): Promise<RunResult>
}

export async function startPaylinkMachines(
  network: TestNetwork,
  nodes: readonly DatabaseNode[],
  folder: string,
): Promise<PaylinkMachines> {
  const sandboxFolder = join(folder, 'sandbox')
  await mkdir(sandboxFolder, { recursive: true })
  const chains = await network.machine('chains')
  const secret = randomBytes(32).toString('hex')
  const common = {
    ...NO_OTHER_CHAINS,
    ...NO_EXCHANGES,
    HOST: '0.0.0.0',
    SANDBOX_HOST: chains.address,
    WEBHOOK_ALLOW_PRIVATE: '1',
    LOG_LEVEL: 'info',
    RATE_LIMIT_TEST: '10000',
    ADDRESS_KEYS_FILE: join(folder, 'address-keys.json'),
    SECRET_KEY: secret,
  }
  const urlOf = (user: string) => `postgresql://${user}:${user}@127.0.0.1:5432/paylink`
  const roleUrls = Object.fromEntries(
    ['api', 'watcher', 'delivery', 'signer'].map((role) => [
      `${role.toUpperCase()}_DATABASE_URL`,
      urlOf(`paylink_${role}_login`),
    ]),
  )
  const dataDirOf = async (name: string) => {
    const dataDir = join(folder, 'data', name)
    await mkdir(dataDir, { recursive: true })
    if (name !== 'signer') await symlink(sandboxFolder, join(dataDir, 'sandbox'))
    return dataDir
  }
  const processes: RunningProgram[] = []
  const run = async (machine: TestMachine, name: string, args: readonly string[], env: object) => {
    const dataDir = await dataDirOf(name)
    const program = { file: process.execPath, args: [PROGRAM, ...args] }
    processes.push(machine.keep({ ...program, name, env: { ...common, ...env, DATA_DIR: dataDir } }))
  }
  await run(chains, 'chains', ['start', 'sandbox'], {})

  const machines: TestMachine[] = []
  for (const name of Object.keys(MACHINES)) machines.push(await network.machine(name))
  for (const machine of machines) await startHaproxy(machine, nodes, folder)
  const [first] = machines
  if (first === undefined) throw new Error('there is no machine')
  const ownerDir = await dataDirOf('owner')
  const owner = { ...common, ...roleUrls, DATABASE_URL: urlOf('postgres'), DATA_DIR: ownerDir }
  const command = (...args: readonly string[]) => first.run(process.execPath, [PROGRAM, ...args], owner)
  const migrated = await command('migrate')
  if (migrated.code !== 0) throw new Error(`paylink migrate: ${migrated.stdout}${migrated.stderr}`)
  for (const machine of machines) {
    const roles = Object.entries(MACHINES).find(([name]) => name === machine.name)?.[1] ?? []
    for (const role of roles) {
      const args = role === 'api' ? ['start', 'api', 'checkout'] : ['start', role]
      const own = `${role.toUpperCase()}_DATABASE_URL`
      const name = role === 'signer' ? 'signer' : `${role}-${machine.name}`
      await run(machine, name, args, { [own]: roleUrls[own] ?? '' })
    }
  }
  const apiUrls = machines.map(({ address }) => `http://${address}:3000`)
  await Promise.all(apiUrls.map((url) => until(() => isReady(url), { timeoutMs: READY_MS_MAX })))
  return {
    machines,
    apiUrls,
    processes,
    sandboxFolder,
    sandboxAddress: chains.address,
    command,
  }
}

/** The very file of deploy/haproxy, with this cluster's addresses in it; it leads to the primary when this returns. */
async function startHaproxy(
  machine: TestMachine,
  nodes: readonly DatabaseNode[],
  folder: string,
): Promise<void> {
  const template = await readRootFile('deploy/haproxy/haproxy.cfg')
  const config = nodes.reduce(
    (text, node, at) => text.replace(`10.0.0.${at + 1}:5432`, `${node.machine.address}:5432`),
    template,
  )
  const path = join(folder, `haproxy-${machine.name}.cfg`)
  await writeFile(path, config)
  machine.start({ name: `haproxy-${machine.name}`, file: '/usr/sbin/haproxy', args: ['-db', '-f', path] })
  const question = ['-h', '127.0.0.1', '-U', 'postgres', '-Atc', 'select pg_is_in_recovery()', 'postgres']
  await until(async () => (await machine.run('psql', question)).stdout === 'f\n', {
    timeoutMs: PRIMARY_MS_MAX,
  })
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })).status === 200
  } catch {
    return false
  }
}
