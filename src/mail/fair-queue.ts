/**
 * What waits, in turns: whoever has much waiting delays nobody else's by more than one item. Bounded for each key and
 * in all.
 */
export class FairQueue<Item> {
  readonly #waiting = new Map<string, Item[]>()
  readonly #max: { readonly perKey: number; readonly all: number }
  #size = 0

  constructor(max: { readonly perKey: number; readonly all: number }) {
    this.#max = max
  }

  get size(): number {
    return this.#size
  }

  /** False where its key, or the queue, is full. */
  add(key: string, item: Item): boolean {
    const items = this.#waiting.get(key) ?? []
    if (items.length >= this.#max.perKey || this.#size >= this.#max.all) return false
    items.push(item)
    this.#waiting.set(key, items)
    this.#size += 1
    return true
  }

  /** The oldest item of the key whose turn it is, which then goes to the end of the line; undefined where none waits. */
  take(): Item | undefined {
    const [next] = this.#waiting
    if (next === undefined) return undefined
    const [key, items] = next
    const item = items.shift()
    this.#waiting.delete(key)
    if (items.length > 0) this.#waiting.set(key, items)
    this.#size -= 1
    return item
  }
}
