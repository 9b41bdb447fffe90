import type { AssetId } from '../../core/assets.ts'
import { ChainUnavailable, type FoundTransfer } from '../adapter.ts'
import type { AddressSet } from '../address-set.ts'
import type { EvmBlock, EvmReceipt } from './evm-answers.ts'
import type { EvmNode } from './evm-node.ts'
import { isWatched, nativeCredit } from './native-credits.ts'

const SUCCEEDED = 1

type ReadBlock = {
  readonly block: EvmBlock
  readonly direct: readonly FoundTransfer[]
  /** What each sender of it paid out, fees included. */
  readonly spent: ReadonlyMap<string, bigint>
}
/** By address, hex with 0x. */
type Balances = ReadonlyMap<string, bigint>

/**
 * Native coin without traces. Transfers that a transaction makes directly are read from the block. Whatever else came
 * in (payments by contracts, withdrawals, self-destructs) shows in the balances of open checkouts, before and after
 * the blocks; no node says which transaction it was in, so it is named by its block.
 */
export class BalanceScan {
  readonly #node: EvmNode
  readonly #asset: AssetId
  readonly #watched: Pick<AddressSet, 'hasShort'>
  /** Balances after the block read last: those before the next one. */
  #last: { readonly hash: string; readonly balances: Balances } | null = null

  constructor(node: EvmNode, asset: AssetId, watched: Pick<AddressSet, 'hasShort'>) {
    this.#node = node
    this.#asset = asset
    this.#watched = watched
  }

  /**
   * For each of some blocks that follow one another what came in. `open`: the addresses (20 bytes each) that somebody may
   * pay meanwhile. Balances are asked for after the last block alone, unless something came that no transaction explains.
   */
  async creditsIn(
    blocks: readonly EvmBlock[],
    receiptsOf: (block: EvmBlock) => Promise<readonly EvmReceipt[]>,
    open: readonly Uint8Array[],
  ): Promise<FoundTransfer[][]> {
    const [first, last] = [blocks[0], blocks.at(-1)]
    if (first === undefined || last === undefined) return []
    const read: ReadBlock[] = []
    for (const block of blocks) read.push(await this.#readBlock(block, receiptsOf))
    const addresses = open.map(addressOf)
    const before = await this.#balancesBefore(first.parentHash, addresses)
    const after = await this.#balancesAt(last.hash, addresses)
    const unnamed = new Map<string, FoundTransfer[]>()
    // Where they do not add up, those before may be what is wrong: next time they are asked for again.
    this.#last = null
    await this.#locate(read, addresses, { before, after }, unnamed)
    this.#last = { hash: last.hash, balances: after }
    return read.map(({ block, direct }) => [...direct, ...(unnamed.get(block.hash) ?? [])])
  }

  /** Only where a transaction is of a watched address does it matter whether it succeeded, and what it cost. */
  async #readBlock(
    block: EvmBlock,
    receiptsOf: (block: EvmBlock) => Promise<readonly EvmReceipt[]>,
  ): Promise<ReadBlock> {
    const isOurs = (address: string | null | undefined) =>
      address != null && isWatched(this.#watched, address)
    if (!block.sent.some(({ from, to }) => isOurs(to) || isOurs(from)))
      return { block, direct: [], spent: new Map() }
    const receipts = await receiptsOf(block)
    const direct = directCredits(this.#asset, this.#watched, block, receipts)
    return { block, direct, spent: spentBy(block, receipts) }
  }

  /** Adds to `unnamed`, by block hash, what these addresses have gained and no transaction explains: halves of halves tell where. */
  async #locate(
    blocks: readonly ReadBlock[],
    addresses: readonly string[],
    { before, after }: { readonly before: Balances; readonly after: Balances },
    unnamed: Map<string, FoundTransfer[]>,
  ): Promise<void> {
    const last = blocks.at(-1)?.block
    if (last === undefined) return
    const explained = explainedIn(blocks)
    const changed = addresses.flatMap((address): { address: string; amount: bigint }[] => {
      const amount = (after.get(address) ?? 0n) - (before.get(address) ?? 0n) - (explained.get(address) ?? 0n)
      // A sender may pay what no receipt sums up, as OP Stack's operator fee: that less came is no contradiction then.
      if (amount < 0n && !blocks.some(({ spent }) => spent.has(address))) {
        throw new ChainUnavailable(
          `the balance of ${address} does not add up over block ${last.number}: the node contradicts itself`,
        )
      }
      // Over several blocks, what a sender paid beyond its receipt may hide what came in another one.
      return amount > 0n || (amount < 0n && blocks.length > 1) ? [{ address, amount }] : []
    })
    if (changed.length === 0) return
    if (blocks.length === 1) {
      const credits = changed.map(({ address, amount }) =>
        nativeCredit(this.#asset, last.hash, address, amount),
      )
      unnamed.set(last.hash, credits)
      return
    }
    const half = blocks.length >>> 1
    const [lower, upper] = [blocks.slice(0, half), blocks.slice(half)]
    const those = changed.map(({ address }) => address)
    const between = await this.#balancesAt(lower.at(-1)?.block.hash ?? '', those)
    await this.#locate(lower, those, { before, after: between }, unnamed)
    await this.#locate(upper, those, { before: between, after }, unnamed)
  }

  async #balancesBefore(parentHash: string, addresses: readonly string[]): Promise<Balances> {
    const known = this.#last?.hash === parentHash ? this.#last.balances : new Map<string, bigint>()
    const missing = addresses.filter((address) => !known.has(address))
    return missing.length === 0
      ? known
      : new Map([...known, ...(await this.#balancesAt(parentHash, missing))])
  }

  async #balancesAt(hash: string, addresses: readonly string[]): Promise<Balances> {
    const bytes = addresses.map((address) => Buffer.from(address.slice(2), 'hex'))
    const balances = await this.#node.balancesAt(hash, bytes)
    return new Map(addresses.map((address, index) => [address, balances[index] ?? 0n]))
  }
}

const addressOf = (addressBytes: Uint8Array): string => `0x${Buffer.from(addressBytes).toString('hex')}`

/** By address, what transactions brought in these blocks, less what it paid out. */
function explainedIn(blocks: readonly ReadBlock[]): Balances {
  const sums = new Map<string, bigint>()
  const add = (address: string, amount: bigint) => sums.set(address, (sums.get(address) ?? 0n) + amount)
  for (const { direct, spent } of blocks) {
    for (const { addressBytes, amount } of direct) add(`0x${addressBytes}`, amount)
    for (const [address, amount] of spent) add(address, -amount)
  }
  return sums
}

/** What a block's transactions pay to watched addresses themselves. */
export function directCredits(
  asset: AssetId,
  watched: Pick<AddressSet, 'hasShort'>,
  block: EvmBlock,
  receipts: readonly EvmReceipt[],
): FoundTransfer[] {
  return block.sent.flatMap(({ hash, from, to, value }, index): FoundTransfer[] => {
    if (to == null || to === from || value === 0n || receipts[index]?.status !== SUCCEEDED) return []
    return isWatched(watched, to) ? [nativeCredit(asset, hash, to, value)] : []
  })
}

/** What the senders of a block's transactions paid out: value where it moved, and fees, Base's for Ethereum included. */
function spentBy(block: EvmBlock, receipts: readonly EvmReceipt[]): Map<string, bigint> {
  const spent = new Map<string, bigint>()
  block.sent.forEach(({ from, to, value }, index) => {
    const receipt = receipts[index]
    if (receipt === undefined) throw new Error('there are fewer receipts than transactions')
    const { gasUsed, effectiveGasPrice = 0n, l1Fee, status } = receipt
    const moved = status === SUCCEEDED && to !== from ? value : 0n
    const fee = gasUsed * effectiveGasPrice + (l1Fee ?? 0n)
    spent.set(from, (spent.get(from) ?? 0n) + moved + fee)
  })
  return spent
}
