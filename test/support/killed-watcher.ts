import { type ChildProcess, spawn } from 'node:child_process'
import pg from 'pg'
import { until } from './until.ts'
import type { WatchedChain } from './watched-chain.ts'

const PROGRAM = new URL('./watcher-process.mjs', import.meta.url).pathname
/** The key of the lock that a checkpoint waits for. */
const LOCK = 7_771

/** A watcher in a process of its own, to be killed. It knows the addresses that the database holds. */
export class KilledWatcher {
  readonly #child: ChildProcess
  #output = ''

  private constructor(child: ChildProcess) {
    this.#child = child
    const collect = (chunk: Buffer) => {
      this.#output += chunk.toString('utf8')
    }
    child.stdout?.on('data', collect)
    child.stderr?.on('data', collect)
  }

  /** Started, and at the tip. */
  static async start({ chain, database }: Pick<WatchedChain, 'chain' | 'database'>): Promise<KilledWatcher> {
    const order = { recipe: chain.recipe, databaseUrl: database.urls.watcher }
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify(order)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const watcher = new KilledWatcher(child)
    await until(
      () => {
        if (child.exitCode !== null) throw new Error(`the watcher ended by itself: ${watcher.#output}`)
        return watcher.#output.includes('stands at the tip')
      },
      { what: 'the watcher stands at the tip' },
    )
    return watcher
  }

  /** The most memory that the process has held so far, in bytes. */
  async mostMemory(): Promise<number> {
    const before = this.#output.length
    const said = () => /most memory (\d+) KiB/.exec(this.#output.slice(before))?.[1]
    this.#child.kill('SIGUSR2')
    await until(() => said() !== undefined, { what: 'the watcher tells its memory', timeoutMs: 120_000 })
    return Number(said()) * 1024
  }

  /** As a power cut would. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.kill('SIGKILL')
    await ended
  }
}

/** Holds every checkpoint back until `mend`: whoever writes one stands between its credits and its checkpoint. */
export async function holdCheckpoints({ database }: WatchedChain): Promise<{
  /** When a checkpoint is being held. */
  readonly reached: () => Promise<void>
  /** Lets go. What waited is cut off, as it was when its process died. */
  readonly mend: () => Promise<void>
}> {
  const client = new pg.Client({ connectionString: database.ownerUrl })
  await client.connect()
  await client.query('select pg_advisory_lock($1)', [LOCK])
  await client.query(`create function held_checkpoint() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock(${LOCK}); return new; end $$`)
  await client.query(`create trigger held_checkpoint before update of hash on network_state
    for each row when (old.hash is distinct from new.hash) execute function held_checkpoint()`)
  const waiting = () =>
    client.query<{ pid: number }>(
      // The server's other databases belong to other test files, which hold checkpoints of their own.
      `select pid from pg_locks where locktype = 'advisory' and objid = $1 and not granted
         and database = (select oid from pg_database where datname = current_database())`,
      [LOCK],
    )
  return {
    reached: () =>
      until(async () => (await waiting()).rows.length > 0, { what: 'a checkpoint is about to be written' }),
    mend: async () => {
      for (const { pid } of (await waiting()).rows)
        await client.query('select pg_terminate_backend($1)', [pid])
      await until(async () => (await waiting()).rows.length === 0, { what: 'what was held has ended' })
      await client.query('drop trigger held_checkpoint on network_state')
      await client.query('drop function held_checkpoint()')
      await client.end()
    },
  }
}
