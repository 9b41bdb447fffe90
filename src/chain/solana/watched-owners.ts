import { getAddressDecoder, getAddressEncoder } from '@solana/kit'
import { LRUCache } from 'lru-cache'
import type { WatchedAddresses } from '../adapter.ts'

const OWNER_BYTES = 32

/**
 * The owners we match accounts against, kept as the base58 text in which nodes name them: decoding the tens of
 * thousands of names in each block would cost more than the look-ups.
 */
export class WatchedOwners implements WatchedAddresses {
  readonly #owners = new Set<string>()
  /**
   * The installation's own fee payer, base58: what its transactions move is no payment. Null while the signer has
   * published none, and so has paid for nothing.
   */
  feePayer: string | null = null

  get size(): number {
    return this.#owners.size
  }

  add(addresses: Iterable<Uint8Array>): void {
    for (const addressBytes of addresses) {
      if (addressBytes.length !== OWNER_BYTES)
        throw new Error(`a Solana owner has 32 bytes, not ${addressBytes.length}`)
      this.#owners.add(ownerOf(addressBytes))
    }
  }

  has(owner: string): boolean {
    return this.#owners.has(owner)
  }

  /** Those from one place to another, in the order in which they were added. */
  slice(from: number, to: number): string[] {
    const owners: string[] = []
    let index = 0
    for (const owner of this.#owners) {
      if (index >= to) break
      if (index >= from) owners.push(owner)
      index += 1
    }
    return owners
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#owners.values()
  }
}

export const ownerOf = (addressBytes: Uint8Array): string => getAddressDecoder().decode(addressBytes)

/** A block may pay one owner thousands of times, and base58 is slow. */
const knownBytes = new LRUCache<string, string>({ max: 1_000 })

/** Hex of an owner, as transfers name it. */
export function addressBytesOf(owner: string): string {
  const known = knownBytes.get(owner)
  if (known !== undefined) return known
  const addressBytes = Buffer.from(getAddressEncoder().encode(owner as never)).toString('hex')
  knownBytes.set(owner, addressBytes)
  return addressBytes
}
