import { hexToBytes } from '@noble/hashes/utils.js'
import type { AssetId } from '../../core/assets.ts'
import { type Credit, unverifiedIn } from '../../core/chain/verify-credits.ts'
import { BlockDataMissing, type CreditCheck, type FoundTransfer, type ScannedBlock } from '../adapter.ts'
import { AddressSet } from '../address-set.ts'
import { BalanceScan, directCredits } from './balance-scan.ts'
import type { BlockReader, NativeMode } from './block-reader.ts'
import type { BlockTraces } from './block-traces.ts'
import type { EvmBlock, EvmHeader, EvmReceipt } from './evm-answers.ts'
import type { EvmNode } from './evm-node.ts'
import { isTooMuch } from './evm-rpc.ts'
import { creditsOfTraces, creditsOfWithdrawals } from './native-credits.ts'

type ReadWhole = { readonly block: EvmBlock; readonly receipts: readonly EvmReceipt[] }

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
      return await this.#unverifiedIn(header, claims, { addresses, watched })
    } catch (error) {
      // A node that has put the block's state or receipts away answers that it cannot, in whatever words.
      if (isTooMuch(error) || error instanceof BlockDataMissing) return null
      throw error
    }
  }

  /** Balances are asked for only where nothing else explains all: old ones are soon put away. */
  async #unverifiedIn<Claim extends Credit>(
    header: EvmHeader,
    claims: readonly Claim[],
    of: { readonly addresses: readonly Uint8Array[]; readonly watched: AddressSet },
  ): Promise<readonly Claim[]> {
    const { hash } = header
    const traced = await this.#tracedCredits(header, of.watched)
    if (traced === null) {
      const read = await this.#withReceipts(hash)
      const direct = directCredits(this.#asset, of.watched, read.block, read.receipts)
      if (unverifiedIn(claims, direct).length === 0) return []
      return unverifiedIn(claims, await this.#creditsByBalances(read, of))
    }
    const untraced = unverifiedIn(claims, traced)
    if (!untraced.some(({ txid }) => txid === hash)) return untraced
    // What a balance showed and no transaction is named for may be in no trace: fees that Arbitrum's bridge gives back.
    const gains = await this.#creditsByBalances(await this.#withReceipts(hash), of)
    return beyondTraces(hash, untraced, {
      gains,
      traced: claims.filter((claim) => !untraced.includes(claim)),
    })
  }

  /** Null where there are no traces: what transactions pay themselves is proved without, for whatever reason. */
  async #tracedCredits(header: EvmHeader, watched: AddressSet): Promise<FoundTransfer[] | null> {
    if ((await this.#modeOf(header)) !== 'traces') return null
    try {
      const traces = await this.#traces.of(header)
      if (traces === null) return null
      const withdrawn = creditsOfWithdrawals(header, this.#asset, watched)
      return [...creditsOfTraces(header, traces, this.#asset, watched), ...withdrawn]
    } catch (error) {
      if (error instanceof BlockDataMissing) return null
      throw error
    }
  }

  async #creditsByBalances(
    { block, receipts }: ReadWhole,
    { addresses, watched }: { readonly addresses: readonly Uint8Array[]; readonly watched: AddressSet },
  ): Promise<readonly FoundTransfer[]> {
    const scan = new BalanceScan(this.#node, this.#asset, watched)
    return (await scan.creditsIn([block], async () => receipts, addresses)).flat()
  }

  async #withReceipts(hash: string): Promise<ReadWhole> {
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
