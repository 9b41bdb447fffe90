import { pendingStepSchema } from '../pending-step.ts'
import { RPC_REJECTED } from './accept-transaction.ts'
import { parseBlock, parseHeader } from './block.ts'
import type { IndexedBlock } from './block-index.ts'
import { WORK_PER_BLOCK } from './chain-parameters.ts'
import type { ChainState } from './chain-state.ts'
import type { ChainTransaction } from './chain-transaction.ts'
import { fromDisplayHex } from './encoding.ts'
import { parseTransaction } from './rpc-mempool-methods.ts'
import type { RpcMethod } from './rpc-method.ts'
import {
  flagParam,
  hashParam,
  integerParam,
  type Params,
  RPC_ERRORS,
  RpcError,
  stringParam,
} from './rpc-params.ts'
import { scriptOfAddress } from './utxo-wallet.ts'

/** Regtest's difficulty, as every node of it says. */
const DIFFICULTY = 4.656542373906925e-10

/** Methods about blocks. Their answers are Bitcoin Core's, field by field, as far as they are here. */
export const CHAIN_METHODS: { readonly [method: string]: RpcMethod } = {
  getblockchaininfo: ({ state }) => ({
    chain: 'regtest',
    blocks: state.tip.height,
    headers: state.tip.height,
    bestblockhash: state.hashOf(state.tip),
    difficulty: DIFFICULTY,
    time: state.tip.timeS,
    mediantime: state.medianTimeS(state.tip),
    verificationprogress: 1,
    initialblockdownload: false,
    chainwork: workAt(state.tip),
    size_on_disk: state.tip.offset + state.tip.size,
    pruned: false,
    softforks: {},
    warnings: '',
  }),

  getblockcount: ({ state }) => state.tip.height,

  getbestblockhash: ({ state }) => state.hashOf(state.tip),

  getblockhash: ({ state }, params) => {
    const block = state.index.atHeight(integerParam(params, 0))
    if (block === null) throw new RpcError(RPC_ERRORS.invalidParameter, 'Block height out of range')
    return state.hashOf(block)
  },

  getblockheader: ({ state }, params) => {
    const block = findBlock(state, params)
    const bytes = state.blockBytes(block)
    if (!flagParam(params, 1, true)) return bytes.subarray(0, 80).toString('hex')
    return describeHeader(state, block, parseBlock(bytes).transactions.length)
  },

  getblock: ({ state }, params) => {
    const block = findBlock(state, params)
    const bytes = state.blockBytes(block)
    const verbosity = verbosityOf(params)
    if (verbosity === 0) return bytes.toString('hex')
    const { transactions } = parseBlock(bytes)
    const weight = bytes.length + 3 * strippedSize(bytes, transactions)
    return {
      ...describeHeader(state, block, transactions.length),
      strippedsize: strippedSize(bytes, transactions),
      size: bytes.length,
      weight,
      tx: transactions.map((transaction) =>
        verbosity === 1 ? transaction.txid : describeTransaction(transaction),
      ),
    }
  },

  getchaintips: ({ state }) => [
    { height: state.tip.height, hash: state.hashOf(state.tip), branchlen: 0, status: 'active' },
    ...state.index.staleTips().map(({ block, branchLength }) => ({
      height: block.height,
      hash: state.hashOf(block),
      branchlen: branchLength,
      status: 'valid-fork',
    })),
  ],
}

/** The block whose hash is the first parameter. Throws `RpcError` where there is none. */
function findBlock(state: ChainState, params: Params): IndexedBlock {
  const block = state.index.byHash(fromDisplayHex(hashParam(params, 0, 'blockhash')))
  if (block === null) throw new RpcError(RPC_ERRORS.notFound, 'Block not found')
  return block
}

function verbosityOf(params: Params): 0 | 1 | 2 {
  const value = params[1]
  if (value === undefined || value === null || value === true || value === 1) return 1
  if (value === false || value === 0) return 0
  if (value === 2) return 2
  throw new RpcError(RPC_ERRORS.invalidParameter, 'The sandbox knows verbosity 0, 1 and 2')
}

/** What is asked of a transaction; Core says more. */
const describeTransaction = ({ txid, inputs, outputs, lockTime }: ChainTransaction): object => ({
  txid,
  locktime: lockTime,
  vin: inputs.map(({ txid, index, sequence }) => ({ txid, vout: index, sequence })),
  vout: outputs.map(({ amount, script }, n) => ({
    value: Number(amount) / 1e8,
    n,
    scriptPubKey: { hex: Buffer.from(script).toString('hex') },
  })),
})

function describeHeader(state: ChainState, block: IndexedBlock, transactionCount: number): object {
  const { version, previousHash, merkleRoot, timeS, bits, nonce } = parseHeader(state.blockBytes(block))
  const isBest = state.index.isInBestChain(block)
  const next = isBest ? state.index.atHeight(block.height + 1) : null
  return {
    hash: state.hashOf(block),
    confirmations: isBest ? state.tip.height - block.height + 1 : -1,
    height: block.height,
    version,
    versionHex: (version >>> 0).toString(16).padStart(8, '0'),
    merkleroot: merkleRoot,
    time: timeS,
    mediantime: state.medianTimeS(block),
    nonce,
    bits: bits.toString(16).padStart(8, '0'),
    difficulty: DIFFICULTY,
    chainwork: workAt(block),
    nTx: transactionCount,
    ...(block.height === 0 ? {} : { previousblockhash: previousHash }),
    ...(next === null ? {} : { nextblockhash: state.hashOf(next) }),
  }
}

const workAt = (block: IndexedBlock): string =>
  (WORK_PER_BLOCK * BigInt(block.height + 1)).toString(16).padStart(64, '0')

function strippedSize(
  bytes: Uint8Array,
  transactions: readonly { readonly bytes: Uint8Array; readonly strippedSize: number }[],
): number {
  return transactions.reduce((size, one) => size - one.bytes.length + one.strippedSize, bytes.length)
}

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

  /** Sends a transaction that no block takes until `sandbox_release`, or until a restart without a step kept for it. */
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
    const step = pendingStepSchema.safeParse(JSON.parse(stringParam(params, 0)))
    if (!step.success) throw new RpcError(RPC_ERRORS.invalidParameter, 'No plan')
    state.keepStep(step.data)
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
