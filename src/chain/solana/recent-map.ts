/** A map that holds no more than `max` entries: those that were set longest ago go first. */
export class RecentMap<Key, Value> {
  readonly #max: number
  readonly #entries = new Map<Key, Value>()

  constructor(max: number) {
    this.#max = max
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
    this.#entries.delete(key)
    this.#entries.set(key, value)
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#max) return
      this.#entries.delete(oldest)
    }
  }

  /** Gives every entry the value that `change` makes of it, in its place. */
  changeAll(change: (value: Value) => Value): void {
    for (const [key, value] of this.#entries) this.#entries.set(key, change(value))
  }

  clear(): void {
    this.#entries.clear()
  }
}
