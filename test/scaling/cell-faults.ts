import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../support/random.ts'
import type { CellsDirectory } from './cells-directory.ts'
import type { SiteProxy } from './cells-proxy.ts'
import type { MovingShop } from './moving-shops.ts'
import type { PaylinkMachines, SandboxChains } from './paylink-machines.ts'
import type { PostgresPair } from './postgres-pair.ts'
import type { Shop } from './shop.ts'
import type { Person } from './sign-ins.ts'
import type { TestMachine } from './test-network.ts'

export type Cell = {
  readonly number: number
  readonly database: PostgresPair
  readonly paylink: PaylinkMachines
  readonly shops: readonly Shop[]
  readonly person: Person
}

export type Site = {
  readonly url: string
  /** The first one gets all that names no cell. */
  readonly cells: readonly Cell[]
  readonly proxy: SiteProxy
  readonly directory: CellsDirectory
  readonly moving: readonly MovingShop[]
  readonly chains: SandboxChains
  /** What all cells but the last read the chain through. */
  readonly reader: TestMachine
}

export type Fault = {
  readonly name: string
  /** Whose requests it may cost: of this cell's shops, of all, or of none; or sign-ins of browsers that know no cell. */
  readonly costs: 'its cell' | 'all' | 'none' | 'new browsers'
  /** Breaks something, and repairs it. */
  carryOut(cell: Cell, site: Site, random: Random): Promise<void>
}

const machinesOf = ({ database, paylink }: Cell): readonly TestMachine[] => [
  ...database.machines,
  ...paylink.machines,
]
const aWhile = (random: Random) => pause(3_000 + random.below(6_000))

/** The cells whose requests a fault may cost. */
export function costCells({ costs }: Fault, cell: Cell, { cells }: Site): readonly Cell[] {
  if (costs === 'its cell') return [cell]
  return costs === 'all' ? cells : []
}

/** Everything that is broken: a new one is a row here. A short run has the first ones. */
export const FAULTS: readonly Fault[] = [
  {
    name: 'primary killed, standby promoted',
    costs: 'its cell',
    carryOut: async ({ database }, _site, random) => {
      await database.crashPrimary()
      await pause(random.below(3_000))
      await database.promoteStandby()
    },
  },
  {
    name: 'proxy killed',
    costs: 'all',
    carryOut: async (_cell, { proxy }, random) => {
      await proxy.kill()
      await pause(500 + random.below(3_000))
      proxy.start()
    },
  },
  {
    name: 'directory cut off, then killed',
    costs: 'new browsers',
    carryOut: async (_cell, { directory }, random) => {
      // Silent at first; then it refuses.
      await directory.machine.cut()
      await aWhile(random)
      await directory.kill()
      await directory.machine.mend()
      await aWhile(random)
      directory.start()
    },
  },
  {
    name: 'cell cut off',
    costs: 'its cell',
    carryOut: async (cell, _site, random) => {
      for (const machine of machinesOf(cell)) await machine.cut()
      await aWhile(random)
      for (const machine of machinesOf(cell)) await machine.mend()
    },
  },
  {
    name: 'process killed',
    costs: 'its cell',
    carryOut: ({ paylink }, _site, random) => random.pick(paylink.processes).kill(),
  },
  {
    name: 'standby killed',
    costs: 'its cell',
    carryOut: async ({ database }, _site, random) => {
      await database.crashStandby()
      await aWhile(random)
      await database.restartStandby()
    },
  },
  {
    name: 'cell killed',
    costs: 'its cell',
    carryOut: async ({ database, paylink }, _site, random) => {
      await Promise.all([
        database.crashPrimary(),
        database.crashStandby(),
        ...paylink.processes.map((process_) => process_.kill()),
      ])
      await aWhile(random)
      await database.restartPrimary()
      await database.restartStandby()
    },
  },
  {
    name: 'machine of Paylink cut off',
    costs: 'its cell',
    carryOut: async ({ paylink }, _site, random) => {
      const machine = random.pick(paylink.machines)
      await machine.cut()
      await aWhile(random)
      await machine.mend()
    },
  },
  {
    name: 'chain killed',
    costs: 'none',
    carryOut: async (_cell, { chains }, random) => {
      await chains.process.kill()
      await aWhile(random)
    },
  },
  {
    name: 'reader of the chain cut off',
    costs: 'none',
    carryOut: async (_cell, { reader }, random) => {
      await reader.cut()
      await aWhile(random)
      await reader.mend()
    },
  },
  {
    name: 'primary killed, started again',
    costs: 'its cell',
    carryOut: async ({ database }, _site, random) => {
      await database.crashPrimary()
      await pause(random.below(3_000))
      await database.restartPrimary()
    },
  },
]
