import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where version 1 of Linux's control groups keeps processors, and version 2 everything. */
const [V1, V2] = ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup']
/** Short, so that they run evenly, and not all at once and then for long nothing. */
const PERIOD_US = 40_000
export const PERIODS_PER_SECOND = 1_000_000 / PERIOD_US

/** Some processes, and what processor time they may use together. */
export type ProcessorGroup = {
  /** Adds a process with all that it started, and will start. */
  add(pid: number): void
  /** From now on they use no more than this, 0.3 of one for instance. */
  limitTo(cores: number): void
  /** In how many periods they were stopped at their quota until now. */
  stoppedPeriods(): number
  /** Lets them go; needs nothing of what they do. */
  close(): void
}

/** A control group that comes before other work of the machine. Needs root. */
export function createProcessorGroup(name: string): ProcessorGroup {
  const isV1 = existsSync(join(V1, 'cpu.cfs_quota_us'))
  const root = isV1 ? V1 : V2
  const folder = join(root, `${name}-${process.pid}`)
  const write = (file: string, value: string | number) => writeFileSync(join(folder, file), String(value))
  if (!isV1) writeFileSync(join(V2, 'cgroup.subtree_control'), '+cpu')
  mkdirSync(folder)
  // A hundred times what everything has by itself.
  if (isV1) write('cpu.shares', 102_400)
  else write('cpu.weight', 10_000)
  return {
    add: (pid) => {
      for (const each of treeOf(pid)) moveTo(folder, each)
    },
    limitTo: (cores) => {
      const quota = Math.round(cores * PERIOD_US)
      if (isV1) {
        write('cpu.cfs_period_us', PERIOD_US)
        write('cpu.cfs_quota_us', quota)
      } else write('cpu.max', `${quota} ${PERIOD_US}`)
    },
    stoppedPeriods: () =>
      Number(/^nr_throttled (\d+)$/m.exec(readFileSync(join(folder, 'cpu.stat'), 'utf8'))?.[1]),
    close: () => {
      const left = readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean)
      for (const pid of left) moveTo(root, Number(pid))
      rmdirSync(folder)
    },
  }
}

function moveTo(folder: string, pid: number): void {
  try {
    writeFileSync(join(folder, 'cgroup.procs'), String(pid))
  } catch (error) {
    // A process may end while it is moved.
    if (existsSync(`/proc/${pid}`)) throw error
  }
}

/** A process and all that it started, by /proc. */
function treeOf(root: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), parentOf(Number(name))] as const)
  const found = [root]
  // The list grows while it is walked: children follow their parents.
  for (const each of found) found.push(...parents.filter(([, parent]) => parent === each).map(([pid]) => pid))
  return found
}

/** The process that started it; null where it is gone. */
export function parentOf(pid: number): number | null {
  try {
    return Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    // Processes end while they are listed.
    return null
  }
}
