import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import type { AssetId } from '../../core/assets.ts'
import { BlockDataMissing, ChainUnavailable, type FoundTransfer } from '../adapter.ts'
import type { AddressSet } from '../address-set.ts'
import { concurrently } from '../concurrently.ts'
import type { BlockTraces } from './block-traces.ts'
import type { EvmBlock } from './evm-answers.ts'
import type { EvmNode } from './evm-node.ts'
import { isNotNow } from './evm-rpc.ts'
import {
  changesOfTraces,
  creditsOfTraces,
  creditsOfWithdrawals,
  endsOfTraces,
  isWatched,
} from './native-credits.ts'

const BLOCKS_IN_FLIGHT = 4
/** A question for so many balances takes a node about as long as the traces of some blocks. */
const BLOCKS_PER_BALANCES = 4
/** More than one, since what is no transaction's may change what one of them holds as well. */
const PAYERS_MAX = 16
/** Who sends the transaction that each block of an OP Stack, and of Arbitrum, begins with. */
const PAY_NO_FEES = new Set([
  '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001',
  '0x00000000000000000000000000000000000a4b05',
])
/** A node that has put the state of one old block away, or does not answer such questions, does not for the next ones. */
const REST_MS = 60_000

type Balances = ReadonlyMap<string, bigint>
type Ends = { readonly before: Balances; readonly after: Balances }
/**
 * Of a block that was traced: what it credited, by how much it changed which watched address's balance, and what some of
 * those who paid its fees held before and after.
 */
type Traced = {
  readonly credits: readonly FoundTransfer[]
  readonly changes: Balances
  readonly payers: Ends
}
type Span = { readonly blocks: readonly EvmBlock[]; readonly ends: Ends }

/**
 * Native coin in many blocks of which few are traced. Coin leaves a watched address only by a transaction that its own key
 * signed: what a delegated one runs (contracts/Sweeper.sol) cannot send any. So the blocks with a transaction from or to a
 * watched address are traced, and where every watched address then holds after the last block what it held before the first
 * one and these changed, nothing came in the others. Where not, halves of halves tell which others to trace. Whether the
 * balances are those before and after is shown by who paid fees in the first and the last block with any: these are traced.
 * What is found is the same as if every block were traced.
 */
export class CatchUpTraces {
  readonly #node: EvmNode
  readonly #traces: BlockTraces
  readonly #asset: AssetId
  readonly #watched: AddressSet
  #restUntilMs = 0

  constructor(parts: {
    readonly node: EvmNode
    readonly traces: BlockTraces
    readonly asset: AssetId
    readonly watched: AddressSet
  }) {
    this.#node = parts.node
    this.#traces = parts.traces
    this.#asset = parts.asset
    this.#watched = parts.watched
  }

  /**
   * Whether to ask for balances costs less than to trace so many blocks: what all addresses hold, twice. Where a trace has
   * failed, one must succeed first, and says so.
   */
  pays(blocks: number): boolean {
    if (performance.now() < this.#restUntilMs || this.#traces.notice !== null) return false
    return Math.ceil(this.#watched.size / this.#node.balancesPerCall) <= callsMaxFor(blocks)
  }

  /**
   * Whether to read without whole blocks and balances for a while, since one of these questions failed: a node that traces
   * need not answer them. What it refuses for now alone it would refuse then as well.
   */
  leave(error: unknown): boolean {
    if (!(error instanceof ChainUnavailable) || isNotNow(error)) return false
    this.#restUntilMs = performance.now() + REST_MS
    return true
  }

  /** For each of some blocks that follow one another what it credited; null where each of them must be traced. */
  async creditsIn(blocks: readonly EvmBlock[]): Promise<FoundTransfer[][] | null> {
    const [first, last] = [blocks[0], blocks.at(-1)]
    if (first === undefined || last === undefined || !this.pays(blocks.length)) return null
    const traced = new Map<string, Traced>()
    const isOurs = (address: string | null | undefined) =>
      address != null && isWatched(this.#watched, address)
    const isOfOurs = ({ sent }: EvmBlock) => sent.some(({ from, to }) => isOurs(from) || isOurs(to))
    const [firstPaid, lastPaid] = [blocks.find(hasPayer), blocks.findLast(hasPayer)]
    const touched = blocks.filter((block) => block === firstPaid || block === lastPaid || isOfOurs(block))
    try {
      await concurrently(touched, BLOCKS_IN_FLIGHT, (block) => this.#trace(block, traced))
      const ends = await this.#endsOf(blocks, traced)
      await this.#explain(blocks, ends, traced)
    } catch (error) {
      if (this.leave(error)) return null
      throw error
    }
    return blocks.map((block) => [
      ...(traced.get(block.hash)?.credits ?? []),
      ...creditsOfWithdrawals(block, this.#asset, this.#watched),
    ])
  }

  /** What addresses held before and after, of those whose balance is another one, or was changed by a traced block. */
  async #endsOf(blocks: readonly EvmBlock[], traced: ReadonlyMap<string, Traced>): Promise<Ends> {
    const addresses = [...this.#watched.short()]
    const callsMax = callsMaxFor(blocks.length)
    const payersOf = (block: EvmBlock | undefined) => traced.get(block?.hash ?? '')?.payers
    const [before, after] = await Promise.all([
      this.#node.balancesAt(blocks[0]?.parentHash ?? '', addresses, {
        callsMax,
        held: payersOf(blocks.find(hasPayer))?.before,
      }),
      this.#node.balancesAt(blocks.at(-1)?.hash ?? '', addresses, {
        callsMax,
        held: payersOf(blocks.findLast(hasPayer))?.after,
      }),
    ])
    const changed = new Set([...traced.values()].flatMap(({ changes }) => [...changes.keys()]))
    const ends = { before: new Map<string, bigint>(), after: new Map<string, bigint>() }
    addresses.forEach((addressBytes, index) => {
      const [held, holds] = [before[index] ?? 0n, after[index] ?? 0n]
      const address = held === holds && changed.size === 0 ? null : `0x${bytesToHex(addressBytes)}`
      if (address === null || (held === holds && !changed.has(address))) return
      ends.before.set(address, held)
      ends.after.set(address, holds)
    })
    return ends
  }

  /** Traces those of these blocks that must have changed a balance by something else than what was traced. */
  async #explain(blocks: readonly EvmBlock[], ends: Ends, traced: Map<string, Traced>): Promise<void> {
    let spans: readonly Span[] = [{ blocks, ends }]
    while (spans.length > 0) {
      const halves = await concurrently(spans, BLOCKS_IN_FLIGHT, (span) => this.#halve(span, traced))
      spans = halves.flat()
    }
  }

  /** The halves in which to look further: none where all is explained. One block that is left is traced, and must explain all. */
  async #halve({ blocks, ends }: Span, traced: Map<string, Traced>): Promise<Span[]> {
    const explained = this.#explainedIn(blocks, traced)
    const suspects = [...ends.before].flatMap(([address, held]) =>
      (ends.after.get(address) ?? 0n) - held === (explained.get(address) ?? 0n) ? [] : [address],
    )
    if (suspects.length === 0) return []
    const [only] = blocks
    // A node that gave the balances of another block has pointed to this one, and away from where something came.
    if (blocks.every(({ hash }) => traced.has(hash)))
      throw new ChainUnavailable(`balances to block ${blocks.at(-1)?.number} are not what traces leave`)
    if (only !== undefined && blocks.length === 1) {
      await this.#trace(only, traced)
      return [{ blocks, ends }]
    }
    const half = blocks.length >>> 1
    const [lower, upper] = [blocks.slice(0, half), blocks.slice(half)]
    const between = await this.#balancesAt(lower.at(-1)?.hash ?? '', suspects)
    const of = (balances: Balances) =>
      new Map(suspects.map((address) => [address, balances.get(address) ?? 0n]))
    return [
      { blocks: lower, ends: { before: of(ends.before), after: between } },
      { blocks: upper, ends: { before: between, after: of(ends.after) } },
    ]
  }

  #explainedIn(blocks: readonly EvmBlock[], traced: ReadonlyMap<string, Traced>): Balances {
    const sums = new Map<string, bigint>()
    const add = (address: string, amount: bigint) => sums.set(address, (sums.get(address) ?? 0n) + amount)
    for (const block of blocks) {
      for (const [address, amount] of traced.get(block.hash)?.changes ?? []) add(address, amount)
      for (const { addressBytes, amount } of creditsOfWithdrawals(block, this.#asset, this.#watched))
        add(`0x${addressBytes}`, amount)
    }
    return sums
  }

  async #trace(block: EvmBlock, traced: Map<string, Traced>): Promise<void> {
    const traces = await this.#traces.of(block)
    if (traces === null) throw new BlockDataMissing(`block ${block.number} is not traced now`)
    const credits = creditsOfTraces(block, traces, this.#asset, this.#watched)
    const payers = endsOfTraces(traces, new Set(block.sent.slice(-PAYERS_MAX).map(({ from }) => from)))
    traced.set(block.hash, { credits, changes: changesOfTraces(traces, this.#watched), payers })
  }

  async #balancesAt(hash: string, addresses: readonly string[]): Promise<Balances> {
    const balances = await this.#node.balancesAt(
      hash,
      addresses.map((address) => hexToBytes(address.slice(2))),
    )
    return new Map(addresses.map((address, index) => [address, balances[index] ?? 0n]))
  }
}

/** Whether somebody paid fees in it. */
const hasPayer = ({ sent }: EvmBlock): boolean => sent.some(({ from }) => !PAY_NO_FEES.has(from))

/** In how many calls to learn what all addresses hold, before and again after so many blocks. */
const callsMaxFor = (blocks: number): number => Math.floor(blocks / (2 * BLOCKS_PER_BALANCES))
