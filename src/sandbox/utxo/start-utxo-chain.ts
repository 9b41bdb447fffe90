import { join } from 'node:path'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { Changes } from '../changes.ts'
import type { SandboxControls } from '../controls.ts'
import { type SandboxPlace, serveOnOwnPort, THIS_MACHINE } from '../own-port.ts'
import type { PendingStep } from '../pending-step.ts'
import { CHAIN_PARAMETERS, type SandboxChainName } from './chain-parameters.ts'
import { ChainState } from './chain-state.ts'
import { ChainTransaction } from './chain-transaction.ts'
import { Miner } from './miner.ts'
import { createRpcServer } from './rpc-server.ts'
import { SandboxNode } from './sandbox-node.ts'
import { UtxoSandboxClient } from './utxo-sandbox-client.ts'
import { Wallet } from './utxo-wallet.ts'

/** What a scenario had left when the chain stopped is done this long after it starts again: watchers have read it by then. */
const RESUME_MS = 3_000

export type SandboxChain = {
  readonly chain: SandboxChainName
  /** Address of its RPC, credentials included; the same after every restart. */
  readonly rpcUrl: string
  readonly client: UtxoSandboxClient
  stop(): Promise<void>
}

type Options = {
  readonly chain: SandboxChainName
  readonly dataDir: string
  readonly clock: Clock
  readonly log: Log
  /** Time between blocks while something happens; 0: blocks come only when asked for. */
  readonly blockIntervalMs: number
  readonly place?: SandboxPlace
}

/**
 * Serves the sandbox chain that lives in `<dataDir>/sandbox/<chain>`, see `serveOnOwnPort`. Throws `JournalDamaged`
 * and the system's errors.
 */
export async function startUtxoChain(options: Options): Promise<SandboxChain> {
  const { chain, clock, log, blockIntervalMs, place = THIS_MACHINE } = options
  const folder = join(options.dataDir, 'sandbox', chain)
  const onError = (error: unknown) => log.error({ err: error, chain }, 'the sandbox chain could not write')
  const changes = new Changes()
  let node: SandboxNode | null = null
  const port = await serveOnOwnPort({
    folder,
    place,
    chain,
    log,
    probe: { method: 'getzmqnotifications', warming: 'Loading block index' },
    createServer: (password) =>
      createRpcServer({
        password,
        node: () => node,
        changes,
        onError: (error, method) => log.error({ err: error, chain, method }, 'sandbox RPC failed'),
      }),
    open: async () => {
      const state = ChainState.open({
        parameters: CHAIN_PARAMETERS[chain],
        path: join(folder, 'chain.log'),
        newKey: () => secp256k1.utils.randomSecretKey(),
        nowMs: clock().getTime(),
        onSyncError: onError,
        onChange: changes.emit,
      })
      const miner = new Miner({ state, clock, blockIntervalMs, onError })
      const left = state.pendingSteps
      const opened = new SandboxNode({ state, wallet: new Wallet(state), miner, clock })
      node = opened
      miner.start()
      const resuming = setTimeout(() => resumeSteps(opened, left, log), RESUME_MS)
      return () => {
        clearTimeout(resuming)
        miner.stop()
        node = null
        state.close()
      }
    },
  })
  const client = new UtxoSandboxClient(port.rpcUrl)
  return {
    chain,
    rpcUrl: port.rpcUrl,
    client,
    stop: async () => {
      await client.close()
      await port.stop()
    },
  }
}

/** Takes the steps that scenarios had left when the chain stopped. One that cannot be taken any more is given up. */
function resumeSteps(node: SandboxNode, steps: readonly PendingStep[], log: Log): void {
  for (const step of steps) {
    try {
      resume(node, step)
    } catch (error) {
      log.warn({ err: error, txid: step.txid }, 'a test payment that was interrupted could not be finished')
    }
    node.state.mempool.release(step.txid)
    node.state.done(step.txid)
    node.miner.wake()
  }
}

function resume(node: SandboxNode, { txid, hex }: PendingStep): void {
  if (hex !== null) {
    const verdict = node.submit(ChainTransaction.parse(Buffer.from(hex, 'hex')))
    if (verdict.kind === 'refused') throw new Error(verdict.reason)
    return
  }
  // Where no block holds it, its block was reorganised away before, and the next one takes it again.
  const height = node.state.heightOfRecent(txid)
  if (height !== null) node.state.reorganise(node.state.tip.height - height + 1, node.nowMs)
}

/** On a chain with a mempool a payment is detected there, and its replacement is one by fee. */
export function utxoControls(client: UtxoSandboxClient): SandboxControls {
  return {
    signPayment: (_asset, address, amount) => client.signPayment(address, amount),
    send: async ({ hex }) => {
      await client.send(hex)
    },
    show: async ({ hex }, until) => {
      if (until === 'detected') await client.sendHeld(hex)
      else await client.send(hex)
    },
    replace: async ({ replacement }) => {
      await client.send(replacement.hex)
    },
    withdraw: async ({ txid }) => {
      await client.reorganiseAway(txid)
    },
    release: ({ txid }) => client.release(txid),
    pendingSteps: { keep: (step) => client.keepStep(step), done: (txid) => client.done(txid) },
  }
}
