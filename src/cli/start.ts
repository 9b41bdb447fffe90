import { refuseHalfRestored } from '../backup/restoring.ts'
import { type Config, loadProcessConfig } from '../config/config.ts'
import { STAGING_NOTICE } from '../core/staging.ts'
import { type OpenDatabase, type OpenOptions, openDatabase } from '../postgres/open-database.ts'
import { needsDatabase, ROLE_NAMES, type RoleName } from '../roles/role.ts'
import { openDataDir } from '../runtime/data-dir.ts'
import { markFolder, refuseOtherFolder } from '../runtime/data-dir-kind.ts'
import { createLogger, describeError, type Log } from '../runtime/log.ts'
import { dashboardUrl } from '../runtime/own-cell.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { urlHost } from '../runtime/url-host.ts'
import type { Output } from './command-context.ts'
import { EXIT_FORCED, EXIT_REFUSED } from './exit-codes.ts'
import type { RunOptions } from './run-roles.ts'
import { type SeededSandbox, seedSandbox } from './seed-sandbox.ts'
import { StopList, stopInTime } from './stop-list.ts'
import { UsageError } from './usage-error.ts'

/** A step of the start ends within this time, also on a busy machine; a blocked system call may never. */
const STEP_STOP_MS_MAX = 20_000
/**
 * A signal that repeats within this time counts once: a terminal and a supervisor both pass it on, and `timeout`
 * sends it to the whole group.
 */
const REPEATED_WITHIN_MS = 1_500
const ALIVE_INTERVAL_MS = 3_600_000

/** `paylink start`: runs until told to stop. Exit code 0 after an orderly stop, 1 if something broke. */
export async function startCommand(
  names: readonly string[],
  options: { untilStdinEnds: boolean },
  output: Output,
): Promise<number> {
  const roles = rolesOf(names)
  const config = loadProcessConfig()
  const log = createLogger(config.logLevel, 'stderr')
  const stop = new StopSignal(log, options.untilStdinEnds)
  const everything = new StopList(log)
  const begun = begin({ config, roles, log, stop, everything, output }).catch((error: unknown) => {
    // A step that was ended because the process is to stop.
    if (error !== stop.signal.reason) throw error
  })
  try {
    await Promise.race([begun, stop.requested])
    await settledInTime(begun, log)
    await stop.requested
  } catch (error) {
    if (!options.untilStdinEnds || !(error instanceof StartRefused)) throw error
    output.line(error.message)
    stop.exitCode = EXIT_REFUSED
  } finally {
    stop.end()
    await stopInTime(everything, log)
  }
  return stop.exitCode
}

type Start = {
  readonly config: Config
  readonly roles: ReadonlySet<RoleName>
  readonly log: Log
  readonly stop: StopSignal
  readonly everything: StopList
  readonly output: Output
}

/** Starts one part after the other, until all run or the process was told to stop. */
async function begin({ config, roles, log, stop, everything, output }: Start): Promise<void> {
  const startedAt = performance.now()
  const onStep = (line: string) =>
    output.line(`· ${line} (${((performance.now() - startedAt) / 1_000).toFixed(1)} s)`)
  await openDataDir(config.dataDir)
  await refuseOtherFolder(config)
  await refuseHalfRestored(config.dataDir)
  if (stop.signal.aborted) return
  const onLost = (error: Error) => stop.fail(error)
  const database = await openIfNeeded(roles, config, { onStep, onLost, stop: stop.signal })
  everything.add('the database', () => database.close())
  await markFolder(config)
  if (stop.signal.aborted) return
  const run = await runnerOf(roles)
  const onFatal = (error: Error) => stop.fail(error)
  const running = await run({ config, roles, database, log, onStep, onFatal, stop: stop.signal })
  everything.add('the roles', () => running.stop())
  if (stop.signal.aborted) return
  const seeds = config.sandbox && roles.has('api') && roles.has('checkout')
  const sandbox = seeds ? await seedSandbox({ config, database, onStep, stop: stop.signal }) : null
  if (stop.signal.aborted) return
  if (config.staging) output.line(`· ${STAGING_NOTICE}`)
  if (roles.has('api')) output.line(`· ${SIGN_UP_LINES[config.signUp]}`)
  if (sandbox !== null) printBanner({ config, sandbox, startedMs: performance.now() - startedAt }, output)
  else output.line(`paylink runs ${[...roles].join(', ')}${roles.has('api') ? ` at ${config.baseUrl}` : ''}`)
  log.info({ roles: [...roles] }, 'started')
}

const SIGN_UP_LINES: { readonly [signUp in Config['signUp']]: string } = {
  open: 'sign-up is open to anybody (SIGN_UP=open)',
  invite: 'sign-up is for invited people (SIGN_UP=invite): make shops with paylink merchant create',
  closed: 'sign-up is closed (SIGN_UP=closed): make shops and their owners with paylink merchant create',
}

/** Waits for the current step of the start, so that what it began can be stopped in order. */
async function settledInTime(begun: Promise<void>, log: Log): Promise<void> {
  const timer = setTimeout(() => {
    log.fatal('the current step does not finish: exiting at once')
    process.exit(EXIT_FORCED)
  }, STEP_STOP_MS_MAX)
  try {
    await begun
  } finally {
    clearTimeout(timer)
  }
}

/** Loads only the code of what is to run. */
async function runnerOf(roles: ReadonlySet<RoleName>): Promise<(options: RunOptions) => Promise<StopList>> {
  if (roles.has('signer') && roles.size === 1) return (await import('./run-signer.ts')).runSigner
  return (await import('./run-roles.ts')).runRoles
}

/** The sandbox chains by themselves are files, and the reader keeps nothing. */
async function openIfNeeded(
  roles: ReadonlySet<RoleName>,
  config: Config,
  options: OpenOptions,
): Promise<OpenDatabase> {
  if ([...roles].some(needsDatabase)) return await openDatabase(config, options)
  return {
    ownerUrl: null,
    roleUrls: { api: '', watcher: '', delivery: '', signer: '' },
    close: async () => {},
  }
}

function rolesOf(names: readonly string[]): ReadonlySet<RoleName> {
  const wanted = names.length === 0 ? ['all'] : names
  const roles = new Set<RoleName>()
  for (const name of wanted) {
    // One reader serves several installations, and none needs it.
    const known = ROLE_NAMES.filter((role) => (name === 'all' ? role !== 'reader' : role === name))
    if (known.length === 0) throw new UsageError(`${name} is no role: use ${ROLE_NAMES.join(', ')} or all`)
    for (const role of known) roles.add(role)
  }
  return roles
}

/** Resolves when a signal, the end of standard input, or a fault says to stop. A second signal, later than the first one's echo, ends the process at once. */
class StopSignal {
  readonly requested: Promise<void>
  exitCode = 0
  #reportedAt = 0
  readonly #log: Log
  readonly #aborted = new AbortController()
  // Keeps the process alive for roles that have nothing else to do so, such as a sandbox chain that another process
  // serves.
  readonly #alive = setInterval(() => {}, ALIVE_INTERVAL_MS)

  constructor(log: Log, untilStdinEnds: boolean) {
    this.#log = log
    this.requested = new Promise((resolve) =>
      this.signal.addEventListener('abort', () => resolve(), { once: true }),
    )
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => this.#onSignal(name))
    process.on('uncaughtException', (error) => this.fail(error))
    process.on('unhandledRejection', (reason) => {
      this.fail(reason instanceof Error ? reason : new Error('a promise was rejected', { cause: reason }))
    })
    if (untilStdinEnds) {
      process.stdin.once('end', () => this.#stop())
      process.stdin.once('error', () => this.#stop())
      process.stdin.resume()
    }
  }

  get signal(): AbortSignal {
    return this.#aborted.signal
  }

  fail(error: Error): void {
    this.#log.fatal({ err: error }, `stopping: ${describeError(error)}`)
    this.exitCode = 1
    this.#stop()
  }

  #onSignal(name: string): void {
    // After its terminal was closed the process has no output; it stops in order all the same.
    if (this.signal.aborted) {
      if (performance.now() - this.#reportedAt < REPEATED_WITHIN_MS) return
      this.#log.warn(`${name} again: exiting at once`)
      process.exit(EXIT_FORCED)
    }
    this.#reportedAt = performance.now()
    this.#log.info(`${name}: finishing what was begun`)
    this.#stop()
  }

  #stop(): void {
    this.#aborted.abort()
    this.end()
  }

  /** Stops keeping the process alive, by the timer or by standard input, which nothing else reads. */
  end(): void {
    clearInterval(this.#alive)
    process.stdin.destroy()
  }
}

/** What the person who started the sandbox needs for the first five minutes. */
function printBanner(
  start: { config: Config; sandbox: SeededSandbox; startedMs: number },
  output: Output,
): void {
  const { config, sandbox } = start
  const { baseUrl } = config
  output.line(`
Paylink is ready (${(start.startedMs / 1_000).toFixed(1)} s)

  Base URL       ${baseUrl}
  API reference  ${baseUrl}/docs
  Dashboard      ${dashboardUrl(baseUrl)}/   (sign up, or look around in the demo shop:)
  Demo owner     ${sandbox.email}   password ${sandbox.password}
  Test API key   ${sandbox.apiKey}
  Open checkout  ${sandbox.checkoutUrl}
${config.operatorPort === null ? '' : `  Metrics        http://${urlHost(config.operatorHost)}:${config.operatorPort.port}/metrics\n`}
Make an invoice of your own:

  curl -s ${baseUrl}/api/v1/invoices \\
    -H 'authorization: Bearer ${sandbox.apiKey}' \\
    -H 'content-type: application/json' \\
    -H 'idempotency-key: order-1001' \\
    -d '{"usd_amount":"25.00","asset":"LTC","external_reference":"order-1001"}'

Test money only. Data is in ${config.dataDir}. Stop with Ctrl-C.
`)
}
