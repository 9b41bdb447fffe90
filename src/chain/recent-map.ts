/** A map that holds no more than `max` entries, or sizes of entries: those that were set longest ago go first. */
export class RecentMap<Key, Value> {
  readonly #max: number
  readonly #sizeOf: (value: Value) => number
  readonly #entries = new Map<Key, Value>()
  #held = 0

  constructor(max: number, sizeOf: (value: Value) => number = () => 1) {
    this.#max = max
    this.#sizeOf = sizeOf
  }

  get size(): number {
    return this.#entries.size
  }

  has(key: Key): boolean {
    return this.#entries.has(key)
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)
  }

  set(key: Key, value: Value): void {
    this.#delete(key)
    this.#entries.set(key, value)
    this.#held += this.#sizeOf(value)
    for (const oldest of this.#entries.keys()) {
      if (this.#held <= this.#max) return
      this.#delete(oldest)
    }
  }

  #delete(key: Key): void {
    const value = this.#entries.get(key)
    if (value === undefined) return
    this.#entries.delete(key)
    this.#held -= this.#sizeOf(value)
  }

  /** Gives every entry the value that `change` makes of it, of the same size and in its place. */
  changeAll(change: (value: Value) => Value): void {
    for (const [key, value] of this.#entries) this.#entries.set(key, change(value))
  }

  clear(): void {
    this.#entries.clear()
    this.#held = 0
  }
}
