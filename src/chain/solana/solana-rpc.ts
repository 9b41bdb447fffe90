import {
  address,
  type Base64EncodedWireTransaction,
  type Blockhash,
  createSolanaRpcFromTransport,
  getSolanaErrorFromJsonRpcError,
  isSolanaError,
  type RequestAirdropApi,
  type Rpc,
  type RpcTransport,
  type Signature,
  SOLANA_ERROR__TRANSACTION_ERROR__ALREADY_PROCESSED,
  type SolanaRpcApi,
  lamports as toLamports,
} from '@solana/kit'
import type { z } from 'zod'
import { ChainUnavailable } from '../adapter.ts'
import {
  type AccountBytes,
  accountBytesSchema,
  type Balance,
  type BlockHead,
  type BlockWithAccounts,
  balancesSchema,
  blockHeadSchema,
  blockhashValidSchema,
  blockWithAccountsSchema,
  lamportsSchema,
  latestBlockhashSchema,
  plainAnswerSchema,
  prioritizationFeesSchema,
  type SignatureEntry,
  signatureEntriesSchema,
  signatureSchema,
  slotSchema,
  slotsSchema,
  statusesSchema,
  TOKEN_AMOUNT,
  type TransactionAlone,
  transactionBytesSchema,
  transactionSchema,
} from './solana-answers.ts'
import { type RpcCost, SolanaTransport } from './solana-transport.ts'

export const SOLANA_CODES = {
  invalidParams: -32_602,
  preflightFailure: -32_002,
  signatureVerification: -32_003,
  blockCleanedUp: -32_001,
  blockNotAvailable: -32_004,
  nodeUnhealthy: -32_005,
  slotSkipped: -32_007,
  longTermSlotSkipped: -32_009,
  minContextSlot: -32_016,
} as const

export const ACCOUNTS_PER_CALL = 100
export const SIGNATURES_PER_CALL = 1_000
const STATUSES_PER_CALL = 256
/** Without this parameter, a newer transaction version makes the request for the whole block fail. */
const VERSION_MAX = 1

/** The node answered with an error; `code` is Solana's. */
export class SolanaCallFailed extends ChainUnavailable {
  override name = 'SolanaCallFailed'
  readonly code: number

  constructor(code: number, message: string, options: ErrorOptions) {
    super(message, options)
    this.code = code
  }

  /** What was sent is in a block already. */
  get isAlreadyProcessed(): boolean {
    const { cause } = this
    return (
      isSolanaError(cause) && isSolanaError(cause.cause, SOLANA_ERROR__TRANSACTION_ERROR__ALREADY_PROCESSED)
    )
  }
}

type Commitment = 'confirmed' | 'finalized'

export type TransactionStatus = {
  readonly slot: number
  readonly failed: boolean
  /** By two thirds of the stake; until then its block is one of those that leave the chain now and then. */
  readonly isConfirmed: boolean
  readonly isFinal: boolean
}

/**
 * A Solana node's RPC through `@solana/kit`, every answer parsed. Failures are `ChainUnavailable`; an error that the
 * node itself reports is `SolanaCallFailed`.
 */
export class SolanaRpc {
  readonly #rpc: Rpc<SolanaRpcApi & RequestAirdropApi>
  readonly #transport: SolanaTransport
  readonly #setting: string

  /** `isPatient`: see `SolanaTransport`. */
  constructor(rpcUrl: string, setting: string, isPatient = false) {
    this.#setting = setting
    this.#transport = new SolanaTransport(rpcUrl, setting, isPatient)
    this.#rpc = createSolanaRpcFromTransport(this.#transport.send as RpcTransport)
  }

  get cost(): RpcCost {
    return this.#transport.cost
  }

  async genesisHash(): Promise<string> {
    return this.#ask('getGenesisHash', () => this.#rpc.getGenesisHash().send())
  }

  /** Throws `SolanaCallFailed` with `nodeUnhealthy` where the node is behind. */
  async health(): Promise<void> {
    await this.#ask('getHealth', () => this.#rpc.getHealth().send())
  }

  async slot(commitment: Commitment): Promise<number> {
    return this.#read('getSlot', slotSchema, () => this.#rpc.getSlot({ commitment }).send())
  }

  async blockHeight(commitment: Commitment): Promise<number> {
    return this.#read('getBlockHeight', slotSchema, () => this.#rpc.getBlockHeight({ commitment }).send())
  }

  /** Whether the node has this block, of a slot, on its best chain. */
  async hasBlock({ height, hash }: { readonly height: number; readonly hash: string }): Promise<boolean> {
    const isThere = (await this.blocks(height, height)).includes(height)
    return isThere && (await this.blockHead(height))?.blockhash === hash
  }

  async firstAvailableBlock(): Promise<number> {
    return this.#read('getFirstAvailableBlock', slotSchema, () => this.#rpc.getFirstAvailableBlock().send())
  }

  /** Slots with a block from `start` to `end`, both included. */
  async blocks(start: number, end: number): Promise<number[]> {
    const config = { commitment: 'confirmed' } as const
    return this.#read('getBlocks', slotsSchema, () =>
      this.#rpc.getBlocks(BigInt(start), BigInt(end), config).send(),
    )
  }

  async blockHead(slot: number, commitment: Commitment = 'confirmed'): Promise<BlockHead | null> {
    const config = { commitment, transactionDetails: 'none', rewards: false } as const
    return this.#read('getBlock', blockHeadSchema.nullable(), () =>
      this.#rpc.getBlock(BigInt(slot), config).send(),
    )
  }

  async blockWithAccounts(slot: number): Promise<BlockWithAccounts | null> {
    const config = {
      commitment: 'confirmed',
      transactionDetails: 'accounts',
      maxSupportedTransactionVersion: VERSION_MAX,
      rewards: true,
      encoding: 'json',
    }
    return this.#read('getBlock', blockWithAccountsSchema.nullable(), () =>
      this.#callPlainly('getBlock', [slot, config]),
    )
  }

  /** Lamports and tokens of at most 100 accounts, and the slot they are of, which is at least `minContextSlot`. */
  async balancesOf(
    accounts: readonly string[],
    minContextSlot: number,
  ): Promise<{ slot: number; balances: Balance[] }> {
    const { context, value } = await this.#read('getMultipleAccounts', balancesSchema, () =>
      this.#rpc
        .getMultipleAccounts(
          accounts.map((account) => address(account)),
          {
            commitment: 'confirmed',
            encoding: 'base64',
            dataSlice: TOKEN_AMOUNT,
            minContextSlot: BigInt(minContextSlot),
          },
        )
        .send(),
    )
    if (value.length !== accounts.length)
      throw new ChainUnavailable(`getMultipleAccounts at ${this.#setting} answers for other accounts`)
    return { slot: context.slot, balances: value }
  }

  /** Newest first, and in no order within a slot. */
  async signaturesFor(
    owner: string,
    before: string | null,
    minContextSlot: number,
  ): Promise<SignatureEntry[]> {
    return this.#read('getSignaturesForAddress', signatureEntriesSchema, () =>
      this.#rpc
        .getSignaturesForAddress(address(owner), {
          commitment: 'confirmed',
          limit: SIGNATURES_PER_CALL,
          minContextSlot: BigInt(minContextSlot),
          ...(before === null ? {} : { before: before as Signature }),
        })
        .send(),
    )
  }

  /** Null where no block of that commitment has it. */
  async transaction(
    signature: string,
    commitment: Commitment = 'confirmed',
  ): Promise<TransactionAlone | null> {
    const config = { commitment, encoding: 'json', maxSupportedTransactionVersion: VERSION_MAX }
    return this.#read('getTransaction', transactionSchema.nullable(), () =>
      this.#rpc.getTransaction(signature as Signature, config as never).send(),
    )
  }

  /** The bytes of a final transaction; null where the node has none. */
  async transactionBytes(signature: string): Promise<Buffer | null> {
    const config = {
      commitment: 'finalized',
      encoding: 'base64',
      maxSupportedTransactionVersion: VERSION_MAX,
    }
    return this.#read('getTransaction', transactionBytesSchema.nullable(), () =>
      this.#rpc.getTransaction(signature as Signature, config as never).send(),
    )
  }

  /** How those of these transactions stand that the node finds in any block it has. */
  async statuses(signatures: readonly string[]): Promise<Map<string, TransactionStatus>> {
    const found = new Map<string, TransactionStatus>()
    for (let at = 0; at < signatures.length; at += STATUSES_PER_CALL) {
      const batch = signatures.slice(at, at + STATUSES_PER_CALL)
      const { value } = await this.#read('getSignatureStatuses', statusesSchema, () =>
        this.#rpc.getSignatureStatuses(batch as Signature[], { searchTransactionHistory: true }).send(),
      )
      for (const [index, signature] of batch.entries()) {
        const status = value[index]
        if (status != null) found.set(signature, status)
      }
    }
    return found
  }

  /** What an account must hold to exist, in lamports: by default one without data. */
  async rentExemptMinimum(dataBytes = 0): Promise<bigint> {
    return this.#read('getMinimumBalanceForRentExemption', lamportsSchema, () =>
      this.#rpc.getMinimumBalanceForRentExemption(BigInt(dataBytes)).send(),
    )
  }

  /** At most 100 accounts as they are at the newest finalized, or confirmed, slot; null where one does not exist. */
  async accountsAt(
    addresses: readonly string[],
    commitment: Commitment = 'finalized',
  ): Promise<(AccountBytes | null)[]> {
    const { value } = await this.#read('getMultipleAccounts', accountBytesSchema, () =>
      this.#rpc
        .getMultipleAccounts(
          addresses.map((each) => address(each)),
          { commitment, encoding: 'base64' },
        )
        .send(),
    )
    if (value.length !== addresses.length)
      throw new ChainUnavailable(`getMultipleAccounts at ${this.#setting} answers for other accounts`)
    return value
  }

  async latestBlockhash(): Promise<{ readonly blockhash: string; readonly lastValidHeight: number }> {
    const { value } = await this.#read('getLatestBlockhash', latestBlockhashSchema, () =>
      this.#rpc.getLatestBlockhash({ commitment: 'confirmed' }).send(),
    )
    return { blockhash: value.blockhash, lastValidHeight: value.lastValidBlockHeight }
  }

  /** Whether a transaction over this block's hash can still get into one, by the node's newest confirmed block. */
  async isBlockhashValid(blockhash: string): Promise<boolean> {
    const { value } = await this.#read('isBlockhashValid', blockhashValidSchema, () =>
      this.#rpc.isBlockhashValid(blockhash as Blockhash, { commitment: 'confirmed' }).send(),
    )
    return value
  }

  /** Prices of a compute unit that were paid lately, millionths of a lamport. */
  async prioritizationFees(): Promise<number[]> {
    const fees = await this.#read('getRecentPrioritizationFees', prioritizationFeesSchema, () =>
      this.#rpc.getRecentPrioritizationFees([]).send(),
    )
    return fees.map(({ prioritizationFee }) => prioritizationFee)
  }

  /** Sends signed bytes, with the node's own trial of them before. Throws `SolanaCallFailed` where it refuses. */
  async sendTransaction(raw: Uint8Array, skipPreflight = false): Promise<void> {
    const wire = Buffer.from(raw).toString('base64') as Base64EncodedWireTransaction
    const how = { encoding: 'base64', preflightCommitment: 'confirmed', skipPreflight } as const
    await this.#read('sendTransaction', signatureSchema, () => this.#rpc.sendTransaction(wire, how).send())
  }

  /** Coins of a test cluster, which gives them to anybody. */
  async requestAirdrop(owner: string, amount: bigint): Promise<void> {
    await this.#read('requestAirdrop', signatureSchema, () =>
      this.#rpc.requestAirdrop(address(owner), toLamports(amount)).send(),
    )
  }

  async close(): Promise<void> {
    await this.#transport.close()
  }

  async #read<Schema extends z.ZodType>(
    method: string,
    schema: Schema,
    call: () => Promise<unknown>,
  ): Promise<z.output<Schema>> {
    const answer = await this.#ask(method, call)
    const parsed = schema.safeParse(answer)
    if (parsed.success) return parsed.data
    throw new ChainUnavailable(`${method} at ${this.#setting} gives an answer that is none`, {
      cause: parsed.error,
    })
  }

  /** Without kit's walk over each number of the answer, which for a full block takes longer than all else. */
  async #callPlainly(method: string, params: readonly unknown[]): Promise<unknown> {
    const answer = await this.#transport.send({ payload: { jsonrpc: '2.0', id: method, method, params } })
    const { error, result } = plainAnswerSchema.parse(answer)
    if (error != null) throw getSolanaErrorFromJsonRpcError(error)
    return result
  }

  async #ask<Result>(method: string, call: () => Promise<Result>): Promise<Result> {
    try {
      return await call()
    } catch (error) {
      if (error instanceof ChainUnavailable) throw error
      if (isSolanaError(error)) {
        throw new SolanaCallFailed(
          error.context.__code,
          `${method} at ${this.#setting}: ${error.message} (${error.context.__code})`,
          { cause: error },
        )
      }
      const reason = error instanceof Error ? error.message : String(error)
      throw new ChainUnavailable(`${method} at ${this.#setting}: ${reason}`, { cause: error })
    }
  }
}
