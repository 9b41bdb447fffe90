import { randomBytes } from 'node:crypto'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CHAINS } from '../../src/core/assets.ts'
import { PROGRAM, type RunResult } from '../support/app.ts'
import { readRootFile } from '../support/root-file.ts'
import { until } from '../support/until.ts'
import type { RunningProgram, TestMachine, TestNetwork } from './test-network.ts'

const READY_MS_MAX = 120_000
const PRIMARY_MS_MAX = 30_000
/** Only Litecoin's sandbox chain runs: nothing listens where the others are said to be. */
const NO_OTHER_CHAINS = Object.fromEntries(
  CHAINS.filter((chain) => chain !== 'litecoin').map((chain) => [
    `TEST_${chain.toUpperCase()}_RPC_URL`,
    'http://127.0.0.1:9',
  ]),
)
const NO_EXCHANGES = Object.fromEntries(
  ['PRICE_COINBASE', 'PRICE_KRAKEN', 'PRICE_BITSTAMP', 'CURRENCY_COINBASE', 'CURRENCY_ECB'].map((name) => [
    `${name}_URL`,
    'http://127.0.0.1:9',
  ]),
)

/** The sandbox chains, on a machine of their own; whoever reads them needs what is in the folder. */
export type SandboxChains = {
  readonly machine: TestMachine
  readonly folder: string
  readonly process: RunningProgram
}

export type PaylinkMachines = {
  readonly machines: readonly TestMachine[]
  readonly apiUrls: readonly string[]
  readonly processes: readonly RunningProgram[]
  /** What its owner's commands are given, on whatever machine they run. */
  readonly settings: { readonly [name: string]: string }
  /** Runs a command of the program beside them, as the owner. */
  command(...args: readonly string[]): Promise<RunResult>
}

export async function startSandboxChains(network: TestNetwork, folder: string): Promise<SandboxChains> {
  const [machine, dataDir] = [await network.machine('chains'), join(folder, 'chains')]
  await mkdir(join(dataDir, 'sandbox'), { recursive: true })
  const env = { ...NO_OTHER_CHAINS, HOST: '0.0.0.0', SANDBOX_HOST: machine.address, DATA_DIR: dataDir }
  const args = [PROGRAM, 'start', 'sandbox']
  const process_ = machine.keep({ name: 'chains', file: process.execPath, args, env })
  return { machine, folder: join(dataDir, 'sandbox'), process: process_ }
}

/** One Paylink: on each machine the processes of these roles. What it keeps is in a folder of its own. */
export async function startPaylinkMachines(
  network: TestNetwork,
  databases: readonly TestMachine[],
  chains: SandboxChains,
  {
    folder,
    layout,
    prefix = '',
    env: given = {},
  }: {
    readonly folder: string
    readonly layout: { readonly [machine: string]: readonly string[] }
    /** Before the names of its machines and processes. */
    readonly prefix?: string
    readonly env?: { readonly [name: string]: string }
  },
): Promise<PaylinkMachines> {
  const secret = randomBytes(32).toString('hex')
  const common = {
    ...NO_OTHER_CHAINS,
    ...NO_EXCHANGES,
    ...given,
    HOST: '0.0.0.0',
    SANDBOX_HOST: chains.machine.address,
    WEBHOOK_ALLOW_PRIVATE: '1',
    LOG_LEVEL: 'info',
    RATE_LIMIT_TEST: '10000',
    ADDRESS_KEYS_FILE: join(folder, 'address-keys.json'),
    SECRET_KEY: secret,
  }
  const urlOf = (user: string, host = '127.0.0.1') => `postgresql://${user}:${user}@${host}:5432/paylink`
  const roleUrls = Object.fromEntries(
    ['api', 'watcher', 'delivery', 'signer'].map((role) => [
      `${role.toUpperCase()}_DATABASE_URL`,
      urlOf(`paylink_${role}_login`),
    ]),
  )
  const dataDirOf = async (name: string) => {
    const dataDir = join(folder, 'data', name)
    await mkdir(dataDir, { recursive: true })
    if (name !== 'signer') await symlink(chains.folder, join(dataDir, 'sandbox'))
    return dataDir
  }
  const processes: RunningProgram[] = []
  const run = async (machine: TestMachine, name: string, args: readonly string[], env: object) => {
    const dataDir = await dataDirOf(name)
    const program = { file: process.execPath, args: [PROGRAM, ...args] }
    const surroundings = { ...common, ...env, DATA_DIR: dataDir }
    processes.push(machine.keep({ ...program, name: `${prefix}${name}`, env: surroundings }))
  }

  const machines: TestMachine[] = []
  for (const name of Object.keys(layout)) machines.push(await network.machine(`${prefix}${name}`))
  for (const machine of machines) await startHaproxy(machine, databases, folder)
  const [first] = machines
  if (first === undefined) throw new Error('there is no machine')
  const ownerDir = await dataDirOf('owner')
  const ownerUrl = urlOf('postgres', first.address)
  const settings = { ...common, ...roleUrls, DATABASE_URL: ownerUrl, DATA_DIR: ownerDir }
  const command = (...args: readonly string[]) => first.run(process.execPath, [PROGRAM, ...args], settings)
  const migrated = await command('migrate')
  if (migrated.code !== 0) throw new Error(`paylink migrate: ${migrated.stdout}${migrated.stderr}`)
  for (const [at, [place, roles]] of Object.entries(layout).entries()) {
    const machine = machines[at] ?? first
    for (const role of roles) {
      const args = role === 'api' ? ['start', 'api', 'checkout'] : ['start', role]
      const own = `${role.toUpperCase()}_DATABASE_URL`
      const name = role === 'signer' ? 'signer' : `${role}-${place}`
      await run(machine, name, args, { [own]: roleUrls[own] ?? '' })
    }
  }
  const apiUrls = machines.map(({ address }) => `http://${address}:3000`)
  await Promise.all(apiUrls.map((url) => until(() => isReady(url), { timeoutMs: READY_MS_MAX })))
  return { machines, apiUrls, processes, settings, command }
}

/** The very file of deploy/haproxy, with this cluster's addresses in it; it leads to the primary when this returns. */
async function startHaproxy(
  machine: TestMachine,
  databases: readonly TestMachine[],
  folder: string,
): Promise<void> {
  const template = await readRootFile('deploy/haproxy/haproxy.cfg')
  const config = databases
    .reduce((text, { address }, at) => text.replace(`10.0.0.${at + 1}:5432`, `${address}:5432`), template)
    // Of databases that there are not.
    .replaceAll(/ +server db\d 10\.0\.0\..*\n/g, '')
    // Also for commands of the owner on another cell's machine.
    .replace('bind 127.0.0.1:5432', 'bind :5432')
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
