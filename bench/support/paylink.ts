import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

const READY_MS_MAX = 30_000
const MAIN = new URL('../../dist/main.js', import.meta.url).pathname

export type Paylink = {
  readonly pid: number
  readonly baseUrl: string
  /** A merchant with a test key that may do everything. */
  createKey(): Promise<{ merchantId: string; key: string }>
  stop(): Promise<void>
}

/** Starts roles of the built program and waits until it answers. `env` needs at least PORT and DATA_DIR. */
export async function startPaylink(
  roles: readonly string[],
  env: { readonly [name: string]: string },
): Promise<Paylink> {
  // Nothing of the bench runner's own environment: it sets BASE_URL for purposes of its own.
  const environment = { PATH: process.env.PATH, HOME: process.env.HOME, LOG_LEVEL: 'warn', ...env }
  const child = spawn(process.execPath, [MAIN, 'start', ...roles], {
    env: environment,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  let isStopping = false
  child.once('exit', (code, signal) => {
    if (!isStopping) process.stderr.write(`paylink ended by itself: ${code ?? signal}\n`)
  })
  const baseUrl = `http://127.0.0.1:${env.PORT}`
  await untilReady(child, `${baseUrl}/readyz`)
  const command = async (...words: string[]): Promise<{ id: string; key?: string }> => {
    const process_ = spawn(process.execPath, [MAIN, ...words, '--json'], { env: environment })
    let output = ''
    process_.stdout.on('data', (chunk) => {
      output += String(chunk)
    })
    await once(process_, 'close')
    return JSON.parse(output)
  }
  return {
    pid: child.pid ?? 0,
    baseUrl,
    createKey: async () => {
      const merchant = await command('merchant', 'create', '--name', 'Bench', '--email', 'bench@example.com')
      const scopes = 'invoices:read,invoices:write,webhooks:read,webhooks:write,events:read,balances:read'
      const made = await command(
        'key',
        'create',
        '--merchant',
        merchant.id,
        '--mode',
        'test',
        '--scopes',
        scopes,
      )
      if (made.key === undefined) throw new Error('no key was printed')
      return { merchantId: merchant.id, key: made.key }
    },
    stop: async () => {
      isStopping = true
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

async function untilReady(child: ChildProcess, url: string): Promise<void> {
  const endsAt = performance.now() + READY_MS_MAX
  while (performance.now() < endsAt) {
    if (child.exitCode !== null) throw new Error(`paylink ended with ${child.exitCode}`)
    const answer = await fetch(url).catch((error: unknown) => error)
    if (answer instanceof Response && answer.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${url} did not answer within ${READY_MS_MAX} ms`)
}
