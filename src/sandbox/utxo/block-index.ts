/** Blocks for which there is room at first; it doubles when it is full. */
const INITIAL_CAPACITY = 4_096
const HASH_BYTES = 32
/** Share of the look-up table that may be taken before it grows. */
const MAX_LOAD = 0.5
const EMPTY = 0
/** Branches that `staleTips` remembers. */
const MAX_STALE_BRANCHES = 100

/** Where a block stands and where its bytes are. */
export type IndexedBlock = {
  /** Blocks are numbered in the order in which they were made, stale ones included. */
  readonly number: number
  readonly height: number
  /** Number of the parent; -1 for the genesis block. */
  readonly parent: number
  readonly timeS: number
  /** Byte offset and size of the block in the journal. */
  readonly offset: number
  readonly size: number
}

/**
 * Every block ever made, some seventy bytes each whatever their number: an idle chain grows by half a million
 * small blocks a year, and an object for each would be the largest thing in the process.
 */
export class BlockIndex {
  private count = 0
  private hashes = new Uint8Array(INITIAL_CAPACITY * HASH_BYTES)
  private heights = new Int32Array(INITIAL_CAPACITY)
  private parents = new Int32Array(INITIAL_CAPACITY)
  private times = new Uint32Array(INITIAL_CAPACITY)
  private offsets = new Float64Array(INITIAL_CAPACITY)
  private sizes = new Uint32Array(INITIAL_CAPACITY)
  /** Open addressing by the first four bytes of the hash; holds number + 1. */
  private table = new Int32Array(INITIAL_CAPACITY * 4)
  /** Numbers of the best chain's blocks by height. */
  private best = new Int32Array(INITIAL_CAPACITY)
  private bestLength = 0
  /** Branches that were left, newest last: the number of each one's last block and of its first. */
  private stale: { readonly last: number; first: number }[] = []

  get size(): number {
    return this.count
  }

  get tipHeight(): number {
    return this.bestLength - 1
  }

  /** Adds a block on top of the best chain. */
  connect(hash: Uint8Array, place: { timeS: number; offset: number; size: number }): IndexedBlock {
    if (this.count === this.heights.length) this.grow()
    const number = this.count++
    this.hashes.set(hash, number * HASH_BYTES)
    this.heights[number] = this.bestLength
    this.parents[number] = this.bestLength === 0 ? -1 : this.numberAt(this.bestLength - 1)
    this.times[number] = place.timeS
    this.offsets[number] = place.offset
    this.sizes[number] = place.size
    this.insert(number)
    if (this.bestLength === this.best.length) this.best = grown(this.best, Int32Array)
    this.best[this.bestLength++] = number
    return this.block(number)
  }

  /** Takes the best chain's last block off; it stays known by its hash. */
  disconnectTip(): void {
    if (this.bestLength <= 1) throw new Error('the genesis block cannot be disconnected')
    const { number } = this.tip()
    this.bestLength--
    const branch = this.stale.at(-1)
    // Block after block the same branch goes: its last block is the first that was taken off.
    if (branch !== undefined && this.parents[branch.first] === number) branch.first = number
    else this.stale.push({ last: number, first: number })
    if (this.stale.length > MAX_STALE_BRANCHES) this.stale.shift()
  }

  /** The last blocks of branches that were left, with the number of blocks in each; the newest branches only. */
  staleTips(): { readonly block: IndexedBlock; readonly branchLength: number }[] {
    return this.stale.map(({ last, first }) => {
      const block = this.block(last)
      return { block, branchLength: block.height - this.block(first).height + 1 }
    })
  }

  tip(): IndexedBlock {
    return this.block(this.numberAt(this.bestLength - 1))
  }

  /** The best chain's block at a height, or null. */
  atHeight(height: number): IndexedBlock | null {
    return height >= 0 && height < this.bestLength ? this.block(this.numberAt(height)) : null
  }

  byHash(hash: Uint8Array): IndexedBlock | null {
    const mask = this.table.length - 1
    for (let slot = slotOf(hash, 0, mask); ; slot = (slot + 1) & mask) {
      const entry = this.table[slot] ?? EMPTY
      if (entry === EMPTY) return null
      if (this.hashIs(entry - 1, hash)) return this.block(entry - 1)
    }
  }

  hashOf(block: IndexedBlock): Uint8Array {
    return this.hashes.subarray(block.number * HASH_BYTES, (block.number + 1) * HASH_BYTES)
  }

  parentOf(block: IndexedBlock): IndexedBlock | null {
    return block.parent < 0 ? null : this.block(block.parent)
  }

  isInBestChain(block: IndexedBlock): boolean {
    return block.height < this.bestLength && this.numberAt(block.height) === block.number
  }

  private block(number: number): IndexedBlock {
    return {
      number,
      height: this.heights[number] ?? 0,
      parent: this.parents[number] ?? -1,
      timeS: this.times[number] ?? 0,
      offset: this.offsets[number] ?? 0,
      size: this.sizes[number] ?? 0,
    }
  }

  private numberAt(height: number): number {
    return this.best[height] ?? -1
  }

  private hashIs(number: number, hash: Uint8Array): boolean {
    const start = number * HASH_BYTES
    for (let index = 0; index < HASH_BYTES; index++) {
      if (this.hashes[start + index] !== hash[index]) return false
    }
    return true
  }

  private insert(number: number): void {
    if (this.count > this.table.length * MAX_LOAD) {
      this.table = new Int32Array(this.table.length * 2)
      for (let other = 0; other < number; other++) this.place(other)
    }
    this.place(number)
  }

  private place(number: number): void {
    const mask = this.table.length - 1
    let slot = slotOf(this.hashes, number * HASH_BYTES, mask)
    while (this.table[slot] !== EMPTY) slot = (slot + 1) & mask
    this.table[slot] = number + 1
  }

  private grow(): void {
    this.hashes = grown(this.hashes, Uint8Array)
    this.heights = grown(this.heights, Int32Array)
    this.parents = grown(this.parents, Int32Array)
    this.times = grown(this.times, Uint32Array)
    this.offsets = grown(this.offsets, Float64Array)
    this.sizes = grown(this.sizes, Uint32Array)
  }
}

/** The first bytes of a hash as it is sent are its lowest: even proof of work leaves them evenly spread. */
function slotOf(bytes: Uint8Array, start: number, mask: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(start, start + 4)
  return (a | (b << 8) | (c << 16) | (d << 24)) & mask
}

type Growable = { readonly length: number; set(from: ArrayLike<number>): void }

function grown<Values extends Growable & ArrayLike<number>>(
  from: Values,
  make: new (length: number) => Values,
): Values {
  const to = new make(from.length * 2)
  to.set(from)
  return to
}
