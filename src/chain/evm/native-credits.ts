import { hexToBytes } from '@noble/hashes/utils.js'
import type { AssetId } from '../../core/assets.ts'
import type { FoundTransfer } from '../adapter.ts'
import type { AddressSet } from '../address-set.ts'
import type { EvmHeader, EvmTraces } from './evm-answers.ts'
import { NATIVE_OUTPUT } from './token-logs.ts'

const WEI_PER_GWEI = 1_000_000_000n

type Watched = Pick<AddressSet, 'hasShort'>

export const isWatched = (watched: Watched, address: string): boolean =>
  watched.hasShort(hexToBytes(address.slice(2)), 0)

/** The coin that a transaction leaves at an address, as a transfer. */
export function nativeCredit(asset: AssetId, txid: string, address: string, amount: bigint): FoundTransfer {
  const addressBytes = address.slice(2)
  return { addressBytes, txid, outputIndex: NATIVE_OUTPUT, asset, amount, minimumConfirmations: 1 }
}

/** What addresses held before a transaction that changed it, and after. */
function changesOf({ result: { pre, post } }: EvmTraces[number], isAmong: (address: string) => boolean) {
  const earlier = new Map(Object.entries(pre).map(([address, state]) => [address.toLowerCase(), state]))
  return Object.entries(post).flatMap(([written, { balance }]) => {
    const address = written.toLowerCase()
    if (balance === undefined || !isAmong(address)) return []
    const before = earlier.get(address)?.balance ?? 0n
    return [{ address, before, after: balance, amount: balance - before }]
  })
}

/**
 * What each transaction leaves at watched addresses, from the balances before and after it: transfers, payments by
 * contracts, self-destructs, fees of a block's producer, whatever way the coin took. What an address spends is no credit.
 */
export function creditsOfTraces(
  { transactions }: Pick<EvmHeader, 'transactions'>,
  traces: EvmTraces,
  asset: AssetId,
  watched: Watched,
): FoundTransfer[] {
  return traces.flatMap((trace, index): FoundTransfer[] => {
    const txid = transactions[index]
    if (txid === undefined) throw new Error('there are more traces than transactions')
    return changesOf(trace, (address) => isWatched(watched, address)).flatMap(({ address, amount }) =>
      amount > 0n ? [nativeCredit(asset, txid, address, amount)] : [],
    )
  })
}

/** By how much a block's transactions together changed the balances of watched addresses, what these spent included. */
export function changesOfTraces(traces: EvmTraces, watched: Watched): Map<string, bigint> {
  const sums = new Map<string, bigint>()
  const isAmong = (address: string) => isWatched(watched, address)
  for (const { address, amount } of traces.flatMap((trace) => changesOf(trace, isAmong)))
    sums.set(address, (sums.get(address) ?? 0n) + amount)
  return sums
}

/** Of these addresses, lower case, what those held before a block's transactions, and after, that these changed. */
export function endsOfTraces(traces: EvmTraces, addresses: ReadonlySet<string>) {
  const [before, after] = [new Map<string, bigint>(), new Map<string, bigint>()]
  for (const change of traces.flatMap((trace) => changesOf(trace, (address) => addresses.has(address)))) {
    if (!before.has(change.address)) before.set(change.address, change.before)
    after.set(change.address, change.after)
  }
  return { before, after }
}

/**
 * A block's withdrawals of staked coin (EIP-4895) to watched addresses, summed for each address. They belong to no
 * transaction: the block itself stands in its place.
 */
export function creditsOfWithdrawals(
  { hash, withdrawals = [] }: Pick<EvmHeader, 'hash' | 'withdrawals'>,
  asset: AssetId,
  watched: Watched,
): FoundTransfer[] {
  const sums = new Map<string, bigint>()
  for (const { address, amount } of withdrawals) {
    if (amount === 0n || !isWatched(watched, address)) continue
    sums.set(address, (sums.get(address) ?? 0n) + amount * WEI_PER_GWEI)
  }
  return [...sums].map(([address, amount]) => nativeCredit(asset, hash, address, amount))
}
