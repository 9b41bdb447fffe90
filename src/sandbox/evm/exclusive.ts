/**
 * Lets any number read, or one change: whoever reads sees the chain before a change or after it, never between its
 * steps. Changes wait for their turn, readers for the changes before them.
 */
export class Exclusive {
  #last: Promise<unknown> = Promise.resolve()
  readonly #readers = new Set<Promise<unknown>>()

  async read<Result>(work: () => Promise<Result>): Promise<Result> {
    let last: Promise<unknown>
    do {
      last = this.#last
      await last
    } while (last !== this.#last)
    const reading = work()
    // Its failure is the reader's; a change only waits for its end.
    const ended = reading.then(
      () => {},
      () => {},
    )
    this.#readers.add(ended)
    ended.finally(() => this.#readers.delete(ended))
    return reading
  }

  change<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(async () => {
      await Promise.all(this.#readers)
      return work()
    })
    this.#last = turn.catch(() => {})
    return turn
  }
}
