import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Config, childEnvironment, givenSettings, NO_ENV_FILE } from '../../config/config.ts'
import { StartRefused } from '../../runtime/start-refused.ts'
import { urlHost } from '../../runtime/url-host.ts'

const PROGRAM = fileURLToPath(new URL('../../main.js', import.meta.url))
const START_MS_MAX = 120_000
const STOP_MS_MAX = 45_000
const ASK_MS_MAX = 2_000
/** What is kept of what it prints: only its last line matters, and only where it does not start. */
const PRINTED_LENGTH_MAX = 4_096

/** Whether anything answers where the service would. */
export async function isServiceUp({ host, port }: Pick<Config, 'host' | 'port'>): Promise<boolean> {
  try {
    await fetch(`http://${urlHost(host)}:${port}/healthz`, { signal: AbortSignal.timeout(ASK_MS_MAX) })
    return true
  } catch {
    // Nothing listens, which is what is asked.
    return false
  }
}

/** All roles in a process of their own, which ends with this one at the latest. Throws `StartRefused` where it cannot start. */
export async function startOwnService(): Promise<{ stop(): Promise<void> }> {
  const child = spawn(process.execPath, [PROGRAM, 'start', '--until-stdin-ends'], {
    // A session of its own: Ctrl-C in a terminal reaches us alone.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: childEnvironment({ ...NO_ENV_FILE, ...givenSettings() }),
  })
  // Writing to a process that has just died is no fault of ours.
  child.stdin.on('error', () => {})
  let printed = ''
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const begun = new Promise<boolean>((resolve) => {
    const read = (text: string) => {
      printed = (printed + text).slice(-PRINTED_LENGTH_MAX)
      if (printed.includes('paylink runs') || printed.includes('Stop with Ctrl-C')) resolve(true)
    }
    child.stdout.setEncoding('utf8').on('data', read)
    child.stderr.setEncoding('utf8').on('data', read)
    void ended.then(() => resolve(false))
  })
  const patience = setTimeout(() => child.kill('SIGKILL'), START_MS_MAX)
  const isUp = await begun
  clearTimeout(patience)
  if (!isUp) throw new StartRefused(`Paylink did not start: ${printed.trim().split('\n').at(-1) ?? ''}`)
  return {
    stop: async () => {
      const kill = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
      child.stdin.end()
      await ended
      clearTimeout(kill)
    },
  }
}
