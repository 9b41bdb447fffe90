import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { createKeyPairSignerFromPrivateKeyBytes } from '@solana/kit'
import { z } from 'zod'
import type { AssetId } from '../../core/assets.ts'
import type { Clock } from '../../runtime/clock.ts'
import { readOrMakeSecretFile } from '../../runtime/data-dir.ts'
import type { Log } from '../../runtime/log.ts'
import { Changes } from '../changes.ts'
import type { SandboxControls, SignedPayment } from '../controls.ts'
import { type SandboxPlace, serveOnOwnPort, THIS_MACHINE } from '../own-port.ts'
import { createPasswordServer } from '../password-server.ts'
import { SandboxRpc } from '../sandbox-rpc.ts'
import { loadSvm } from './load-svm.ts'
import { ACCOUNT_METHODS } from './rpc-account-methods.ts'
import { BLOCK_METHODS } from './rpc-block-methods.ts'
import { CONTROL_METHODS } from './rpc-control-methods.ts'
import { RPC_CODES, SolanaRpcError, stringifyWithBigints } from './rpc-support.ts'
import { TOKEN_METHODS } from './rpc-token-methods.ts'
import { sandboxMintOf } from './sandbox-mints.ts'
import { SolanaChain } from './solana-chain.ts'
import { type CommitmentLag, SolanaNode } from './solana-node.ts'

const KEY_BYTES = 32
/** Short, so that a test payment is seen and final soon; real ones are 400 ms. */
const SANDBOX_SLOT_MS = 100
/** A slot without a block now and then, as on the real chain. */
const SKIP_EVERY = 20
/** Confirmed with the next block, finalized a second later. */
const LAG: CommitmentLag = { confirmed: 1, finalized: 12 }

type SolanaSandboxOptions = {
  readonly dataDir: string
  readonly clock: Clock
  readonly log: Log
  readonly lag?: CommitmentLag
  /** 0: blocks come only when asked for. */
  readonly slotMs?: number
  readonly skipEvery?: number
  readonly place?: SandboxPlace
  /** Whether a virtual machine that is not here may be fetched. */
  readonly mayFetch?: boolean
}

/**
 * Serves the Solana chain that lives in `<dataDir>/sandbox/solana`, see `serveOnOwnPort`. Throws `SvmMissing`,
 * `SlotJournalDamaged` and the system's errors.
 */
export async function startSolanaChain(options: SolanaSandboxOptions): Promise<{
  readonly rpcUrl: string
  readonly client: SolanaSandboxClient
  stop(): Promise<void>
}> {
  const { clock, log, lag = LAG, slotMs = SANDBOX_SLOT_MS, skipEvery = SKIP_EVERY } = options
  const { place = THIS_MACHINE } = options
  const folder = join(options.dataDir, 'sandbox', 'solana')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const module = await loadSvm(options)
  const secret = await readOrMakeSecretFile(join(folder, 'bank.key'), () =>
    randomBytes(KEY_BYTES).toString('hex'),
  )
  const bank = await createKeyPairSignerFromPrivateKeyBytes(Buffer.from(secret.trim(), 'hex'))
  const onError = (error: unknown) =>
    log.error({ err: error, chain: 'solana' }, 'the sandbox chain could not write')
  const changes = new Changes()
  let node: SolanaNode | null = null
  const port = await serveOnOwnPort({
    folder,
    place,
    chain: 'solana',
    log,
    probe: { method: 'getHealth', warming: WARMING_UP },
    createServer: (password) =>
      createSolanaRpcServer({
        password,
        node: () => node,
        changes,
        onError: (error, method) => log.error({ err: error, chain: 'solana', method }, 'sandbox RPC failed'),
      }),
    open: async () => {
      const chain = SolanaChain.open({
        module,
        path: join(folder, 'chain.log'),
        bank: bank.address,
        nowMs: clock().getTime(),
        onChange: changes.emit,
      })
      const served = new SolanaNode({ chain, bank, clock, lag, slotMs, skipEvery, onError })
      served.start()
      node = served
      return () => {
        served.stop()
        node = null
        chain.close()
      }
    },
  })
  const client = new SolanaSandboxClient(port.rpcUrl)
  return {
    rpcUrl: port.rpcUrl,
    client,
    stop: async () => {
      await client.close()
      await port.stop()
    },
  }
}

const BATCH_MAX = 100
const WARMING_UP = 'Node is warming up'
const METHODS = [BLOCK_METHODS, ACCOUNT_METHODS, TOKEN_METHODS, CONTROL_METHODS]

type Context = {
  readonly node: () => SolanaNode | null
  readonly onError: (error: unknown, method: string) => void
}

/** JSON-RPC over HTTP as Solana's nodes serve it: status 200 with an error in the body, calls one by one or in an array. */
function createSolanaRpcServer(
  options: Context & { readonly password: string; readonly changes: Changes },
): Server {
  return createPasswordServer({
    password: options.password,
    changes: options.changes,
    answer: async (body) => ({ status: 200, text: stringifyWithBigints(await answer(body, options)) }),
    onError: (error) => options.onError(error, 'any'),
  })
}

async function answer(body: string, context: Context): Promise<unknown> {
  let request: unknown
  try {
    request = JSON.parse(body)
  } catch {
    // Not JSON: the caller's mistake, answered as such.
    return failure(null, RPC_CODES.parse, 'Parse error')
  }
  if (!Array.isArray(request)) return call(request, context)
  if (request.length === 0 || request.length > BATCH_MAX) {
    return failure(null, RPC_CODES.invalidRequest, `a batch holds 1 to ${BATCH_MAX} calls`)
  }
  const answers: unknown[] = []
  for (const one of request) answers.push(await call(one, context))
  return answers
}

async function call(request: unknown, context: Context): Promise<unknown> {
  if (typeof request !== 'object' || request === null || !('method' in request)) {
    return failure(null, RPC_CODES.invalidRequest, 'Invalid request')
  }
  const id = 'id' in request ? request.id : null
  const params: unknown = 'params' in request ? request.params : []
  const name = String(request.method)
  const method = METHODS.map((methods) => methods.get(name)).find((each) => each !== undefined)
  if (method === undefined) return failure(id, RPC_CODES.methodNotFound, 'Method not found')
  if (params !== undefined && !Array.isArray(params)) {
    return failure(id, RPC_CODES.invalidParams, 'Invalid params: expected an array')
  }
  const node = context.node()
  if (node === null) return failure(id, RPC_CODES.nodeUnhealthy, WARMING_UP)
  try {
    return { jsonrpc: '2.0', result: await method(node, params ?? []), id }
  } catch (error) {
    if (error instanceof SolanaRpcError) return failure(id, error.code, error.message, error.data)
    // A fault of ours ends this call and is logged; the chain goes on.
    context.onError(error, name)
    return failure(id, RPC_CODES.internal, 'Internal error')
  }
}

const failure = (id: unknown, code: number, message: string, data?: unknown) => ({
  jsonrpc: '2.0',
  error: { code, message, ...(data === undefined ? {} : { data }) },
  id,
})

const signature = z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{64,88}$/)
const signedSchema = z.object({ txid: signature, hex: z.string() })
const paymentSchema = signedSchema.extend({ replacement: signedSchema })

/**
 * The controls of the Solana sandbox chain, in this process or another. Nothing waits in the open there: a payment that
 * is to be taken back is confirmed and not final yet, and a fork takes it out of the chain.
 */
class SolanaSandboxClient implements SandboxControls {
  readonly #rpc: SandboxRpc

  constructor(rpcUrl: string) {
    this.#rpc = new SandboxRpc(rpcUrl)
  }

  signPayment(asset: AssetId, address: string, amount: bigint): Promise<SignedPayment> {
    const mint = sandboxMintOf(asset)?.mint ?? null
    return this.#rpc.call('sandbox_signpayment', [address, amount.toString(), mint], paymentSchema)
  }

  async send({ hex }: SignedPayment): Promise<void> {
    await this.#rpc.call('sendTransaction', [hex, { encoding: 'base64' }], signature)
  }

  async show({ hex }: SignedPayment, until: 'detected' | 'confirmed'): Promise<void> {
    const method = until === 'detected' ? 'sandbox_sendunsettled' : 'sendTransaction'
    await this.#rpc.call(method, [hex, { encoding: 'base64' }], signature)
  }

  /** The fork that drops it, and the same coins sent elsewhere. */
  async replace({ txid, replacement }: SignedPayment): Promise<void> {
    await this.#rpc.call('sandbox_drop', [txid], z.unknown())
    await this.#rpc.call('sendTransaction', [replacement.hex, { encoding: 'base64' }], signature)
  }

  async withdraw({ txid }: SignedPayment): Promise<void> {
    await this.#rpc.call('sandbox_reorganiseaway', [txid], z.unknown())
  }

  async release({ txid }: SignedPayment): Promise<void> {
    await this.#rpc.call('sandbox_release', [txid], z.boolean())
  }

  subscribe(wake: () => void): () => void {
    return this.#rpc.subscribe(wake)
  }

  close(): Promise<void> {
    return this.#rpc.close()
  }
}
