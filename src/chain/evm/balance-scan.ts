import type { AssetId } from '../../core/assets.ts'
import { ChainUnavailable, type FoundTransfer } from '../adapter.ts'
import type { AddressSet } from '../address-set.ts'
import type { EvmBlock, EvmReceipt } from './evm-answers.ts'
import type { EvmNode } from './evm-node.ts'
import { isWatched, nativeCredit } from './native-credits.ts'

const SUCCEEDED = 1

/**
 * Native coin without traces. Transfers that a transaction makes directly are read from the block. Whatever else came
 * in (payments by contracts, withdrawals, self-destructs) shows in the balances of open checkouts, before and after
 * the block; no node says which transaction it was in, so it is named by its block.
 */
export class BalanceScan {
  readonly #node: EvmNode
  readonly #asset: AssetId
  readonly #watched: Pick<AddressSet, 'hasShort'>
  /** Balances after the block read last: those before the next one. */
  #last: { readonly hash: string; readonly balances: ReadonlyMap<string, bigint> } | null = null

  constructor(node: EvmNode, asset: AssetId, watched: Pick<AddressSet, 'hasShort'>) {
    this.#node = node
    this.#asset = asset
    this.#watched = watched
  }

  /** `open`: the addresses (20 bytes each) that somebody may pay now. */
  async creditsIn(
    block: EvmBlock,
    receipts: readonly EvmReceipt[],
    open: readonly Uint8Array[],
  ): Promise<FoundTransfer[]> {
    const direct = directCredits(this.#asset, this.#watched, block, receipts)
    const addresses = open.map((addressBytes) => `0x${Buffer.from(addressBytes).toString('hex')}`)
    const before = await this.#balancesBefore(block.parentHash, addresses, open)
    const after = await this.#node.balancesAt(block.hash, open)
    const expected = sumByAddress(direct)
    const spentByAddress = spentBy(block, receipts)
    for (const [address, spent] of spentByAddress) {
      expected.set(address, (expected.get(address) ?? 0n) - spent)
    }
    const unnamed = addresses.flatMap((address, index): FoundTransfer[] => {
      const gained = (after[index] ?? 0n) - (before.get(address) ?? 0n)
      const rest = gained - (expected.get(address) ?? 0n)
      // A sender may pay what no receipt sums up, as OP Stack's operator fee: that less came is no contradiction then.
      if (rest < 0n && !spentByAddress.has(address)) {
        throw new ChainUnavailable(
          `the balance of ${address} does not add up over block ${block.number}: the node contradicts itself`,
        )
      }
      return rest <= 0n ? [] : [nativeCredit(this.#asset, block.hash, address, rest)]
    })
    const balances = new Map(addresses.map((address, index) => [address, after[index] ?? 0n]))
    this.#last = { hash: block.hash, balances }
    return [...direct, ...unnamed]
  }

  async #balancesBefore(
    parentHash: string,
    addresses: readonly string[],
    open: readonly Uint8Array[],
  ): Promise<ReadonlyMap<string, bigint>> {
    const known = new Map(this.#last?.hash === parentHash ? this.#last.balances : [])
    const missing = open.filter((_, index) => !known.has(addresses[index] ?? ''))
    const balances = missing.length === 0 ? [] : await this.#node.balancesAt(parentHash, missing)
    missing.forEach((addressBytes, index) => {
      known.set(`0x${Buffer.from(addressBytes).toString('hex')}`, balances[index] ?? 0n)
    })
    return known
  }
}

/** What a block's transactions pay to watched addresses themselves. */
export function directCredits(
  asset: AssetId,
  watched: Pick<AddressSet, 'hasShort'>,
  block: EvmBlock,
  receipts: readonly EvmReceipt[],
): FoundTransfer[] {
  return block.transactions.flatMap(({ hash, from, to, value }, index): FoundTransfer[] => {
    if (to == null || to === from || value === 0n || receipts[index]?.status !== SUCCEEDED) return []
    return isWatched(watched, to) ? [nativeCredit(asset, hash, to, value)] : []
  })
}

function sumByAddress(transfers: readonly FoundTransfer[]): Map<string, bigint> {
  const sums = new Map<string, bigint>()
  for (const { addressBytes, amount } of transfers) {
    sums.set(`0x${addressBytes}`, (sums.get(`0x${addressBytes}`) ?? 0n) + amount)
  }
  return sums
}

/** What the senders of a block's transactions paid out: value where it moved, and fees, Base's for Ethereum included. */
function spentBy(block: EvmBlock, receipts: readonly EvmReceipt[]): Map<string, bigint> {
  const spent = new Map<string, bigint>()
  block.transactions.forEach(({ from, to, value }, index) => {
    const receipt = receipts[index]
    if (receipt === undefined) throw new Error('there are fewer receipts than transactions')
    const { gasUsed, effectiveGasPrice = 0n, l1Fee, status } = receipt
    const moved = status === SUCCEEDED && to !== from ? value : 0n
    const fee = gasUsed * effectiveGasPrice + (l1Fee ?? 0n)
    spent.set(from, (spent.get(from) ?? 0n) + moved + fee)
  })
  return spent
}
