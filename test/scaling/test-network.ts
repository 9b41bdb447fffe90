import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Machines of a test, each a network namespace of this one, on a bridge in a namespace of its own. Nothing leaves
 * them: they know no route but to one another and to the test.
 */
export type TestNetwork = {
  /** Where the test itself is reached. */
  readonly ownAddress: string
  machine(name: string): Promise<TestMachine>
  close(): Promise<void>
}

export type TestMachine = {
  readonly name: string
  readonly address: string
  /** Pulls the cable, or puts it back: packets vanish, and nobody is told. */
  cut(): Promise<void>
  mend(): Promise<void>
  /** Starts a program there; `user` other than root where it must be. Its output goes to a file of that name. */
  start(program: StartedProgram): Promise<RunningProgram>
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
  stop(): Promise<number | null>
  isRunning(): boolean
}

const SUBNET = '10.231.77'

export async function openTestNetwork(folder: string): Promise<TestNetwork> {
  const tag = `pl${process.pid % 10_000}`
  const hub = `${tag}-hub`
  const ip = (...args: readonly string[]) => run('ip', args)
  const inside = (space: string, ...args: readonly string[]) => ip('-n', space, ...args)
  const spaces: string[] = []
  const programs = new Set<RunningProgram>()
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
        start: async (program) => {
          const running = startIn(space, program, join(folder, 'logs', `${program.name}.log`))
          programs.add(running)
          return running
        },
      }
    },
    close: async () => {
      await Promise.all([...programs].map((program) => program.kill()))
      for (const space of spaces.reverse()) await ip('netns', 'delete', space)
    },
  }
}

function startIn(space: string, program: StartedProgram, logPath: string): RunningProgram {
  const { name, file, args, env = {}, user } = program
  const asUser = user === undefined ? [] : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups']
  const child: ChildProcess = spawn('ip', ['netns', 'exec', space, ...asUser, file, ...args], {
    // A group of its own, so that what it starts ends with it.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: '/tmp', LC_ALL: 'C.UTF-8', ...env },
    cwd: '/',
  })
  const log = createWriteStream(logPath, { flags: 'a' })
  child.stdout?.pipe(log, { end: false })
  child.stderr?.pipe(log, { end: false })
  const exited = once(child, 'exit')
  const isRunning = () => child.exitCode === null && child.signalCode === null
  const signal = (kind: NodeJS.Signals) => {
    if (child.pid !== undefined && isRunning()) process.kill(-child.pid, kind)
  }
  return {
    name,
    isRunning,
    kill: async () => {
      signal('SIGKILL')
      if (isRunning()) await exited
    },
    stop: async () => {
      signal('SIGTERM')
      if (isRunning()) await exited
      return child.exitCode
    },
  }
}
