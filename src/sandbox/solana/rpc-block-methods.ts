import { getBase58Decoder } from '@solana/kit'
import type { PlacedTransaction, SolanaBlock } from './chain-base.ts'
import {
  addressOf,
  commitmentOf,
  integerOf,
  optionsOf,
  RPC_CODES,
  type RpcMethod,
  type RpcOptions,
  SolanaRpcError,
  textOf,
} from './rpc-support.ts'
import type { SolanaNode } from './solana-node.ts'
import type { TokenBalance } from './svm-machine.ts'
import { uiAmount } from './token-bytes.ts'

/** What a real node refuses (MAX_GET_CONFIRMED_BLOCKS_RANGE). */
const BLOCKS_RANGE_MAX = 500_000
const SIGNATURES_MAX = 1_000
const STATUSES_MAX = 256
const NATIVE_DECIMALS = 9

/** Methods about blocks and the transactions in them. */
export const BLOCK_METHODS: ReadonlyMap<string, RpcMethod> = new Map<string, RpcMethod>([
  ['getBlock', (node, [slot, options]) => getBlock(node, integerOf(slot), optionsOf(options))],
  [
    'getBlocks',
    (node, params) => {
      const [start, second, third] = params
      const end = typeof second === 'number' ? second : null
      return getBlocks(node, integerOf(start), end, optionsOf(end === null ? (third ?? second) : third))
    },
  ],
  [
    'getBlocksWithLimit',
    (node, [start, limit, options]) => {
      const from = integerOf(start)
      const last = node.at(commitmentOf(node, optionsOf(options))).slot
      return node.chain.blocks
        .filter(({ slot }) => slot >= from && slot <= last)
        .slice(0, integerOf(limit))
        .map(({ slot }) => slot)
    },
  ],
  ['getBlockTime', (node, [slot]) => existing(node, integerOf(slot), 'confirmed').timeSeconds],
  [
    'getTransaction',
    (node, [signature, options]) => getTransaction(node, textOf(signature), optionsOf(options)),
  ],
  [
    'getSignaturesForAddress',
    (node, [owner, options]) => getSignatures(node, addressOf(owner), optionsOf(options)),
  ],
  ['getSignatureStatuses', (node, [signatures]) => getStatuses(node, signatures)],
  ['getFirstAvailableBlock', (node) => node.chain.firstSlot],
])

function getBlocks(node: SolanaNode, start: number, end: number | null, options: RpcOptions): number[] {
  const last = node.at(commitmentOf(node, options)).slot
  const to = end === null ? last : Math.min(end, last)
  if ((end ?? last) - start > BLOCKS_RANGE_MAX) {
    throw new SolanaRpcError(RPC_CODES.invalidParams, `Slot range too large; max ${BLOCKS_RANGE_MAX}`)
  }
  return node.chain.blocks.filter(({ slot }) => slot >= start && slot <= to).map(({ slot }) => slot)
}

/** A block at a commitment, or the error that a real node answers with if there is none. */
function existing(
  node: SolanaNode,
  slot: number,
  commitment: 'processed' | 'confirmed' | 'finalized',
): SolanaBlock {
  if (slot > node.at(commitment).slot) {
    throw new SolanaRpcError(RPC_CODES.blockNotAvailable, `Block not available for slot ${slot}`)
  }
  if (slot < node.chain.firstSlot) {
    throw new SolanaRpcError(
      RPC_CODES.blockCleanedUp,
      `Block ${slot} cleaned up, does not exist on node. First available block: ${node.chain.firstSlot}`,
    )
  }
  const block = node.chain.blockAt(slot)
  if (block !== null) return block
  throw new SolanaRpcError(
    RPC_CODES.slotSkipped,
    `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`,
  )
}

function getBlock(node: SolanaNode, slot: number, options: RpcOptions): unknown {
  const block = existing(node, slot, commitmentOf(node, options))
  const common = {
    blockHeight: block.height,
    blockTime: block.timeSeconds,
    blockhash: block.hash,
    parentSlot: block.parentSlot,
    previousBlockhash: block.parentHash,
  }
  const { transactionDetails = 'full' } = options
  if (transactionDetails === 'none') return common
  if (transactionDetails === 'signatures') {
    return { ...common, signatures: block.transactions.map(({ transaction }) => transaction.signature) }
  }
  const transactions = block.transactions.map((placed) => {
    requireVersion(placed, options)
    return transactionDetails === 'accounts' ? accountsOf(placed) : fullOf(placed, options)
  })
  return { ...common, transactions }
}

function requireVersion({ transaction: { version } }: PlacedTransaction, options: RpcOptions): void {
  if (version === 'legacy' || version <= (options.maxSupportedTransactionVersion ?? -1)) return
  throw new SolanaRpcError(
    RPC_CODES.unsupportedVersion,
    `Transaction version (${version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`,
  )
}

function accountsOf(placed: PlacedTransaction): unknown {
  const { logs: _logs, computeUnits: _units, ...meta } = { ...placed }
  return {
    transaction: { accountKeys: placed.accounts, signatures: placed.transaction.signatures },
    meta: metaOf(meta),
    version: placed.transaction.version,
  }
}

function fullOf(placed: PlacedTransaction, { encoding = 'json' }: RpcOptions): unknown {
  const { transaction, accounts } = placed
  const wire =
    encoding === 'base64'
      ? [Buffer.from(transaction.bytes).toString('base64'), 'base64']
      : {
          signatures: transaction.signatures,
          message: {
            accountKeys: transaction.staticKeys.map(({ pubkey }) => pubkey),
            recentBlockhash: transaction.lifetime,
            header: headerOf(transaction.staticKeys),
            instructions: transaction.instructions.map(({ programIdIndex, accounts: indexes, data }) => ({
              programIdIndex,
              accounts: indexes,
              data: getBase58Decoder().decode(data),
              stackHeight: null,
            })),
            addressTableLookups: transaction.lookups.map(({ table, writable, readonly }) => ({
              accountKey: table,
              writableIndexes: writable,
              readonlyIndexes: readonly,
            })),
          },
        }
  const loaded = accounts.filter(({ source }) => source === 'lookupTable')
  return {
    transaction: wire,
    meta: {
      ...metaOf(placed),
      innerInstructions: [],
      logMessages: placed.logs,
      computeUnitsConsumed: placed.computeUnits,
      loadedAddresses: {
        writable: loaded.filter(({ writable }) => writable).map(({ pubkey }) => pubkey),
        readonly: loaded.filter(({ writable }) => !writable).map(({ pubkey }) => pubkey),
      },
    },
    version: transaction.version,
  }
}

const headerOf = (keys: PlacedTransaction['transaction']['staticKeys']) => ({
  numRequiredSignatures: keys.filter(({ signer }) => signer).length,
  numReadonlySignedAccounts: keys.filter(({ signer, writable }) => signer && !writable).length,
  numReadonlyUnsignedAccounts: keys.filter(({ signer, writable }) => !signer && !writable).length,
})

function metaOf(placed: Omit<PlacedTransaction, 'logs' | 'computeUnits'>) {
  const { error, fee, pre, post, preTokens, postTokens } = placed
  return {
    err: error,
    status: error === null ? { Ok: null } : { Err: error },
    fee,
    preBalances: pre,
    postBalances: post,
    preTokenBalances: preTokens.map(tokenOf),
    postTokenBalances: postTokens.map(tokenOf),
    rewards: [],
  }
}

const tokenOf = ({
  accountIndex,
  mint,
  owner,
  program,
  amount,
  decimals = NATIVE_DECIMALS,
}: TokenBalance) => ({
  accountIndex,
  mint,
  owner,
  programId: program,
  uiTokenAmount: uiAmount(amount, decimals),
})

function getTransaction(node: SolanaNode, signature: string, options: RpcOptions): unknown {
  const placed = node.chain.placed(signature)
  if (placed === null || placed.slot > node.at(commitmentOf(node, options)).slot) return null
  requireVersion(placed, options)
  const blockTime = node.chain.blockAt(placed.slot)?.timeSeconds ?? null
  return { ...(fullOf(placed, options) as object), slot: placed.slot, blockTime }
}

/** Newest first; within one slot in no particular order, as from a real node. */
function getSignatures(node: SolanaNode, owner: string, options: RpcOptions): unknown {
  const last = node.at(commitmentOf(node, options)).slot
  const newestFirst = node.chain
    .mentioning(owner)
    .filter(({ slot }) => slot <= last)
    .sort((a, b) => b.slot - a.slot || (a.transaction.signature < b.transaction.signature ? -1 : 1))
  const isOf = (name: string | undefined) => (placed: PlacedTransaction) =>
    placed.transaction.signature === name
  const from = options.before === undefined ? 0 : newestFirst.findIndex(isOf(options.before)) + 1
  const until = options.until === undefined ? -1 : newestFirst.findIndex(isOf(options.until))
  const to = until === -1 ? newestFirst.length : until
  return newestFirst.slice(from, Math.min(to, from + (options.limit ?? SIGNATURES_MAX))).map((placed) => ({
    signature: placed.transaction.signature,
    slot: placed.slot,
    err: placed.error,
    memo: null,
    blockTime: node.chain.blockAt(placed.slot)?.timeSeconds ?? null,
    confirmationStatus: statusOf(node, placed.slot),
  }))
}

function statusOf(node: SolanaNode, slot: number): string {
  if (slot <= node.at('finalized').slot) return 'finalized'
  return slot <= node.at('confirmed').slot ? 'confirmed' : 'processed'
}

function getStatuses(node: SolanaNode, signatures: unknown): unknown {
  if (!Array.isArray(signatures) || signatures.length > STATUSES_MAX) {
    throw new SolanaRpcError(RPC_CODES.invalidParams, `Too many inputs provided; max ${STATUSES_MAX}`)
  }
  const value = signatures.map((signature: unknown) => {
    const placed = node.chain.placed(textOf(signature))
    if (placed === null) return null
    const status = statusOf(node, placed.slot)
    return {
      slot: placed.slot,
      confirmations: status === 'finalized' ? null : node.chain.head.slot - placed.slot,
      err: placed.error,
      status: placed.error === null ? { Ok: null } : { Err: placed.error },
      confirmationStatus: status,
    }
  })
  return { context: { apiVersion: '3.0.0', slot: node.chain.head.slot }, value }
}
