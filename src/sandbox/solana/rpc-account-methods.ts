import type { Address } from '@solana/kit'
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system'
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token'
import { NATIVE_MINT } from '../../core/chain/solana-mints.ts'
import {
  type ReadTransaction,
  readTransaction,
  TRANSACTION_BYTES_MAX,
  TRANSACTION_V1_BYTES_MAX,
} from './read-transaction.ts'
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
  withContext,
} from './rpc-support.ts'
import { signTransfer } from './sign-transfer.ts'
import { BLOCKHASH_BLOCKS } from './solana-chain.ts'
import type { SolanaNode } from './solana-node.ts'
import type { SvmAccount } from './svm-machine.ts'
import { readMint, readTokenAccount, uiAmount } from './token-bytes.ts'
import type { TransactionError } from './transaction-error.ts'

const ACCOUNTS_MAX = 100
const SLOTS_PER_EPOCH = 432_000
const LAMPORTS_PER_SIGNATURE = 5_000n

/** Methods about accounts, sending, and the node itself. */
export const ACCOUNT_METHODS: ReadonlyMap<string, RpcMethod> = new Map<string, RpcMethod>([
  ['getHealth', () => 'ok'],
  ['getVersion', () => ({ 'solana-core': '3.0.0', 'feature-set': 0 })],
  ['getGenesisHash', (node) => node.chain.genesisHash],
  ['getSlot', (node, [options]) => node.at(commitmentOf(node, optionsOf(options))).slot],
  ['getBlockHeight', (node, [options]) => node.at(commitmentOf(node, optionsOf(options))).height],
  ['getEpochInfo', (node, [options]) => epochOf(node, node.at(commitmentOf(node, optionsOf(options))))],
  [
    'getLatestBlockhash',
    (node, [options]) => {
      const block = node.at(commitmentOf(node, optionsOf(options)))
      return withContext(block.slot, {
        blockhash: block.hash,
        lastValidBlockHeight: block.height + BLOCKHASH_BLOCKS,
      })
    },
  ],
  [
    'isBlockhashValid',
    (node, [hash]) => withContext(node.chain.head.slot, node.chain.isRecent(textOf(hash))),
  ],
  [
    'getFeeForMessage',
    (node, [message]) => {
      const signatures = Buffer.from(textOf(message), 'base64')
      // A versioned message begins with its version; the count of signatures follows.
      const count = ((signatures[0] ?? 0) & 0x80) === 0 ? signatures[0] : signatures[1]
      return withContext(node.chain.head.slot, LAMPORTS_PER_SIGNATURE * BigInt(count ?? 1))
    },
  ],
  // Nobody bids for a place in these blocks.
  ['getRecentPrioritizationFees', () => []],
  [
    'getMinimumBalanceForRentExemption',
    (node, [bytes]) => node.chain.machine.rentExemptMinimum(BigInt(integerOf(bytes))),
  ],
  [
    'getBalance',
    (node, [owner, options]) => {
      const { slot } = node.at(commitmentOf(node, optionsOf(options)))
      return withContext(slot, stateAt(node, addressOf(owner), slot)?.lamports ?? 0n)
    },
  ],
  [
    'getAccountInfo',
    (node, [owner, options]) => {
      const how = optionsOf(options)
      const { slot } = node.at(commitmentOf(node, how))
      return withContext(slot, accountAt(node, addressOf(owner), slot, how))
    },
  ],
  [
    'getMultipleAccounts',
    (node, [owners, options]) => {
      if (!Array.isArray(owners) || owners.length > ACCOUNTS_MAX) {
        throw new SolanaRpcError(RPC_CODES.invalidParams, `Too many inputs provided; max ${ACCOUNTS_MAX}`)
      }
      const how = optionsOf(options)
      const { slot } = node.at(commitmentOf(node, how))
      return withContext(
        slot,
        owners.map((owner) => accountAt(node, addressOf(owner), slot, how)),
      )
    },
  ],
  [
    'sendTransaction',
    (node, [wire, options]) => send(node, parse(wire), optionsOf(options).skipPreflight === true),
  ],
  ['simulateTransaction', (node, [wire]) => simulate(node, parse(wire))],
  [
    'requestAirdrop',
    async (node, [owner, amount]) => {
      const wire = await signTransfer(node, addressOf(owner), BigInt(integerOf(amount)))
      return send(node, readTransaction(wire), true)
    },
  ],
])

function epochOf(node: SolanaNode, block: { slot: number; height: number }) {
  return {
    absoluteSlot: block.slot,
    blockHeight: block.height,
    epoch: Math.floor(block.slot / SLOTS_PER_EPOCH),
    slotIndex: block.slot % SLOTS_PER_EPOCH,
    slotsInEpoch: SLOTS_PER_EPOCH,
    transactionCount: node.chain.head.height,
  }
}

/**
 * An account as it was at a slot, null where there was none. The machine knows only the newest state; an older one is
 * what the first transaction since then that could write the account found there.
 */
export function stateAt(node: SolanaNode, owner: Address, slot: number): SvmAccount | null {
  const named = node.chain.mentioning(owner)
  const since = named.slice(named.findLastIndex((placed) => placed.slot <= slot) + 1)
  const newest = node.chain.machine.account(owner)
  for (const { accounts, before, pre } of since) {
    const at = accounts.findIndex(({ pubkey, writable }) => writable && pubkey === owner)
    if (at === -1) continue
    if (before !== undefined) return before[at] ?? null
    // From before this process began: its lamports are known, and its data taken for unchanged.
    const lamports = pre[at] ?? 0n
    return lamports === 0n ? null : { ...(newest ?? NEW_ACCOUNT), lamports }
  }
  return newest
}

const NEW_ACCOUNT = {
  data: new Uint8Array(),
  programAddress: SYSTEM_PROGRAM_ADDRESS,
  executable: false,
}

/** As nodes answer with an account: its bytes, or what its program's reader makes of them. */
export function accountAt(node: SolanaNode, owner: Address, slot: number, options: RpcOptions): unknown {
  const found = stateAt(node, owner, slot)
  if (found === null) return null
  return {
    lamports: found.lamports,
    data: dataOf(node, found, slot, options),
    owner: found.programAddress,
    executable: found.executable,
    rentEpoch: 18_446_744_073_709_551_615n,
    space: found.data.length,
  }
}

function dataOf(
  node: SolanaNode,
  account: SvmAccount,
  slot: number,
  { encoding, dataSlice }: RpcOptions,
): unknown {
  const token = encoding === 'jsonParsed' ? readTokenAccount(account) : null
  if (token === null) {
    const { offset, length } = dataSlice ?? { offset: 0, length: account.data.length }
    return [Buffer.from(account.data.subarray(offset, offset + length)).toString('base64'), 'base64']
  }
  const { mint, owner, amount, state } = token
  const { decimals = 0 } = readMint(stateAt(node, mint, slot)) ?? {}
  const isNative = mint === NATIVE_MINT
  const info = { mint, owner, state, isNative, tokenAmount: uiAmount(amount, decimals) }
  const program = account.programAddress === TOKEN_PROGRAM_ADDRESS ? 'spl-token' : 'spl-token-2022'
  return { program, parsed: { type: 'account', info }, space: account.data.length }
}

function parse(wire: unknown): ReadTransaction {
  const bytes = Buffer.from(textOf(wire), 'base64')
  const transaction = decode(bytes)
  const max = transaction.version === 1 ? TRANSACTION_V1_BYTES_MAX : TRANSACTION_BYTES_MAX
  if (bytes.length > max) {
    throw new SolanaRpcError(
      RPC_CODES.invalidParams,
      `decoded solana_transaction::versioned::VersionedTransaction too large: ${bytes.length} bytes (max: ${max} bytes)`,
    )
  }
  return transaction
}

function decode(bytes: Uint8Array): ReadTransaction {
  try {
    return readTransaction(bytes)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new SolanaRpcError(RPC_CODES.invalidParams, `failed to deserialize transaction: ${reason}`)
  }
}

/** The signature, once the transaction is kept for the next block. */
export function send(
  node: SolanaNode,
  transaction: ReadTransaction,
  skipPreflight: boolean,
  held = false,
): string {
  if (!skipPreflight) preflight(node, transaction)
  const refused = node.chain.accept(transaction, held)
  // As by a real node: without preflight it is accepted unseen, and no block ever has it.
  if (refused !== null && !skipPreflight) throw preflightFailure(refused, [], 0n)
  return transaction.signature
}

function preflight(node: SolanaNode, transaction: ReadTransaction): void {
  if (node.chain.placed(transaction.signature) !== null) throw preflightFailure('AlreadyProcessed', [], 0n)
  if (!node.chain.isAlive(transaction)) throw preflightFailure('BlockhashNotFound', [], 0n)
  const { error, logs, units } = node.chain.machine.simulate(transaction)
  if (error === 'SignatureFailure') {
    throw new SolanaRpcError(RPC_CODES.signatureVerification, 'Transaction signature verification failure')
  }
  if (error !== null) throw preflightFailure(error, logs, units)
}

function preflightFailure(error: TransactionError, logs: readonly string[], units: bigint): SolanaRpcError {
  const what = typeof error === 'string' ? error : JSON.stringify(error)
  return new SolanaRpcError(RPC_CODES.preflightFailure, `Transaction simulation failed: ${what}`, {
    err: error,
    logs,
    accounts: null,
    returnData: null,
    innerInstructions: null,
    unitsConsumed: units,
  })
}

function simulate(node: SolanaNode, transaction: ReadTransaction): unknown {
  const { error, logs, units } = node.chain.machine.simulate(transaction)
  return withContext(node.chain.head.slot, {
    err: error,
    logs,
    accounts: null,
    unitsConsumed: units,
    returnData: null,
    innerInstructions: null,
  })
}
