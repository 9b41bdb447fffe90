import { getAddressDecoder, getAddressEncoder } from '@solana/kit'
import type { WatchedPrograms } from '../adapter.ts'

const OWNER_BYTES = 32

/**
 * The owners we match accounts against, kept as the base58 text in which nodes name them: decoding the tens of
 * thousands of names in each block would cost more than the look-ups.
 */
export class WatchedOwners implements WatchedPrograms {
  readonly #owners = new Set<string>()
  /**
   * The installation's own fee payer, base58: what its transactions move is no payment. Null while the signer has
   * published none, and so has paid for nothing.
   */
  feePayer: string | null = null

  get size(): number {
    return this.#owners.size
  }

  add(programs: Iterable<Uint8Array>): void {
    for (const program of programs) {
      if (program.length !== OWNER_BYTES)
        throw new Error(`a Solana owner has 32 bytes, not ${program.length}`)
      this.#owners.add(ownerOf(program))
    }
  }

  has(owner: string): boolean {
    return this.#owners.has(owner)
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#owners.values()
  }
}

export const ownerOf = (program: Uint8Array): string => getAddressDecoder().decode(program)

/** Hex of an owner, as transfers name it. */
export const programOf = (owner: string): string =>
  Buffer.from(getAddressEncoder().encode(owner as never)).toString('hex')
