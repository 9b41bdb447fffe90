import { type Acceptance, RPC_ALREADY_IN_CHAIN } from './accept-transaction.ts'
import { parseBlock } from './block.ts'
import type { ChainState } from './chain-state.ts'
import { ChainTransaction, outpointOf } from './chain-transaction.ts'
import type { Coin } from './coins.ts'
import { EncodingError, fromDisplayHex, toDisplayHex } from './encoding.ts'
import type { MempoolEntry } from './mempool.ts'
import type { RpcMethod } from './rpc-method.ts'
import {
  coinsOf,
  flagParam,
  hashParam,
  integerParam,
  type Params,
  RPC_ERRORS,
  RpcError,
  transactionParam,
  undecodable,
} from './rpc-params.ts'

/** Bitcoin Core takes 25 at once; the sandbox weighs each alone. */
const MAX_TESTED_TRANSACTIONS = 25
const MIN_RELAY_FEE = 0.00001

/** Methods about transactions that wait, and about coins. */
export const MEMPOOL_METHODS: { readonly [method: string]: RpcMethod } = {
  getmempoolinfo: ({ state }) => ({
    loaded: true,
    size: state.mempool.size,
    bytes: [...state.mempool.all()].reduce((sum, entry) => sum + entry.transaction.vsize, 0),
    mempoolminfee: MIN_RELAY_FEE,
    minrelaytxfee: MIN_RELAY_FEE,
    unbroadcastcount: 0,
  }),

  getrawmempool: ({ state }, params) => {
    const verbose = flagParam(params, 0, false)
    const withSequence = flagParam(params, 1, false)
    if (verbose && withSequence) {
      throw new RpcError(
        RPC_ERRORS.invalidParameter,
        'Verbose results cannot contain mempool sequence values.',
      )
    }
    if (verbose)
      return Object.fromEntries(state.mempool.txids().map((txid) => [txid, describeEntry(state, txid)]))
    const txids = state.mempool.txids()
    return withSequence ? { txids, mempool_sequence: state.mempool.sequence } : txids
  },

  getmempoolentry: ({ state }, params) => describeEntry(state, hashParam(params, 0, 'parameter 1')),

  getrawtransaction: ({ state }, params) => {
    const txid = hashParam(params, 0, 'parameter 1')
    if (flagParam(params, 1, false)) {
      throw new RpcError(RPC_ERRORS.invalidParameter, 'The sandbox gives transactions as bytes only')
    }
    return findTransaction(state, txid, params).bytes.toString('hex')
  },

  testmempoolaccept: ({ state }, params) => {
    const list = params[0]
    if (!Array.isArray(list)) throw new RpcError(RPC_ERRORS.misc, 'Expected type array, got something else')
    if (list.length === 0 || list.length > MAX_TESTED_TRANSACTIONS) {
      throw new RpcError(
        RPC_ERRORS.invalidParameter,
        `Array must contain between 1 and ${MAX_TESTED_TRANSACTIONS} transactions.`,
      )
    }
    return list.map((value: unknown) => describeVerdict(state, parseTransaction(value)))
  },

  sendrawtransaction: (node, params) => {
    const transaction = parseTransaction(params[0])
    const verdict = node.submit(transaction)
    if (verdict.kind === 'refused') {
      const known = verdict.code === RPC_ALREADY_IN_CHAIN
      throw new RpcError(verdict.code, known ? 'Transaction already in block chain' : verdict.reason)
    }
    return transaction.txid
  },

  gettxout: ({ state }, params) => {
    const txid = hashParam(params, 0, 'txid')
    const index = integerParam(params, 1)
    const withMempool = flagParam(params, 2, true)
    const outpoint = outpointOf(txid, index)
    if (withMempool && state.mempool.spenderOf(outpoint) !== undefined) return null
    const coin = state.coins.get(outpoint)
    if (coin !== undefined) return describeCoin(state, coin, state.tip.height - coin.height + 1)
    const output = withMempool ? state.mempool.get(txid)?.transaction.outputs[index] : undefined
    return output === undefined ? null : describeCoin(state, { ...output, height: 0, coinbase: false }, 0)
  },
}

/** Throws `RpcError` where the bytes are no transaction. */
export function parseTransaction(value: unknown): ChainTransaction {
  try {
    return ChainTransaction.parse(transactionParam(value))
  } catch (error) {
    if (error instanceof EncodingError) throw undecodable()
    throw error
  }
}

function findTransaction(state: ChainState, txid: string, params: Params): ChainTransaction {
  if (params[2] === undefined || params[2] === null) {
    const entry = state.mempool.get(txid)
    if (entry !== undefined) return entry.transaction
    throw new RpcError(
      RPC_ERRORS.notFound,
      'No such mempool transaction. Use -txindex or provide a block hash to enable blockchain transaction queries. Use gettransaction for wallet transactions.',
    )
  }
  const block = state.index.byHash(fromDisplayHex(hashParam(params, 2, 'parameter 3')))
  if (block === null) throw new RpcError(RPC_ERRORS.notFound, 'Block hash not found')
  const found = parseBlock(state.blockBytes(block)).transactions.find((one) => one.txid === txid)
  if (found !== undefined) return found
  throw new RpcError(
    RPC_ERRORS.notFound,
    'No such transaction found in the provided block. Use gettransaction for wallet transactions.',
  )
}

function describeVerdict(state: ChainState, transaction: ChainTransaction): object {
  const verdict = state.judge(transaction)
  const ids = { txid: transaction.txid, wtxid: toDisplayHex(transaction.wtxidBytes()) }
  if (verdict.kind === 'accepted') {
    return { ...ids, allowed: true, vsize: transaction.vsize, fees: { base: coinsOf(verdict.fee) } }
  }
  return { ...ids, allowed: false, 'reject-reason': rejectReasonOf(verdict) }
}

/** `testmempoolaccept` has messages of its own where `sendrawtransaction` has error codes. */
function rejectReasonOf(verdict: Exclude<Acceptance, { kind: 'accepted' }>): string {
  if (verdict.kind === 'already_in_mempool') return 'txn-already-in-mempool'
  return verdict.reason === 'bad-txns-inputs-missingorspent' ? 'missing-inputs' : verdict.reason
}

function describeEntry(state: ChainState, txid: string): object {
  const entry = state.mempool.get(txid)
  if (entry === undefined) throw new RpcError(RPC_ERRORS.notFound, 'Transaction not in mempool')
  const ancestors = entriesOf(state, state.mempool.ancestorsOf(txid))
  const descendants = entriesOf(state, state.mempool.descendantsOf(txid))
  const { transaction } = entry
  return {
    vsize: transaction.vsize,
    weight: transaction.weight,
    time: Math.floor(entry.timeMs / 1000),
    height: entry.height,
    descendantcount: descendants.length,
    descendantsize: sizeOf(descendants),
    ancestorcount: ancestors.length,
    ancestorsize: sizeOf(ancestors),
    wtxid: toDisplayHex(transaction.wtxidBytes()),
    fees: {
      base: coinsOf(entry.fee),
      modified: coinsOf(entry.fee),
      ancestor: coinsOf(feesOf(ancestors)),
      descendant: coinsOf(feesOf(descendants)),
    },
    depends: state.mempool.parentsOf(txid),
    spentby: state.mempool.childrenOf(txid),
    'bip125-replaceable': ancestors.some((one) => one.transaction.signalsReplacement),
    unbroadcast: false,
  }
}

const entriesOf = (state: ChainState, txids: readonly string[]): MempoolEntry[] =>
  txids.flatMap((txid) => state.mempool.get(txid) ?? [])
const sizeOf = (entries: readonly MempoolEntry[]): number =>
  entries.reduce((sum, entry) => sum + entry.transaction.vsize, 0)
const feesOf = (entries: readonly MempoolEntry[]): bigint =>
  entries.reduce((sum, entry) => sum + entry.fee, 0n)

function describeCoin(state: ChainState, coin: Coin, confirmations: number): object {
  return {
    bestblock: state.hashOf(state.tip),
    confirmations,
    value: coinsOf(coin.amount),
    scriptPubKey: { hex: Buffer.from(coin.script).toString('hex') },
    coinbase: coin.coinbase,
  }
}
