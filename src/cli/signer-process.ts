import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { childEnvironment } from '../config/child-environment.ts'
import { type Config, NO_ENV_FILE } from '../config/config.ts'
import type { Log } from '../runtime/log.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { EXIT_REFUSED } from './exit-codes.ts'

const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url))
const RESTART_MS_MIN = 250
const RESTART_MS_MAX = 30_000
/** A signer that lived this long was healthy: the next restart begins with the shortest pause again. */
const HEALTHY_MS = 60_000
const STOP_MS_MAX = 10_000
/** A refusal is one line; no more than this of what the signer prints is kept. */
const PRINTED_LENGTH_MAX = 4_096

/**
 * The signer in a process of its own: restarted with growing pauses when it dies, stopped with us, and gone when
 * we are killed, since its standard input then ends. It knows its own database role and nothing of the others',
 * of the owner's, or of the key that seals the API's secrets.
 */
export function startSignerProcess(options: { config: Config; signerUrl: string; log: Log }): {
  /**
   * Resolves once it has started for the first time, or died in a way that another try may fix. Rejects with
   * `StartRefused` where its files and the database do not belong together: that does not pass.
   */
  readonly begun: Promise<void>
  stop(): Promise<void>
} {
  const { log } = options
  let hasBegun = false
  let succeed = () => {}
  let refuse: (error: StartRefused) => void = () => {}
  const begun = new Promise<void>((resolve, reject) => {
    succeed = () => {
      hasBegun = true
      resolve()
    }
    refuse = reject
  })
  // Whoever starts it waits for this last of all, and may fail before.
  begun.catch(() => {})
  let child: ChildProcess | null = null
  let restart: NodeJS.Timeout | undefined
  let pauseMs = RESTART_MS_MIN
  let stopping = false

  const begin = () => {
    const startedAt = performance.now()
    const started = spawn(process.execPath, [PROGRAM, 'start', 'signer', '--until-stdin-ends'], {
      // A session of its own: Ctrl-C in a terminal reaches us alone, and we stop the signer after its users.
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
      env: signerEnvironment(options.config, options.signerUrl),
    })
    child = started
    let printed = ''
    started.stdout?.setEncoding('utf8').on('data', (text: string) => {
      printed = (printed + text).slice(0, PRINTED_LENGTH_MAX)
      if (printed.includes('paylink runs')) succeed()
    })
    // Writing to a process that has just died is no fault of ours.
    started.stdin?.on('error', () => {})
    started.once('error', (error) => log.error({ err: error }, 'the signer could not be started'))
    started.once('close', (code, signal) => {
      child = null
      if (stopping) return
      const refusal = code === EXIT_REFUSED ? printed.trim() : null
      if (refusal !== null && !hasBegun) return refuse(new StartRefused(refusal))
      succeed()
      if (performance.now() - startedAt > HEALTHY_MS) pauseMs = RESTART_MS_MIN
      log.error({ code, signal, refusal, againInMs: pauseMs }, 'the signer ended and is started again')
      restart = setTimeout(begin, pauseMs)
      pauseMs = Math.min(RESTART_MS_MAX, pauseMs * 2)
    })
  }
  begin()
  return {
    begun,
    stop: async () => {
      stopping = true
      clearTimeout(restart)
      if (child !== null) await end(child)
    },
  }
}

/** The signer reads these settings and no others: one that it is to know is named here. */
function signerEnvironment(config: Config, signerUrl: string): { [name: string]: string } {
  return childEnvironment({
    ...NO_ENV_FILE,
    SIGNER_DATABASE_URL: signerUrl,
    DATA_DIR: config.dataDir,
    ADDRESS_KEYS_FILE: config.addressKeysFile,
    APPROVAL_KEY_FILE: config.approvalKeyFile,
    BASE_URL: config.baseUrl,
    LOG_LEVEL: config.logLevel,
    STAGING: config.staging ? '1' : '0',
    CELL: String(config.cell),
    ...(config.signerKeyFile === null ? {} : { SIGNER_KEY_FILE: config.signerKeyFile }),
  })
}

function end(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    const kill = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
    child.once('close', () => {
      clearTimeout(kill)
      resolve()
    })
    child.kill('SIGTERM')
  })
}
