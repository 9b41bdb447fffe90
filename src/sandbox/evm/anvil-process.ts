import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { access, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { z } from 'zod'
import { childEnvironment } from '../../config/child-environment.ts'
import { freePort } from '../../runtime/free-port.ts'

const LISTEN_HOST = '127.0.0.1'
const START_MS_MAX = 15_000
const PROBE_MS = 15
const STOP_MS_MAX = 5_000
const CONNECTIONS_MAX = 8
/** Ports are asked for before anvil takes them; another program may be quicker. */
const START_ATTEMPTS_MAX = 3

/**
 * Runs a program that ends when we do, however we end: our death closes its guard's standard input. POSIX shells
 * give background programs no standard input, so it is kept as descriptor 3; and the guard ends with the program.
 */
const GUARDED = `exec 3<&0
"$@" </dev/null 3<&- &
program=$!
{ cat <&3 >/dev/null; kill -9 $program; } 2>/dev/null &
guard=$!
wait $program
status=$?
kill $guard 2>/dev/null
exit $status`

const answerSchema = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
})
export type RpcAnswer = z.output<typeof answerSchema>

/** Anvil refused a call; code and message are anvil's own. */
export class AnvilRefused extends Error {
  override name = 'AnvilRefused'
  readonly code: number

  constructor(method: string, error: { code: number; message: string }) {
    super(error.message, { cause: `anvil's answer to ${method}` })
    this.code = error.code
  }
}

/** One anvil, listening on a free port of the loopback interface that nobody else knows. */
export class AnvilProcess {
  readonly #child: ChildProcess
  readonly #pool: Pool
  readonly #port: number
  /** A socket that anvil makes once it has the port: until then another program may answer there. */
  readonly #ipcPath: string
  /** Resolves when it has ended, whoever ended it. */
  readonly ended: Promise<void>
  #hasEnded = false
  #lastId = 0

  private constructor(child: ChildProcess, port: number, ipcPath: string) {
    this.#child = child
    this.#port = port
    this.#ipcPath = ipcPath
    this.#pool = new Pool(`http://${LISTEN_HOST}:${port}`, { connections: CONNECTIONS_MAX })
    this.ended = new Promise((resolve) => {
      const end = () => {
        this.#hasEnded = true
        child.stdin?.destroy()
        resolve()
      }
      child.once('close', end)
      child.once('error', end)
    })
    // Writing to a program that has just died is no fault of ours.
    child.stdin?.on('error', () => {})
  }

  /** Starts anvil and waits until it answers. */
  static async start(program: string, args: readonly string[], folder: string): Promise<AnvilProcess> {
    for (let attempt = 1; ; attempt++) {
      const port = await freePort()
      const ipcPath = join(tmpdir(), `paylink-anvil-${randomBytes(8).toString('hex')}.ipc`)
      const own = [
        '--host',
        LISTEN_HOST,
        '--port',
        String(port),
        '--silent',
        '--cache-path',
        join(folder, 'anvil'),
        '--ipc',
        ipcPath,
      ]
      const child = spawn('/bin/sh', ['-c', GUARDED, 'paylink-anvil', program, ...own, ...args], {
        // A group of its own: Ctrl-C in a terminal reaches us alone, and we end anvil after its users.
        detached: true,
        stdio: ['pipe', 'ignore', 'ignore'],
        cwd: folder,
        env: childEnvironment(),
      })
      const anvil = new AnvilProcess(child, port, ipcPath)
      if (await anvil.#answers()) return anvil
      await anvil.stop()
      if (attempt >= START_ATTEMPTS_MAX) throw new Error(`anvil did not start in ${attempt} attempts`)
    }
  }

  async #answers(): Promise<boolean> {
    const until = performance.now() + START_MS_MAX
    while (performance.now() < until && !this.#hasEnded) {
      try {
        await access(this.#ipcPath)
        await this.call('eth_chainId', [])
        return true
      } catch {
        // Nothing listens yet.
        await pause(PROBE_MS)
      }
    }
    return false
  }

  /** The result of a call. Throws `AnvilRefused`, and other errors where anvil is gone. */
  async call(method: string, params: readonly unknown[]): Promise<unknown> {
    const { result, error } = await this.forward(method, params)
    if (error !== undefined) throw new AnvilRefused(method, error)
    return result ?? null
  }

  /** The answer to a call, errors included. */
  async forward(method: string, params: unknown): Promise<RpcAnswer> {
    const { body } = await this.#pool.request({
      method: 'POST',
      path: '/',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++this.#lastId, method, params }),
    })
    return answerSchema.parse(await body.json())
  }

  /** The port, for tests that look whether it is free again. */
  get port(): number {
    return this.#port
  }

  async stop(): Promise<void> {
    // The guard kills it when its standard input ends.
    this.#child.stdin?.destroy()
    const timer = setTimeout(() => this.#killGroup(), STOP_MS_MAX)
    await this.ended
    clearTimeout(timer)
    await rm(this.#ipcPath, { force: true })
    await this.#pool.destroy()
  }

  #killGroup(): void {
    const { pid } = this.#child
    if (pid === undefined) return
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // It ended this very moment.
    }
  }
}
