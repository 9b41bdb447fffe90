import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import type { RunResult } from '../support/app.ts'
import { until } from '../support/until.ts'

const run = promisify(execFile)
const RESTART_MS = 1_000
const COMMAND_MS_MAX = 120_000
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024
const GONE_MS_MAX = 30_000

/**
 * Machines of a test, each a network namespace of this one, on a bridge in a namespace of its own. Nothing leaves
 * them: they know no route but to one another and to the test.
 */
export type TestNetwork = {
  /** Where the test itself is reached. */
  readonly ownAddress: string
  /** Further addresses of the test, as of so many people at home. */
  callers(count: number): Promise<readonly string[]>
  machine(name: string): Promise<TestMachine>
  close(): Promise<void>
}

export type TestMachine = {
  readonly name: string
  readonly address: string
  /** Pulls the cable, or puts it back: packets vanish, and nobody is notified. */
  cut(): Promise<void>
  mend(): Promise<void>
  /** Starts a program there; `user` other than root where it must be. Its output goes to a file of that name. */
  start(program: StartedProgram): StartedChild
  /** The same, started again a second after it ended, as a supervisor does, until the network is closed. */
  keep(program: StartedProgram): RunningProgram
  /** Runs a program to its end, in two minutes at most. */
  run(file: string, args: readonly string[], env?: StartedProgram['env']): Promise<RunResult>
}

export type StartedProgram = {
  readonly name: string
  readonly file: string
  readonly args: readonly string[]
  readonly env?: { readonly [name: string]: string }
  readonly user?: string
}

export type RunningProgram = {
  readonly name: string
  /** Ends it, and all that it started, as a power cut would. */
  kill(): Promise<void>
}

export type StartedChild = RunningProgram & {
  readonly pid: number | undefined
  isRunning(): boolean
}

const SUBNET = '10.231.77'
/** Above those of machines. */
const CALLERS_FROM = 100

export async function openTestNetwork(folder: string): Promise<TestNetwork> {
  const tag = `pl${process.pid % 10_000}`
  const hub = `${tag}-hub`
  const ip = (...args: readonly string[]) => run('ip', args)
  const inside = (space: string, ...args: readonly string[]) => ip('-n', space, ...args)
  const spaces: string[] = []
  const kept = new Set<{ release(): void }>()
  await mkdir(join(folder, 'logs'), { recursive: true })

  /** A cable from a namespace (null: our own) to the bridge. */
  const plug = async (space: string | null, number: number) => {
    const [end, socket] = [`${tag}e${number}`, `${tag}s${number}`]
    await ip('link', 'add', end, 'type', 'veth', 'peer', 'name', socket)
    await ip('link', 'set', socket, 'netns', hub)
    await inside(hub, 'link', 'set', socket, 'master', 'bridge', 'up')
    if (space !== null) await ip('link', 'set', end, 'netns', space)
    const at = space === null ? ip : (...args: readonly string[]) => inside(space, ...args)
    await at('address', 'add', `${SUBNET}.${number}/24`, 'dev', end)
    await at('link', 'set', end, 'up')
    if (space !== null) await at('link', 'set', 'lo', 'up')
    return socket
  }

  await ip('netns', 'add', hub)
  spaces.push(hub)
  await inside(hub, 'link', 'add', 'bridge', 'type', 'bridge')
  await inside(hub, 'link', 'set', 'bridge', 'up')
  await plug(null, 254)

  return {
    ownAddress: `${SUBNET}.254`,
    callers: async (count) => {
      const addresses = Array.from({ length: count }, (_, at) => `${SUBNET}.${CALLERS_FROM + at}`)
      for (const address of addresses) await ip('address', 'add', `${address}/32`, 'dev', `${tag}e254`)
      return addresses
    },
    machine: async (name) => {
      const number = spaces.length
      const space = `${tag}-${name}`
      await ip('netns', 'add', space)
      spaces.push(space)
      const socket = await plug(space, number)
      return {
        name,
        address: `${SUBNET}.${number}`,
        cut: async () => void (await inside(hub, 'link', 'set', socket, 'down')),
        mend: async () => void (await inside(hub, 'link', 'set', socket, 'up')),
        start: (program) => startIn(space, program, folder),
        keep: (program) => {
          const running = keepRunning(() => startIn(space, program, folder))
          kept.add(running)
          return running
        },
        run: (file, args, env) =>
          runIn(space, { name: file, file, args, ...(env === undefined ? {} : { env }) }),
      }
    },
    close: async () => {
      for (const { release } of kept) release()
      for (const space of spaces) await killAllIn(space)
      for (const space of spaces.reverse()) await ip('netns', 'delete', space)
    },
  }
}

/** Whatever runs there, also what made itself a session of its own, as a PostgreSQL under Patroni does. */
async function killAllIn(space: string): Promise<void> {
  await until(
    async () => {
      const { stdout } = await run('ip', ['netns', 'pids', space])
      const pids = stdout.split('\n').filter((line) => line !== '')
      // One that ended by itself meanwhile is no fault.
      if (pids.length > 0) await run('sh', ['-c', 'kill -KILL "$@" 2>/dev/null || true', 'sh', ...pids])
      return pids.length === 0
    },
    { timeoutMs: GONE_MS_MAX },
  )
}

/** The words that run a program in a namespace, and the surroundings that it gets. */
function inSpace(space: string, { file, args, env = {}, user }: StartedProgram) {
  const asUser = user === undefined ? [] : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups']
  return {
    words: ['netns', 'exec', space, ...asUser, file, ...args],
    surroundings: { env: { PATH: process.env.PATH, HOME: '/tmp', LC_ALL: 'C.UTF-8', ...env }, cwd: '/' },
  }
}

const endedShape = z.object({ code: z.number(), stdout: z.string(), stderr: z.string() })

async function runIn(space: string, program: StartedProgram): Promise<RunResult> {
  const { words, surroundings } = inSpace(space, program)
  const limits = { timeout: COMMAND_MS_MAX, killSignal: 'SIGKILL', maxBuffer: OUTPUT_BYTES_MAX } as const
  try {
    return { code: 0, ...(await run('ip', words, { ...surroundings, ...limits })) }
  } catch (error) {
    const ended = endedShape.safeParse(error)
    if (ended.success) return ended.data
    throw error
  }
}

function startIn(space: string, program: StartedProgram, folder: string): StartedChild {
  const { words, surroundings } = inSpace(space, program)
  const child: ChildProcess = spawn('ip', words, {
    ...surroundings,
    // A group of its own, so that what it starts ends with it.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const log = createWriteStream(join(folder, 'logs', `${program.name}.log`), { flags: 'a' })
  child.stdout?.pipe(log, { end: false })
  child.stderr?.pipe(log, { end: false })
  child.once('close', () => log.end())
  const exited = once(child, 'exit')
  const isRunning = () => child.exitCode === null && child.signalCode === null
  return {
    name: program.name,
    pid: child.pid,
    isRunning,
    kill: async () => {
      if (child.pid === undefined || !isRunning()) return
      process.kill(-child.pid, 'SIGKILL')
      await exited
    },
  }
}

function keepRunning(launch: () => StartedChild): RunningProgram & { release(): void } {
  let running = launch()
  const timer = setInterval(() => {
    if (!running.isRunning()) running = launch()
  }, RESTART_MS)
  return { name: running.name, release: () => clearInterval(timer), kill: () => running.kill() }
}
