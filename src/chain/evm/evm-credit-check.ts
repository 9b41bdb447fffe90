import { hexToBytes } from '@noble/hashes/utils.js'
import type { AssetId } from '../../core/assets.ts'
import { type Credit, unverifiedIn } from '../../core/chain/verify-credits.ts'
import { BlockDataMissing, type CreditCheck, type FoundTransfer, type ScannedBlock } from '../adapter.ts'
import { AddressSet } from '../address-set.ts'
import { BalanceScan, directCredits } from './balance-scan.ts'
import type { BlockReader, NativeMode } from './block-reader.ts'
import type { BlockTraces } from './block-traces.ts'
import type { EvmHeader, EvmTraces } from './evm-answers.ts'
import type { EvmNode } from './evm-node.ts'
import { isTooMuch } from './evm-rpc.ts'
import { creditsOfTraces, creditsOfWithdrawals } from './native-credits.ts'

/**
 * Looks for native coin in a block once more: by the node's own traces, or by what transactions pay themselves and the
 * addresses' balances before and after.
 */
export class EvmCreditCheck implements CreditCheck {
  readonly assets: readonly AssetId[]
  readonly #node: EvmNode
  readonly #asset: AssetId
  readonly #traces: BlockTraces
  readonly #modeOf: (header: EvmHeader) => Promise<NativeMode>
  readonly #reader: BlockReader

  constructor(parts: {
    readonly node: EvmNode
    readonly traces: BlockTraces
    readonly asset: AssetId
    readonly modeOf: (header: EvmHeader) => Promise<NativeMode>
    /** Reads whole blocks in native coin, with these traces. */
    readonly reader: BlockReader
  }) {
    this.assets = [parts.asset]
    this.#node = parts.node
    this.#traces = parts.traces
    this.#asset = parts.asset
    this.#modeOf = parts.modeOf
    this.#reader = parts.reader
  }

  async read({ hash }: { readonly hash: string }): Promise<readonly ScannedBlock[]> {
    const header = await this.#node.headerOf(hash)
    if (header === null) return []
    const parent = await this.#node.headerOf(header.parentHash)
    return this.#reader.read(parent === null ? [header] : [parent, header], await this.#modeOf(header))
  }

  async unverified<Claim extends Credit>(
    { hash }: { readonly hash: string },
    claims: readonly Claim[],
  ): Promise<readonly Claim[] | null> {
    const header = await this.#node.headerOf(hash)
    if (header === null) return null
    const addresses = [...new Set(claims.map(({ addressBytes }) => addressBytes))].map(hexToBytes)
    const watched = new AddressSet()
    watched.add(addresses)
    try {
      const traces = (await this.#modeOf(header)) === 'traces' ? await this.#tracesOf(header) : null
      if (traces === null) return await this.#unverifiedByBalances(hash, claims, { addresses, watched })
      const untraced = unverifiedIn(claims, this.#tracedCredits(header, traces, watched))
      if (!untraced.some(({ txid }) => txid === hash)) return untraced
      // What a balance showed and no transaction is named for may be in no trace: fees that Arbitrum's bridge gives back.
      const gains = await this.#creditsByBalances(hash, { addresses, watched })
      const traced = claims.filter((claim) => !untraced.includes(claim))
      return beyondTraces(hash, untraced, { gains, traced })
    } catch (error) {
      // A node that has put the block's state or receipts away answers that it cannot, in whatever words.
      if (isTooMuch(error) || error instanceof BlockDataMissing) return null
      throw error
    }
  }

  /** What transactions pay themselves is proved without traces, for whatever reason there are none. */
  async #tracesOf(header: EvmHeader): Promise<EvmTraces | null> {
    try {
      return await this.#traces.of(header)
    } catch (error) {
      if (error instanceof BlockDataMissing) return null
      throw error
    }
  }

  #tracedCredits(header: EvmHeader, traces: EvmTraces, watched: AddressSet): FoundTransfer[] {
    return [
      ...creditsOfTraces(header, traces, this.#asset, watched),
      ...creditsOfWithdrawals(header, this.#asset, watched),
    ]
  }

  /** Balances are asked for only where the transactions themselves do not explain all: old ones are soon put away. */
  async #unverifiedByBalances<Claim extends Credit>(
    hash: string,
    claims: readonly Claim[],
    { addresses, watched }: { readonly addresses: readonly Uint8Array[]; readonly watched: AddressSet },
  ): Promise<readonly Claim[]> {
    const { block, receipts } = await this.#withReceipts(hash)
    const unexplained = unverifiedIn(claims, directCredits(this.#asset, watched, block, receipts))
    if (unexplained.length === 0) return []
    return unverifiedIn(claims, await this.#creditsByBalances(hash, { addresses, watched }))
  }

  async #creditsByBalances(
    hash: string,
    { addresses, watched }: { readonly addresses: readonly Uint8Array[]; readonly watched: AddressSet },
  ): Promise<readonly FoundTransfer[]> {
    const { block, receipts } = await this.#withReceipts(hash)
    const scan = new BalanceScan(this.#node, this.#asset, watched)
    return (await scan.creditsIn([block], async () => receipts, addresses)).flat()
  }

  async #withReceipts(hash: string) {
    const block = await this.#node.blockOf(hash)
    return { block, receipts: block.transactions.length === 0 ? [] : await this.#node.receiptsOf(block) }
  }
}

/**
 * Of claims that are in no trace, those that are not of the block itself, or that an address has not gained beside what is
 * traced: under whatever names, nothing counts twice.
 */
function beyondTraces<Claim extends Credit>(
  hash: string,
  untraced: readonly Claim[],
  { gains, traced }: { readonly gains: readonly Credit[]; readonly traced: readonly Claim[] },
): Claim[] {
  const left = new Map<string, bigint>()
  const add = (address: string, amount: bigint) => left.set(address, (left.get(address) ?? 0n) + amount)
  for (const { addressBytes, amount } of gains) add(addressBytes, amount)
  for (const { addressBytes, amount } of traced) add(addressBytes, -amount)
  return untraced.filter(({ txid, addressBytes, amount }) => {
    if (txid !== hash || amount > (left.get(addressBytes) ?? 0n)) return true
    add(addressBytes, -amount)
    return false
  })
}
