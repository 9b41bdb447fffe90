import type { AssetId } from '../../core/assets.ts'
import type { EvmToken } from '../../core/chain/evm-parameters.ts'
import { AnswerTooLarge, ChainUnavailable, type FoundTransfer, type ScannedBlock } from '../adapter.ts'
import type { AddressSet } from '../address-set.ts'
import { concurrently } from '../concurrently.ts'
import { BalanceScan } from './balance-scan.ts'
import { BlockReceipts } from './block-receipts.ts'
import type { BlockTraces } from './block-traces.ts'
import { CatchUpTraces } from './catch-up-traces.ts'
import type { EvmBlock, EvmHeader, EvmLog, EvmReceipt } from './evm-answers.ts'
import { type EvmNode, referenceOf, TRANSFER_TOPIC } from './evm-node.ts'
import { EvmRpcError } from './evm-rpc.ts'
import { creditsOfTraces, creditsOfWithdrawals } from './native-credits.ts'
import { creditsOfLogs, mayMove, requireLogsOf } from './token-logs.ts'

const BLOCKS_IN_FLIGHT = 4

/** How native coin is found: by traces of every transaction, or by the balances of open checkouts. */
export type NativeMode = 'traces' | 'balances'

/**
 * Addresses (20 bytes each) that somebody may pay at this moment of the chain's own time, and those that were paid in a
 * block from this height on: read again, such a block must report them too, or the payment would seem gone.
 */
export type OpenAddresses = (at: Date, fromHeight: number) => Promise<readonly Uint8Array[]>

/** Reads what blocks credit to watched addresses, in the native coin and in pinned tokens. */
export class BlockReader {
  readonly #node: EvmNode
  readonly #asset: AssetId
  readonly #tokens: readonly EvmToken[]
  readonly #watched: AddressSet
  readonly #openAddresses: OpenAddresses
  readonly #scan: BalanceScan
  readonly #traces: BlockTraces
  readonly #receipts: BlockReceipts
  readonly #catchUp: CatchUpTraces

  constructor(parts: {
    readonly node: EvmNode
    readonly traces: BlockTraces
    readonly asset: AssetId
    readonly tokens: readonly EvmToken[]
    readonly watched: AddressSet
    readonly openAddresses: OpenAddresses
  }) {
    this.#node = parts.node
    this.#traces = parts.traces
    this.#asset = parts.asset
    this.#tokens = parts.tokens
    this.#watched = parts.watched
    this.#openAddresses = parts.openAddresses
    this.#receipts = new BlockReceipts(parts.node)
    this.#catchUp = new CatchUpTraces(parts)
    this.#scan = new BalanceScan(parts.node, parts.asset, parts.watched)
  }

  /** Whether so many blocks are read quicker with their transactions in full. */
  readsWhole(count: number, mode: NativeMode): boolean {
    return count > 1 && (mode === 'balances' || this.#catchUp.pays(count))
  }

  /** Whether to read blocks without that after this failure of it. */
  leavesWhole(error: unknown, mode: NativeMode): boolean {
    return mode === 'traces' && this.#catchUp.leave(error)
  }

  /** Blocks that follow one another, in order, with their transactions in full where `readsWhole` says so. */
  async read(headers: readonly EvmHeader[], mode: NativeMode): Promise<ScannedBlock[]> {
    const [only] = headers
    // The receipts of a block hold its logs, prove them later, and say what its transactions did.
    const logs =
      mode === 'balances' && only !== undefined && headers.length === 1
        ? new Map([[only.hash, await this.#logsInReceipts(only)]])
        : await this.#logsOf(headers)
    return this.#readAll(headers, mode, (header) => this.#tokenCredits(header, logs.get(header.hash) ?? []))
  }

  /** The same, with tokens by receipts that their headers prove. */
  readProven(headers: readonly EvmHeader[], mode: NativeMode): Promise<ScannedBlock[]> {
    return this.#readAll(headers, mode, (header) => this.provenTokenCredits(header))
  }

  async #readAll(
    headers: readonly EvmHeader[],
    mode: NativeMode,
    tokensOf: (header: EvmHeader) => Promise<FoundTransfer[]>,
  ): Promise<ScannedBlock[]> {
    const native = await this.#nativeCredits(headers, mode)
    const tokens = await concurrently(headers, BLOCKS_IN_FLIGHT, tokensOf)
    return headers.map((header, index) => ({
      block: referenceOf(header),
      parentHash: header.parentHash,
      transfers: [...(native[index] ?? []), ...(tokens[index] ?? [])],
    }))
  }

  /**
   * What tokens moved to watched addresses in a block, by receipts that are proved by the root in its header. Nobody can
   * leave a log out of them, or put one in.
   */
  async provenTokenCredits(header: EvmHeader): Promise<FoundTransfer[]> {
    if (!mayMove(header.logsBloom, this.#tokens)) return []
    return creditsOfLogs(await this.#provenLogs(header), this.#tokens, this.#watched)
  }

  async #nativeCredits(headers: readonly EvmHeader[], mode: NativeMode): Promise<FoundTransfer[][]> {
    if (mode === 'balances') return this.#creditsByBalances(headers)
    const blocks = headers.filter(isWhole)
    const found = blocks.length === headers.length ? await this.#catchUp.creditsIn(blocks) : null
    return found ?? concurrently(headers, BLOCKS_IN_FLIGHT, (header) => this.#tracedCredits(header))
  }

  async #tracedCredits(header: EvmHeader): Promise<FoundTransfer[]> {
    const traces = await this.#traces.of(header)
    if (traces === null) return (await this.#creditsByBalances([header])).flat()
    return [
      ...creditsOfTraces(header, traces, this.#asset, this.#watched),
      ...creditsOfWithdrawals(header, this.#asset, this.#watched),
    ]
  }

  /** For each block what it credited in native coin. */
  async #creditsByBalances(headers: readonly EvmHeader[]): Promise<FoundTransfer[][]> {
    const [first] = headers
    if (first === undefined) return []
    // What could be paid when the first of them came, and all that can be since.
    const open = await this.#openAddresses(new Date(first.timestamp * 1_000), first.number)
    const blocks = await concurrently(headers, BLOCKS_IN_FLIGHT, async (header) =>
      isWhole(header) ? header : this.#node.blockOf(header.hash),
    )
    return this.#scan.creditsIn(blocks, (block) => this.#receipts.of(block), open)
  }

  /** Where the logs say that nothing moved and the block's own filter says that something may have, receipts decide. */
  async #tokenCredits(header: EvmHeader, logs: readonly EvmLog[]): Promise<FoundTransfer[]> {
    const isSuspect = logs.length === 0 && mayMove(header.logsBloom, this.#tokens)
    if (isSuspect && (await this.#provenLogs(header)).some((log) => this.#isOurs(log))) {
      throw new ChainUnavailable(
        `the node at ${this.#node.rpc.where} gave no logs for block ${header.number}, and its receipts hold some`,
      )
    }
    return creditsOfLogs(logs, this.#tokens, this.#watched)
  }

  #isOurs({ address, topics }: EvmLog): boolean {
    return topics[0] === TRANSFER_TOPIC && this.#tokens.some(({ contract }) => contract === address)
  }

  async #provenLogs(header: EvmHeader): Promise<EvmLog[]> {
    return logsIn(await this.#receipts.proven(header))
  }

  /** Transfer logs of the pinned tokens. */
  async #logsInReceipts(header: EvmHeader): Promise<EvmLog[]> {
    if (!mayMove(header.logsBloom, this.#tokens)) return []
    return logsIn(await this.#receipts.of(header)).filter((log) => this.#isOurs(log))
  }

  /** Transfer logs of the pinned tokens, by block hash. */
  async #logsOf(headers: readonly EvmHeader[]): Promise<Map<string, EvmLog[]>> {
    const contracts = this.#tokens.map(({ contract }) => contract)
    const possible = headers.filter(({ logsBloom }) => mayMove(logsBloom, this.#tokens))
    const logs = new Map<string, EvmLog[]>()
    if (contracts.length === 0 || possible.length === 0) return logs
    const [first] = possible
    if (first !== undefined && possible.length === 1) {
      const found = await this.#logsIn(first, contracts)
      requireLogsOf(first.hash, found, contracts)
      return logs.set(first.hash, found)
    }
    for (const found of await this.#logsBetween(possible, contracts)) {
      const hash = found.blockHash ?? ''
      requireLogsOf(hash, [found], contracts)
      logs.set(hash, [...(logs.get(hash) ?? []), found])
    }
    const known = new Set(headers.map(({ hash }) => hash))
    for (const hash of logs.keys()) {
      if (!known.has(hash)) throw new ChainUnavailable('the chain was reorganised while its logs were read')
    }
    return logs
  }

  /** Of one block; from its receipts where its logs are too much for the node. */
  async #logsIn(header: EvmHeader, contracts: readonly string[]): Promise<EvmLog[]> {
    try {
      return await this.#node.logsOf(header.hash, contracts)
    } catch (error) {
      const isLarge = error instanceof EvmRpcError && error.kind === 'range_too_large'
      if (!isLarge && !(error instanceof AnswerTooLarge)) throw error
      return (await this.#provenLogs(header))
        .filter((log) => this.#isOurs(log))
        .map((log) => ({ ...log, blockHash: header.hash }))
    }
  }

  /** One request for all; split in half if the provider finds the range too large. */
  async #logsBetween(headers: readonly EvmHeader[], contracts: readonly string[]): Promise<EvmLog[]> {
    const [first, last] = [headers[0], headers.at(-1)]
    if (first === undefined || last === undefined) return []
    if (headers.length === 1) return this.#logsIn(first, contracts)
    try {
      return await this.#node.logsBetween(first.number, last.number, contracts)
    } catch (error) {
      if (!(error instanceof EvmRpcError) || error.kind !== 'range_too_large') throw error
      const middle = headers.length >>> 1
      const lower = await this.#logsBetween(headers.slice(0, middle), contracts)
      return [...lower, ...(await this.#logsBetween(headers.slice(middle), contracts))]
    }
  }
}

const isWhole = (header: EvmHeader | EvmBlock): header is EvmBlock => 'sent' in header

const logsIn = (receipts: readonly EvmReceipt[]): EvmLog[] =>
  receipts.flatMap(({ logs, transactionHash }) => logs.map((log) => ({ ...log, transactionHash })))
