import { planSchema } from '../plan.ts'
import { RPC_REJECTED } from './accept-transaction.ts'
import { parseTransaction } from './rpc-mempool-methods.ts'
import type { RpcMethod } from './rpc-method.ts'
import { hashParam, integerParam, RPC_ERRORS, RpcError, stringParam } from './rpc-params.ts'
import { scriptOfAddress } from './utxo-wallet.ts'

/** Bitcoin Core's `RPC_WALLET_INSUFFICIENT_FUNDS`. */
const RPC_INSUFFICIENT_FUNDS = -6
const MAX_BLOCKS_AT_ONCE = 1_000

/**
 * The sandbox's own controls, which no real node has: for tests, test checkouts and `POST /test/invoices/:id/pay`.
 */
export const CONTROL_METHODS: { readonly [method: string]: RpcMethod } = {
  /** Address and base units (a decimal string) → a signed payment and its rival, both unsent. */
  sandbox_signpayment: ({ state, wallet, nowMs }, params) => {
    const script = scriptOfAddress(stringParam(params, 0), state.parameters.hrp)
    if (script === null) throw new RpcError(RPC_ERRORS.notFound, 'Invalid address')
    const amount = stringParam(params, 1)
    if (!/^[1-9][0-9]{0,18}$/.test(amount) || BigInt(amount) > state.parameters.maxMoney) {
      throw new RpcError(RPC_ERRORS.invalidParameter, 'Invalid amount')
    }
    const signed = wallet.signPayment({ script, amount: BigInt(amount) }, nowMs)
    if (signed === null) {
      throw new RpcError(RPC_INSUFFICIENT_FUNDS, 'The sandbox wallet has no free coin that is large enough')
    }
    return signed
  },

  /** Sends a transaction that no block takes until `sandbox_release`, or until a restart without a plan for it. */
  sandbox_sendheld: (node, params) => {
    const transaction = parseTransaction(params[0])
    const verdict = node.submit(transaction)
    if (verdict.kind === 'refused') throw new RpcError(verdict.code, verdict.reason)
    node.state.mempool.hold(transaction.txid)
    return transaction.txid
  },

  sandbox_release: (node, params) => {
    node.state.mempool.release(hashParam(params, 0, 'txid'))
    node.miner.wake()
    return null
  },

  /** Keeps the second half of a scenario, as JSON, for whoever serves the chain should it stop in between. */
  sandbox_plan: ({ state }, params) => {
    const plan = planSchema.safeParse(JSON.parse(stringParam(params, 0)))
    if (!plan.success) throw new RpcError(RPC_ERRORS.invalidParameter, 'No plan')
    state.plan(plan.data)
    return null
  },

  sandbox_done: ({ state }, params) => {
    state.done(hashParam(params, 0, 'txid'))
    return null
  },

  /** Mines this many blocks at once. */
  sandbox_mine: ({ state, nowMs }, params) => {
    const count = integerParam(params, 0)
    if (count < 1 || count > MAX_BLOCKS_AT_ONCE) {
      throw new RpcError(RPC_ERRORS.invalidParameter, `Between 1 and ${MAX_BLOCKS_AT_ONCE} blocks`)
    }
    return Array.from({ length: count }, () => state.hashOf(state.mine(nowMs)))
  },

  /** Replaces the newest blocks by a branch that is one longer. */
  sandbox_reorganise: (node, params) => reorganise(node, integerParam(params, 0)),

  /**
   * Reorganises away the block that holds a transaction; the transaction then waits in the mempool, held.
   */
  sandbox_reorganiseaway: (node, params) => {
    const { state } = node
    const txid = hashParam(params, 0, 'txid')
    const height = state.heightOfRecent(txid)
    if (height === null) throw new RpcError(RPC_ERRORS.notFound, 'No recent block holds the transaction')
    state.mempool.hold(txid)
    return reorganise(node, state.tip.height - height + 1)
  },
}

const reorganise: (node: Parameters<RpcMethod>[0], depth: number) => object = (
  { state, miner, nowMs },
  depth,
) => {
  try {
    const { forkHeight } = state.reorganise(depth, nowMs)
    miner.wake()
    return { fork_height: forkHeight, height: state.tip.height }
  } catch (error) {
    if (error instanceof RangeError) throw new RpcError(RPC_REJECTED, error.message)
    throw error
  }
}
