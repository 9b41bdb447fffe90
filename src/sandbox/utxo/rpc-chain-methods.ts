import { parseBlock, parseHeader } from './block.ts'
import type { IndexedBlock } from './block-index.ts'
import { WORK_PER_BLOCK } from './chain-parameters.ts'
import type { ChainState } from './chain-state.ts'
import { fromDisplayHex } from './encoding.ts'
import type { RpcMethod } from './rpc-method.ts'
import { flagParam, hashParam, integerParam, type Params, RPC_ERRORS, RpcError } from './rpc-params.ts'

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
    if (verbosityOf(params) === 0) return bytes.toString('hex')
    const { transactions } = parseBlock(bytes)
    const weight = bytes.length + 3 * strippedSize(bytes, transactions)
    return {
      ...describeHeader(state, block, transactions.length),
      strippedsize: strippedSize(bytes, transactions),
      size: bytes.length,
      weight,
      tx: transactions.map((transaction) => transaction.txid),
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

function verbosityOf(params: Params): 0 | 1 {
  const value = params[1]
  if (value === undefined || value === null || value === true || value === 1) return 1
  if (value === false || value === 0) return 0
  throw new RpcError(RPC_ERRORS.invalidParameter, 'The sandbox knows verbosity 0 and 1')
}

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
