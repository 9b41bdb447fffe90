import { setTimeout } from 'node:timers/promises'
import { hexToBytes } from '@noble/hashes/utils.js'
import { z } from 'zod'
import type { BlockRef } from '../../core/invoice/types.ts'
import { AnswerTooLarge, BlockDataMissing, ChainUnavailable } from '../adapter.ts'
import {
  blockSchema,
  bytes,
  count,
  type EvmBlock,
  type EvmHeader,
  type EvmLog,
  type EvmReceipt,
  type EvmSenders,
  type EvmTraces,
  hash,
  headerSchema,
  logsSchema,
  receiptsSchema,
  sendersSchema,
  tracesSchema,
} from './evm-answers.ts'
import { EvmRpc, EvmRpcError } from './evm-rpc.ts'

export const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/**
 * Puts one account's code in the place of some code: it reads packed 20-byte addresses and returns packed 32-byte
 * balances. 15,000 addresses take less than the 50 million gas that nodes give to a call.
 */
const BALANCES_PROGRAM = '0x5f5f5b36821015601d57813560601c31815260200190601401906002565b5ff3'
const BALANCES_ACCOUNT = '0x00000000000000000000000000000000ba1a4ce5'
const BALANCES_PER_CALL = 15_000
/** 50 million: the most that geth gives to a call by default. */
const BALANCES_GAS = { gas: '0x2faf080' }
/** Nodes may give less to a call, refuse to give so much (EIP-7825), or charge more for each balance. */
const GAS_PATTERN = /out ?of ?gas|intrinsic gas|gas (limit|required|cap|too (high|low))|exceeds .*\bgas/i
const WORD_DIGITS = 64

/** Nodes behind one address may be some blocks apart: what one of them named, another learns soon. */
const KNOWN_ATTEMPTS_MAX = 6
const KNOWN_PAUSE_MS = 80

/** geth's word for one transaction, which whoever sent it may have made so, in place of its trace. */
const TRACE_TIMEOUT = /time(d )?-?out/i

const DIFF_TRACER = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }

type BalancesAsked = { readonly callsMax?: number; readonly held?: ReadonlyMap<string, bigint> | undefined }

/** A block by its hash, and the ids of its transactions. */
export type WithTransactions = Pick<EvmHeader, 'hash' | 'transactions'>

/** The questions we ask an EVM node. Blocks are identified by hash wherever their contents are read. */
export class EvmNode {
  readonly rpc: EvmRpc
  /** Halved where the node finds that a call takes too much gas. */
  #balancesPerCall = BALANCES_PER_CALL

  constructor(url: string, setting: string, answerMsMax?: number) {
    this.rpc = new EvmRpc(url, setting, answerMsMax)
  }

  chainId(): Promise<number> {
    return this.rpc.call('eth_chainId', [], count)
  }

  /** False where the node is on its way to the tip. */
  async isSynced(): Promise<boolean> {
    return (await this.rpc.call('eth_syncing', [], z.unknown())) === false
  }

  height(): Promise<number> {
    return this.rpc.call('eth_blockNumber', [], count)
  }

  /** Null where the node has no such block. */
  headerAt(place: number | 'latest' | 'safe' | 'finalized'): Promise<EvmHeader | null> {
    const tag = typeof place === 'number' ? hexOf(place) : place
    return this.#headerBy('eth_getBlockByNumber', tag)
  }

  /** The block at this height of the node's best chain with its transactions in full; null where there is none. */
  blockAt(height: number): Promise<EvmBlock | null> {
    return this.rpc.call('eth_getBlockByNumber', [hexOf(height), true], blockSchema.nullable())
  }

  /** Null where the node has no such block, on its best chain or beside it. */
  async headerOf(hash: string): Promise<EvmHeader | null> {
    const header = await this.#headerBy('eth_getBlockByHash', hash)
    if (header !== null && header.hash !== hash) {
      throw new ChainUnavailable(`the node at ${this.rpc.where} gave block ${header.hash} for ${hash}`)
    }
    return header
  }

  /** Who sent the transactions of a block of the node's best chain; null where it has none at this height. */
  async sendersAt(height: number): Promise<EvmSenders | null> {
    const requested = [hexOf(height), true]
    return (
      (await this.rpc.call('eth_getBlockByNumber', requested, sendersSchema.nullable()))?.transactions ?? null
    )
  }

  async blockOf(hash: string): Promise<EvmBlock> {
    const block = await untilKnown(() =>
      this.rpc.call('eth_getBlockByHash', [hash, true], blockSchema.nullable()),
    )
    if (block?.hash !== hash) throw this.#unknown(hash)
    return block
  }

  /**
   * One for each transaction, in order. Throws `EvmRpcError` (`no_such_method`) where the node does not trace, and
   * `AnswerTooLarge` where one of them took too long.
   */
  async tracesOf(header: EvmHeader): Promise<EvmTraces> {
    const answers = await untilKnown(() =>
      this.rpc.call('debug_traceBlockByHash', [header.hash, DIFF_TRACER], tracesSchema.nullable()),
    )
    if (answers === null) throw this.#unknown(header.hash)
    const traces = answers.map((answer) => {
      if (!('error' in answer)) return answer
      if (TRACE_TIMEOUT.test(answer.error))
        throw new AnswerTooLarge(
          `the node at ${this.rpc.where} traces a transaction of block ${header.number} for too long: ${answer.error}`,
        )
      throw new BlockDataMissing(
        `the node at ${this.rpc.where} cannot trace block ${header.number} (${answer.error}): where it keeps no state of blocks that old, use an archive node until they are read`,
      )
    })
    const isWhole =
      traces.length === header.transactions.length &&
      traces.every(({ txHash }, index) => txHash === undefined || txHash === header.transactions[index])
    if (!isWhole) {
      throw new ChainUnavailable(
        `the node at ${this.rpc.where} gave traces of block ${header.hash} that are not its transactions'`,
      )
    }
    return traces
  }

  async receiptsOf(block: WithTransactions): Promise<readonly EvmReceipt[]> {
    const receipts = await untilKnown(() =>
      this.rpc.call('eth_getBlockReceipts', [block.hash], receiptsSchema.nullable()),
    )
    if (receipts === null) throw this.#unknown(block.hash)
    if (areReceiptsOf(block, receipts)) return receipts
    throw new ChainUnavailable(
      `the node at ${this.rpc.where} gave receipts of block ${block.hash} that are not its transactions'`,
    )
  }

  /** Transfers of these contracts in one block. A block that the node does not know is an error, never an empty answer. */
  logsOf(hash: string, contracts: readonly string[]): Promise<EvmLog[]> {
    const filter = { blockHash: hash, address: contracts, topics: [TRANSFER_TOPIC] }
    return untilKnown(() => this.rpc.call('eth_getLogs', [filter], logsSchema))
  }

  /** The same for a range of blocks; a node that has not come so far answers with nothing. */
  logsBetween(from: number, to: number, contracts: readonly string[]): Promise<EvmLog[]> {
    const range = { fromBlock: hexOf(from), toBlock: hexOf(to) }
    return this.rpc.call(
      'eth_getLogs',
      [{ ...range, address: contracts, topics: [TRANSFER_TOPIC] }],
      logsSchema,
    )
  }

  /** How many addresses' balances one call gives. */
  get balancesPerCall(): number {
    return this.#balancesPerCall
  }

  /**
   * What these addresses (20 bytes each) hold after the block, in their order. Throws what the node said of gas where it
   * would take more than `callsMax` calls for that. `held`: what some others are known to hold then. Each call must say so
   * of one of them at least, or is taken for one about another block.
   */
  async balancesAt(
    hash: string,
    addresses: readonly Uint8Array[],
    { callsMax = Number.POSITIVE_INFINITY, held }: BalancesAsked = {},
  ): Promise<bigint[]> {
    const known = [...(held ?? [])].map(([address, amount]) => ({
      address: hexToBytes(address.slice(2)),
      amount,
    }))
    const balances: bigint[] = []
    while (balances.length < addresses.length) {
      const requested = addresses.slice(balances.length, balances.length + this.#balancesPerCall)
      try {
        const answered = await this.#balancesOf(hash, [...requested, ...known.map(({ address }) => address)])
        if (
          held !== undefined &&
          !known.some(({ amount }, index) => answered[requested.length + index] === amount)
        )
          throw new ChainUnavailable(
            `the node at ${this.rpc.where} gave balances that are not those after block ${hash}`,
          )
        balances.push(...answered.slice(0, requested.length))
      } catch (error) {
        const isGasShort = error instanceof EvmRpcError && GAS_PATTERN.test(error.message)
        if (!isGasShort || this.#balancesPerCall === 1) throw error
        this.#balancesPerCall = Math.min(this.#balancesPerCall, Math.ceil(requested.length / 2))
        if (Math.ceil(addresses.length / this.#balancesPerCall) > callsMax) throw error
      }
    }
    return balances
  }

  async #balancesOf(hash: string, requested: readonly Uint8Array[]): Promise<bigint[]> {
    const data = `0x${Buffer.concat(requested).toString('hex')}`
    const override = { [BALANCES_ACCOUNT]: { code: BALANCES_PROGRAM } }
    // A node that did not take so much gas gives what it gives to any call.
    const gas = this.#balancesPerCall === BALANCES_PER_CALL ? BALANCES_GAS : {}
    const call = [{ to: BALANCES_ACCOUNT, data, ...gas }, { blockHash: hash }, override]
    const words = await untilKnown(() => this.rpc.call('eth_call', call, bytes))
    if (words.length !== 2 + requested.length * WORD_DIGITS) {
      throw new ChainUnavailable(
        `the node at ${this.rpc.where} does not read balances by a state override: use one that does, or that traces`,
      )
    }
    return requested.map((_, place) => {
      const from = 2 + place * WORD_DIGITS
      return BigInt(`0x${words.slice(from, from + WORD_DIGITS)}`)
    })
  }

  /** `decimals()` of a token contract; null where there is none at this address. */
  async decimalsOf(contract: string): Promise<number | null> {
    const answer = await this.rpc.call('eth_call', [{ to: contract, data: '0x313ce567' }, 'latest'], bytes)
    return answer === '0x' ? null : Number(BigInt(answer))
  }

  /** Where this transaction is: in no block yet, or in this one; null where the node does not know it. */
  async placeOf(
    txid: string,
  ): Promise<'waiting' | { readonly height: number; readonly hash: string } | null> {
    const place = z.object({ blockNumber: count.nullish(), blockHash: hash.nullish() }).nullable()
    const reported = await this.rpc.call('eth_getTransactionByHash', [txid], place)
    if (reported === null) return null
    const { blockNumber, blockHash } = reported
    return blockNumber == null || blockHash == null ? 'waiting' : { height: blockNumber, hash: blockHash }
  }

  /** Whether the node traces blocks. */
  async canTrace(header: EvmHeader): Promise<boolean> {
    try {
      await this.tracesOf(header)
      return true
    } catch (error) {
      if (error instanceof EvmRpcError && error.kind === 'no_such_method') return false
      // A block may be too large for it: it traces all the same.
      if (error instanceof AnswerTooLarge) return true
      throw error
    }
  }

  #headerBy(method: string, name: string): Promise<EvmHeader | null> {
    return this.rpc.call(method, [name, false], headerSchema.nullable())
  }

  #unknown(hash: string): BlockDataMissing {
    return new BlockDataMissing(`the node at ${this.rpc.where} does not know block ${hash}`)
  }
}

/** Asks again, for half a second, what is answered with null or that there is no such block. */
async function untilKnown<Result>(ask: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await ask()
      if (answer !== null || attempt === KNOWN_ATTEMPTS_MAX) return answer
    } catch (error) {
      const isUnknown = error instanceof EvmRpcError && error.isUnknownBlock
      if (!isUnknown || attempt === KNOWN_ATTEMPTS_MAX) throw error
    }
    await setTimeout(KNOWN_PAUSE_MS)
  }
}

/** Whether there is one for each of the block's transactions, in order. */
export function areReceiptsOf(
  { hash, transactions }: WithTransactions,
  receipts: readonly EvmReceipt[],
): boolean {
  return (
    receipts.length === transactions.length &&
    receipts.every(({ transactionHash, blockHash }, index) => {
      return transactionHash === transactions[index] && blockHash === hash
    })
  )
}

const hexOf = (height: number): string => `0x${height.toString(16)}`

export function referenceOf({ number, hash, timestamp }: EvmHeader): BlockRef {
  return { height: number, hash, timeMs: timestamp * 1_000 }
}
