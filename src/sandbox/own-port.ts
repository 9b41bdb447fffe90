import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { hasCode, readFileIfPresent, readOrMakeSecretFile, writeSecretFile } from '../runtime/data-dir.ts'
import type { Log } from '../runtime/log.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { urlHost } from '../runtime/url-host.ts'

/** For whoever starts beside the machine that serves the chains: it may still be starting too. */
const ELSEWHERE_MS_MAX = 30_000
const ELSEWHERE_POLL_MS = 100
export const RPC_USER = 'sandbox'
const PASSWORD_BYTES = 24
const PROBE_TIMEOUT_MS = 5_000
/** How often a process that found the chain served by another one looks whether that one is gone. */
const TAKE_OVER_INTERVAL_MS = 1_000

const endpointSchema = z.object({ port: z.int().min(1).max(65_535), password: z.string().min(1) })
type Endpoint = z.infer<typeof endpointSchema>

/** Who serves a sandbox chain, and where it is asked. */
export type SandboxPlace =
  /** Any process of a machine serves it, on this address, and the others ask there. */
  | { readonly kind: 'here'; readonly host: string }
  /** Another machine serves it, which shares the chain's folder; this process never does. */
  | { readonly kind: 'elsewhere'; readonly host: string }

export const THIS_MACHINE: SandboxPlace = { kind: 'here', host: '127.0.0.1' }

/** A chain that is served from a folder of its own by one process of the machine at a time. */
type OwnPortOptions = {
  readonly folder: string
  readonly place: SandboxPlace
  /** The chain's name, for the log. */
  readonly chain: string
  readonly log: Log
  /** A server that answers callers with this password, and answers that it is warming up until `open` is done. */
  readonly createServer: (password: string) => Server
  /** Opens the chain, with the port in hand; gives back how to close it. */
  readonly open: () => Promise<() => void | Promise<void>>
  /** A call that only the chain's own server answers, and how its answer looks while it warms up. */
  readonly probe: { readonly method: string; readonly warming: string }
}

type OwnPort = {
  /** Address of the chain's RPC, credentials included; the same after every restart. */
  readonly rpcUrl: string
  stop(): Promise<void>
}

/**
 * Serves a chain on its own port, which is its lock: where another process of this machine already serves it, this
 * one uses that, and takes over when it is gone.
 */
export async function serveOnOwnPort(options: OwnPortOptions): Promise<OwnPort> {
  const { folder, place } = options
  if (place.kind === 'elsewhere') {
    return { rpcUrl: urlAt(place.host, await endpointOfOther(options)), stop: async () => {} }
  }
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const { endpoint, host } = await settle(options)
  const serving = host === null ? waitToServe(endpoint, options) : host
  return {
    rpcUrl: urlAt(urlHost(place.host), endpoint),
    stop: () => serving.stop(),
  }
}

const urlAt = (host: string, { port, password }: Endpoint): string =>
  `http://${RPC_USER}:${password}@${host}:${port}`

/** Port and password of a chain that another machine serves from the same folder. */
async function endpointOfOther({ folder, chain, place }: OwnPortOptions): Promise<Endpoint> {
  const giveUpAt = performance.now() + ELSEWHERE_MS_MAX
  for (;;) {
    const endpoint = await readEndpoint(join(folder, 'rpc.json'))
    if (endpoint !== null) return endpoint
    if (performance.now() > giveUpAt) {
      throw new StartRefused(
        `SANDBOX_HOST names ${place.host}, and there is no sandbox chain of ${chain} in ${folder}: start the role sandbox there, on a folder that both have`,
      )
    }
    await pause(ELSEWHERE_POLL_MS)
  }
}

type Host = { stop(): Promise<void> }

/** Finds the chain's port and password, or makes them, and serves there unless another process does. */
async function settle(options: OwnPortOptions): Promise<{ endpoint: Endpoint; host: Host | null }> {
  const path = join(options.folder, 'rpc.json')
  const known = await readEndpoint(path)
  if (known !== null) {
    const host = await serve(known, options)
    if (host !== null || (await isServed(known, options))) return { endpoint: known, host }
  }
  // Nothing is known yet, or another program sits on the port: the system chooses a new one.
  const password = randomBytes(PASSWORD_BYTES).toString('base64url')
  const listening = new PendingServer(password, options)
  const port = await listening.listen(0)
  if (port === null) throw new Error('the system has no free port')
  const mine: Endpoint = { port, password }
  const text = JSON.stringify(mine)
  const settled = known === null ? await readOrMakeSecretFile(path, () => text) : text
  if (known !== null) await writeSecretFile(path, text)
  if (settled === text) return { endpoint: mine, host: await listening.open() }
  // Another process began at the same moment and was first.
  await listening.close()
  return settle(options)
}

async function readEndpoint(path: string): Promise<Endpoint | null> {
  const text = await readFileIfPresent(path)
  return text === null ? null : endpointSchema.parse(JSON.parse(text))
}

/** Serves the chain on its port; null where something else listens there. */
async function serve(endpoint: Endpoint, options: OwnPortOptions): Promise<Host | null> {
  const listening = new PendingServer(endpoint.password, options)
  return (await listening.listen(endpoint.port)) === null ? null : await listening.open()
}

/** A server that has the port while its chain is being opened. */
class PendingServer {
  readonly #server: Server
  readonly #options: OwnPortOptions

  constructor(password: string, options: OwnPortOptions) {
    this.#options = options
    this.#server = options.createServer(password)
  }

  /** The port, or null where it is taken. */
  async listen(port: number): Promise<number | null> {
    try {
      await new Promise<void>((resolve, reject) => {
        this.#server.once('error', reject)
        this.#server.listen(port, this.#options.place.host, resolve)
      })
    } catch (error) {
      if (hasCode(error, 'EADDRINUSE')) return null
      throw error
    }
    return (this.#server.address() as AddressInfo).port
  }

  async open(): Promise<Host> {
    try {
      const close = await this.#options.open()
      return {
        stop: async () => {
          // The journal is closed before the port is given up: whoever takes the port may open it.
          await close()
          await this.close()
        },
      }
    } catch (error) {
      await this.close()
      throw error
    }
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }
}

/** Whether the chain's own server listens there: only it knows the password. */
async function isServed(endpoint: Endpoint, { probe, place }: OwnPortOptions): Promise<boolean> {
  const authorization = `Basic ${Buffer.from(`${RPC_USER}:${endpoint.password}`).toString('base64')}`
  try {
    const response = await fetch(`http://${urlHost(place.host)}:${endpoint.port}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: probe.method, params: [] }),
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    })
    const text = await response.text()
    return response.status === 200 || text.includes(probe.warming)
  } catch {
    // Whatever answers there in another way, or not at all, is not the chain.
    return false
  }
}

function waitToServe(endpoint: Endpoint, options: OwnPortOptions): Host {
  const { log, chain } = options
  let host: Host | null = null
  let attempt: Promise<void> | null = null
  const tryToServe = async () => {
    try {
      host = await serve(endpoint, options)
      if (host !== null) log.info({ chain }, 'took over the sandbox chain')
    } catch (error) {
      log.error({ err: error, chain }, 'could not take over the sandbox chain')
    }
    attempt = null
  }
  const timer = setInterval(() => {
    if (host === null) attempt ??= tryToServe()
  }, TAKE_OVER_INTERVAL_MS)
  timer.unref()
  return {
    stop: async () => {
      clearInterval(timer)
      await attempt
      await host?.stop()
    },
  }
}
