import type { Network } from '../core/assets.ts'
import { evmNetworkOf, isEvmChain } from '../core/chain/evm-networks.ts'
import { EVM_PRIVATE_PROBE_MS, SOLANA_PROBE_MS, UTXO_PROBE_MS } from '../core/chain/probe-pauses.ts'

/**
 * What of an answer several cells may have. `content`: it is named by a block's hash, or final, and never changes once there
 * is one. `moment`: it is true for a moment.
 */
export type Sharing = 'content' | 'moment'

type Params = readonly unknown[]
type Rule = Sharing | ((params: Params) => Sharing | null)

const BLOCK_HASH = /^(?:0x)?[0-9a-f]{64}$/
const isHash = (value: unknown): boolean => typeof value === 'string' && BLOCK_HASH.test(value)
const ofHash: Rule = ([hash]) => (isHash(hash) ? 'content' : null)
const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null
    ? (value as { readonly [name: string]: unknown })[name]
    : undefined

/** https://developer.bitcoin.org/reference/rpc */
const UTXO_METHODS: { readonly [method: string]: Rule } = {
  // Only the raw form: the others count confirmations.
  getblock: ([hash, verbosity]) =>
    isHash(hash) && (verbosity === 0 || verbosity === false) ? 'content' : null,
  getbestblockhash: 'moment',
  getblockchaininfo: 'moment',
  getblockcount: 'moment',
  getblockhash: 'moment',
  getblockheader: 'moment',
  getchaintips: 'moment',
  getmempoolinfo: 'moment',
  getnetworkinfo: 'moment',
  getrawmempool: 'moment',
  // Of a transaction that waits: whether the node has it is part of the answer.
  getrawtransaction: 'moment',
}

/** EIP-1474, and geth's `debug` namespace. */
const EVM_METHODS: { readonly [method: string]: Rule } = {
  debug_traceBlockByHash: ofHash,
  eth_blockNumber: 'moment',
  eth_chainId: 'moment',
  // By a header, a cell also finds out whether the node has the block: see `ChainProvider.knows`.
  eth_getBlockByHash: ([hash, isWhole]) => (isHash(hash) ? (isWhole === true ? 'content' : 'moment') : null),
  eth_getBlockByNumber: 'moment',
  eth_getBlockReceipts: ofHash,
  eth_getLogs: ([filter]) => (isHash(fieldOf(filter, 'blockHash')) ? 'content' : 'moment'),
  eth_syncing: 'moment',
}

/** https://solana.com/docs/rpc/http */
const SOLANA_METHODS: { readonly [method: string]: Rule } = {
  // A slot may have another block as long as it is not final.
  getBlock: ([, how]) => (fieldOf(how, 'commitment') === 'finalized' ? 'content' : 'moment'),
  getBlockHeight: 'moment',
  getBlocks: 'moment',
  getFirstAvailableBlock: 'moment',
  getGenesisHash: 'moment',
  getHealth: 'moment',
  getMinimumBalanceForRentExemption: 'moment',
  getSlot: 'moment',
}

const chainOf = (network: Network) => network.split('-')[0] ?? ''

/**
 * Whether several cells may have the same answer to this call; null where each is answered by the node itself: what is sent,
 * what depends on who asks, and all that is in no table here.
 */
export function sharingOf(network: Network, method: string, params: Params): Sharing | null {
  const chain = chainOf(network)
  const methods = isEvmChain(chain) ? EVM_METHODS : chain === 'solana' ? SOLANA_METHODS : UTXO_METHODS
  const rule = Object.hasOwn(methods, method) ? methods[method] : undefined
  return typeof rule === 'function' ? rule(params) : (rule ?? null)
}

/**
 * A provider that does not know a block yet, or could not trace all of it, may answer so: the next who asks is answered by the
 * node again. `result` is JSON.
 */
export const isWhole = (method: string, result: Buffer): boolean =>
  !result.equals(EMPTY_LIST) && !(method.startsWith('debug_') && result.includes('"error"'))
const EMPTY_LIST = Buffer.from('[]')

/** Of the time between two looks of a cell: so much later than by itself it may see what a node has. */
const SHARE_OF_PAUSE = 0.6

/** How old an answer that is true for a moment may be, milliseconds. `hasZmq`: cells hear of changes besides. */
export const momentMsOf = (network: Network, hasZmq = false): number =>
  SHARE_OF_PAUSE * pauseOf(network, hasZmq)

function pauseOf(network: Network, hasZmq: boolean): number {
  const chain = chainOf(network)
  if (chain === 'solana') return SOLANA_PROBE_MS
  if (!isEvmChain(chain)) return UTXO_PROBE_MS[hasZmq ? 'besideZmq' : 'alone']
  return network.endsWith('-live') ? evmNetworkOf(chain).probeIntervalMs : EVM_PRIVATE_PROBE_MS
}
