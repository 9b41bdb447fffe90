import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { hasCode, readFileIfPresent, readOrMakeSecretFile, writeSecretFile } from '../data-dir.ts'
import type { Log } from '../log.ts'
import { CHAIN_PARAMETERS, type SandboxChainName } from './chain-parameters.ts'
import { ChainState } from './chain-state.ts'
import { Miner } from './miner.ts'
import { createRpcServer, RPC_USER } from './rpc-server.ts'
import { SandboxClient } from './sandbox-client.ts'
import { SandboxNode } from './sandbox-node.ts'
import { Wallet } from './wallet.ts'

const LISTEN_HOST = '127.0.0.1'
const PASSWORD_BYTES = 24
const PROBE_TIMEOUT_MS = 5_000
/** How often a process that found the chain served by another one looks whether that one is gone. */
const TAKE_OVER_INTERVAL_MS = 1_000

export type SandboxChain = {
  readonly chain: SandboxChainName
  /** Address of its RPC, credentials included; the same after every restart. */
  readonly rpcUrl: string
  readonly client: SandboxClient
  stop(): Promise<void>
}

const endpointSchema = z.object({ port: z.int().min(1).max(65_535), password: z.string().min(1) })
type Endpoint = z.infer<typeof endpointSchema>

type Options = {
  readonly chain: SandboxChainName
  readonly dataDir: string
  readonly clock: Clock
  readonly log: Log
  /** Time between blocks while something happens; 0: blocks come only when asked for. */
  readonly blockIntervalMs: number
}

/**
 * Serves the sandbox chain that lives in `<dataDir>/sandbox/<chain>`. The chain's port is its lock: where
 * another process of this machine already serves it, this one uses that, and takes over when it is gone.
 * Throws `JournalDamaged` and the system's errors.
 */
export async function startSandboxChain(options: Options): Promise<SandboxChain> {
  const folder = join(options.dataDir, 'sandbox', options.chain)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const { endpoint, host } = await settle(folder, options)
  const rpcUrl = `http://${RPC_USER}:${endpoint.password}@${LISTEN_HOST}:${endpoint.port}`
  const serving = host === null ? waitToServe(folder, endpoint, options) : host
  const client = new SandboxClient(rpcUrl)
  return {
    chain: options.chain,
    rpcUrl,
    client,
    stop: async () => {
      await client.close()
      await serving.stop()
    },
  }
}

type Host = { stop(): Promise<void> }

/** Finds the chain's port and password, or makes them, and serves there unless another process does. */
async function settle(folder: string, options: Options): Promise<{ endpoint: Endpoint; host: Host | null }> {
  const path = join(folder, 'rpc.json')
  const known = await readEndpoint(path)
  if (known !== null) {
    const host = await serve(folder, known, options)
    if (host !== null || (await isServed(known))) return { endpoint: known, host }
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
  if (settled === text) return { endpoint: mine, host: listening.open(folder) }
  // Another process began at the same moment and was first.
  await listening.close()
  return settle(folder, options)
}

async function readEndpoint(path: string): Promise<Endpoint | null> {
  const text = await readFileIfPresent(path)
  return text === null ? null : endpointSchema.parse(JSON.parse(text))
}

/** Serves the chain on its port; null where something else listens there. */
async function serve(folder: string, endpoint: Endpoint, options: Options): Promise<Host | null> {
  const listening = new PendingServer(endpoint.password, options)
  return (await listening.listen(endpoint.port)) === null ? null : listening.open(folder)
}

/** A server that has the port, and tells callers that it is warming up until the chain is open. */
class PendingServer {
  readonly #server: Server
  readonly #options: Options
  #node: SandboxNode | null = null

  constructor(password: string, options: Options) {
    this.#options = options
    this.#server = createRpcServer({
      password,
      node: () => this.#node,
      onError: (error, method) =>
        options.log.error({ err: error, chain: options.chain, method }, 'sandbox RPC failed'),
    })
  }

  /** The port, or null where it is taken. */
  async listen(port: number): Promise<number | null> {
    try {
      await new Promise<void>((resolve, reject) => {
        this.#server.once('error', reject)
        this.#server.listen(port, LISTEN_HOST, resolve)
      })
    } catch (error) {
      if (hasCode(error, 'EADDRINUSE')) return null
      throw error
    }
    return (this.#server.address() as AddressInfo).port
  }

  open(folder: string): Host {
    const { chain, clock, log, blockIntervalMs } = this.#options
    const onError = (error: unknown) => log.error({ err: error, chain }, 'the sandbox chain could not write')
    const state = ChainState.open({
      parameters: CHAIN_PARAMETERS[chain],
      path: join(folder, 'chain.log'),
      newKey: () => secp256k1.utils.randomSecretKey(),
      nowMs: clock().getTime(),
      onSyncError: onError,
    })
    const miner = new Miner({ state, clock, blockIntervalMs, onError })
    this.#node = new SandboxNode({ state, wallet: new Wallet(state), miner, clock })
    miner.start()
    return {
      stop: async () => {
        miner.stop()
        this.#node = null
        // The journal is closed before the port is given up: whoever takes the port may open it.
        state.close()
        await this.close()
      },
    }
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }
}

/** Whether the chain's own server listens there: only it knows the password. */
async function isServed(endpoint: Endpoint): Promise<boolean> {
  const authorization = `Basic ${Buffer.from(`${RPC_USER}:${endpoint.password}`).toString('base64')}`
  try {
    const response = await fetch(`http://${LISTEN_HOST}:${endpoint.port}`, {
      method: 'POST',
      headers: { authorization },
      body: JSON.stringify({ id: 0, method: 'getzmqnotifications', params: [] }),
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    })
    const text = await response.text()
    return response.status === 200 || text.includes('Loading block index')
  } catch {
    // Whatever answers there in another way, or not at all, is not the chain.
    return false
  }
}

function waitToServe(folder: string, endpoint: Endpoint, options: Options): Host {
  const { log, chain } = options
  let host: Host | null = null
  let attempt: Promise<void> | null = null
  const tryToServe = async () => {
    try {
      host = await serve(folder, endpoint, options)
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
