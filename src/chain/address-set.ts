import { randomInt } from 'node:crypto'
import type { WatchedAddresses } from './adapter.ts'

/** Addresses kept in one piece of memory; pieces are added, never copied, so growing needs no room twice. */
const ADDRESSES_PER_CHUNK = 1 << 14
const SLOTS_MIN = 1 << 10
/** Bits of the filter for each slot. With at most half of the slots in use, all but three misses in a hundred end at it. */
const FILTER_BITS_PER_SLOT = 4
/** Indexes are stored in 32 bits and one slot value means empty. */
const ADDRESSES_MAX = 1 << 26

/**
 * The addresses we match outputs against: 20 bytes of P2WPKH or of an EVM address, 32 of P2WSH. A look-up probes a typed
 * array by the address's first eight bytes and compares the whole address on a hit, so its cost does not grow
 * with the number of addresses. The hash is seeded anew in every process: nobody can prepare outputs that all
 * fall into one slot.
 */
export class AddressSet implements WatchedAddresses {
  readonly #short = new AddressTable(20)
  readonly #long = new AddressTable(32)

  get size(): number {
    return this.#short.size + this.#long.size
  }

  add(addresses: Iterable<Uint8Array>): void {
    for (const addressBytes of addresses) {
      if (addressBytes.length === 20) this.#short.add(addressBytes)
      else if (addressBytes.length === 32) this.#long.add(addressBytes)
      else throw new Error(`an address has 20 or 32 bytes, not ${addressBytes.length}`)
    }
  }

  /** Whether the 20 bytes of `bytes` from `at` are a watched address. */
  hasShort(bytes: Uint8Array, at: number): boolean {
    return this.#short.has(bytes, at)
  }

  /** Those of 20 bytes, in the order in which they were added. */
  short(): Iterable<Uint8Array> {
    return this.#short.all()
  }

  /** What `sieveShort` takes in place of the 20 bytes of `bytes` from `at`. */
  hashShort(bytes: Uint8Array, at: number): number {
    return this.#short.hashOf(bytes, at)
  }

  /**
   * Of the first `count` hashes, the places of those that a watched address may have, written to `places`, which has room for
   * one more than these; returns how many. The processor waits for the memory of many look-ups at once, where
   * `hasShort` for one after the other would wait for each.
   */
  sieveShort(hashes: Uint32Array, count: number, places: Uint32Array): number {
    return this.#short.sieve(hashes, count, places)
  }

  /** Whether the 32 bytes of `bytes` from `at` are a watched address. */
  hasLong(bytes: Uint8Array, at: number): boolean {
    return this.#long.has(bytes, at)
  }
}

/** Open addressing with linear probing; never more than half full, so that a miss ends after a probe or two. */
class AddressTable {
  readonly #width: number
  readonly #seed = randomInt(2 ** 32)
  readonly #chunks: Uint8Array[] = []
  /** Pairs: index of the address plus one (0: empty), and its hash, which spares most comparisons. */
  #slots = new Uint32Array(SLOTS_MIN * 2)
  #mask = SLOTS_MIN - 1
  /**
   * A Bloom filter whose bits for one hash all lie in one word: small enough to stay in the processor's cache, which
   * the slots are not, and read once.
   */
  #filter = new Uint32Array((SLOTS_MIN * FILTER_BITS_PER_SLOT) / 32)
  #filterMask = (SLOTS_MIN * FILTER_BITS_PER_SLOT) / 32 - 1
  size = 0

  constructor(width: number) {
    this.#width = width
  }

  has(bytes: Uint8Array, at: number): boolean {
    const hash = this.hashOf(bytes, at)
    const bits = filterBits(hash)
    if (((this.#filter[hash & this.#filterMask] ?? 0) & bits) !== bits) return false
    return this.#slots[this.#slotOf(hash, bytes, at) * 2] !== 0
  }

  sieve(hashes: Uint32Array, count: number, places: Uint32Array): number {
    const filter = this.#filter
    const mask = this.#filterMask
    let found = 0
    for (let place = 0; place < count; place++) {
      const hash = hashes[place] ?? 0
      const bits = filterBits(hash)
      // Written in any case and counted if it is one: a branch that is guessed wrong would cost the look-ups behind it.
      places[found] = place
      found += ((filter[hash & mask] ?? 0) & bits) === bits ? 1 : 0
    }
    return found
  }

  add(addressBytes: Uint8Array): void {
    if (this.size >= ADDRESSES_MAX) throw new Error(`no more than ${ADDRESSES_MAX} addresses can be watched`)
    if ((this.size + 1) * 2 > this.#mask + 1) this.#grow()
    const hash = this.hashOf(addressBytes, 0)
    const slot = this.#slotOf(hash, addressBytes, 0)
    if (this.#slots[slot * 2] !== 0) return
    const place = this.size % ADDRESSES_PER_CHUNK
    if (place === 0) this.#chunks.push(new Uint8Array(ADDRESSES_PER_CHUNK * this.#width))
    this.#chunks.at(-1)?.set(addressBytes, place * this.#width)
    this.size += 1
    this.#slots[slot * 2] = this.size
    this.#slots[slot * 2 + 1] = hash
    this.#mark(hash)
  }

  *all(): Iterable<Uint8Array> {
    for (let index = 0; index < this.size; index++) {
      const start = (index % ADDRESSES_PER_CHUNK) * this.#width
      const chunk = this.#chunks[(index / ADDRESSES_PER_CHUNK) | 0]
      if (chunk !== undefined) yield chunk.subarray(start, start + this.#width)
    }
  }

  #mark(hash: number): void {
    const word = hash & this.#filterMask
    this.#filter[word] = (this.#filter[word] ?? 0) | filterBits(hash)
  }

  /** The slot that holds this address, or the empty one where it belongs. */
  #slotOf(hash: number, bytes: Uint8Array, at: number): number {
    const slots = this.#slots
    let slot = hash & this.#mask
    for (;;) {
      const index = slots[slot * 2] ?? 0
      if (index === 0) return slot
      if (slots[slot * 2 + 1] === hash && this.#equals(index - 1, bytes, at)) return slot
      slot = (slot + 1) & this.#mask
    }
  }

  #equals(index: number, bytes: Uint8Array, at: number): boolean {
    const chunk = this.#chunks[(index / ADDRESSES_PER_CHUNK) | 0]
    if (chunk === undefined) throw new Error('a slot points past the addresses')
    const start = (index % ADDRESSES_PER_CHUNK) * this.#width
    for (let offset = 0; offset < this.#width; offset++) {
      if (chunk[start + offset] !== bytes[at + offset]) return false
    }
    return true
  }

  /** Mixes the first eight bytes with the seed (the finalizer of MurmurHash3). */
  hashOf(bytes: Uint8Array, at: number): number {
    let hash = Math.imul(readUint32(bytes, at) ^ this.#seed, 0x85ebca6b)
    hash = Math.imul(hash ^ (hash >>> 13) ^ readUint32(bytes, at + 4), 0xc2b2ae35)
    return (hash ^ (hash >>> 16)) >>> 0
  }

  #grow(): void {
    const old = this.#slots
    this.#mask = this.#mask * 2 + 1
    this.#slots = new Uint32Array((this.#mask + 1) * 2)
    this.#filterMask = ((this.#mask + 1) * FILTER_BITS_PER_SLOT) / 32 - 1
    this.#filter = new Uint32Array(this.#filterMask + 1)
    for (let at = 0; at < old.length; at += 2) {
      const index = old[at] ?? 0
      if (index === 0) continue
      const hash = old[at + 1] ?? 0
      let slot = hash & this.#mask
      while (this.#slots[slot * 2] !== 0) slot = (slot + 1) & this.#mask
      this.#slots[slot * 2] = index
      this.#slots[slot * 2 + 1] = hash
      this.#mark(hash)
    }
  }
}

/** Three bits of a word, chosen by the hash's upper half; its lower half chooses the word. */
function filterBits(hash: number): number {
  return (1 << (hash >>> 27)) | (1 << ((hash >>> 22) & 31)) | (1 << ((hash >>> 17) & 31))
}

function readUint32(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] ?? 0) |
    ((bytes[at + 1] ?? 0) << 8) |
    ((bytes[at + 2] ?? 0) << 16) |
    ((bytes[at + 3] ?? 0) << 24)
  )
}
