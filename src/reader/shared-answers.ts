import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { entriesUpTo } from '../runtime/cache-size.ts'
import type { Answer, ProviderCalls } from './provider-calls.ts'
import type { Call } from './read-calls.ts'

/** Cells read a block within seconds of each other; who comes later is answered by the node. */
const CONTENT_MS = 60_000
/** Looks at a node that are remembered for one question. */
const ASKED_PER_CALL_MAX = 8
const OVERHEAD_BYTES = 1_000
const CELLS_MAX = 10_000
/** Calls that a cell makes side by side arrive within this time. */
const SIBLINGS_MS = 2

/** A request to the node, and how many requests of cells wait for it. */
type Request = { readonly unwanted: AbortController; waiting: number }

/** A call to the node, and who got its answer. */
type Asked = {
  readonly sharing: Call['sharing']
  readonly startedAt: number
  readonly cells: Set<string>
  readonly answer: Promise<Answer>
  readonly request: Request
  settled: Answer | null
}
/** By provider and call, oldest first. */
export type AskedCache = LRUCache<string, readonly Asked[]>

/**
 * What one provider answers, once for several cells. Each cell sees the node's states in their order, as if it asked itself and
 * the node were further away: after an answer it gets none to a call that began before that answer was there. And who
 * asks again is answered by the node again.
 */
export class SharedAnswers {
  readonly #calls: Pick<ProviderCalls, 'send'>
  readonly #cache: AskedCache
  readonly #prefix: string
  readonly #momentMs: number
  /** When the last answer that a cell got was there. */
  readonly #seenAt = new LRUCache<string, number>(entriesUpTo(CELLS_MAX))
  #changedAt = 0
  /** Answers that the node was not asked for. */
  shared = 0

  constructor(parts: {
    readonly calls: Pick<ProviderCalls, 'send'>
    readonly cache: AskedCache
    readonly prefix: string
    /** How old an answer that is true for a moment may be. */
    readonly momentMs: number
  }) {
    this.#calls = parts.calls
    this.#cache = parts.cache
    this.#prefix = parts.prefix
    this.#momentMs = parts.momentMs
  }

  /** The answers to a cell's calls of one request, in their order. `gone`: it does not wait for them any more. */
  async ask(cell: string, calls: readonly Call[], gone: AbortSignal): Promise<readonly Answer[]> {
    const seenAt = this.#seenAt.get(cell) ?? 0
    const found = calls.map((call) => this.#find(call, cell, seenAt))
    const isKnown = found.map((asked) => asked?.settled != null)
    const begun = this.#begin(
      calls.filter((_, index) => found[index] === undefined),
      cell,
    )
    const all = found.map((asked) => asked ?? begun.shift()).flatMap((asked) => asked ?? [])
    waitFor(all, gone)
    if (isKnown.includes(true)) await pause(SIBLINGS_MS)
    const answers = await Promise.all(all.map(({ answer }) => answer))
    const isStale = all.map((asked, index) => {
      if (found[index] === undefined) return false
      const isContent = asked.sharing === 'content' && answers[index]?.isKept === true
      return !isContent && asked.startedAt < Math.max(seenAt, this.#changedAt)
    })
    const again = this.#begin(
      calls.filter((_, index) => isStale[index]),
      cell,
    )
    waitFor(again, gone)
    const last = await Promise.all(
      answers.map((answer, index) => (isStale[index] ? again.shift()?.answer : null) ?? answer),
    )
    this.shared += found.filter((asked, index) => asked !== undefined && !isStale[index]).length
    // A cell that is given what never changes learns nothing of the moment.
    const news = last.filter((_, index) => {
      return isStale[index] || !isKnown[index] || all[index]?.sharing === 'moment'
    })
    this.saw(cell, Math.max(0, ...news.map(({ endedAt }) => endedAt)))
    return last
  }

  /** A cell gets an answer that was there at this time. */
  saw(cell: string, endedAt: number): void {
    this.#seenAt.set(cell, Math.max(endedAt, this.#seenAt.get(cell) ?? 0))
  }

  /** The node has said that something changed: what it answered before is older than what a cell may know. */
  forgetMoments = (): void => {
    this.#changedAt = performance.now()
  }

  /** The oldest call whose answer this cell may have, so that one cell that follows another can follow it all the way. */
  #find(call: Call, cell: string, seenAt: number): Asked | undefined {
    const [since, now] = [Math.max(seenAt, this.#changedAt), performance.now()]
    const asked = this.#cache.get(this.#prefix + call.rest)?.find((each) => {
      const isGivenUp = each.settled === null && each.request.unwanted.signal.aborted
      if (isGivenUp || each.cells.has(cell)) return false
      if (each.sharing === 'content') return true
      return each.startedAt >= since && (each.settled === null || now - each.startedAt <= this.#momentMs)
    })
    asked?.cells.add(cell)
    return asked
  }

  #begin(calls: readonly Call[], cell: string): Asked[] {
    if (calls.length === 0) return []
    const startedAt = performance.now()
    const request: Request = { unwanted: new AbortController(), waiting: 0 }
    const answers = this.#calls.send(calls, request.unwanted.signal)
    return calls.map((call, index) => {
      const answer = answers.then((all) => requireAnswer(all[index]))
      const asked: Asked = {
        sharing: call.sharing,
        startedAt,
        cells: new Set([cell]),
        answer,
        request,
        settled: null,
      }
      this.#remember(call, asked, true)
      answer.then(
        (settled) => {
          asked.settled = settled
          this.#remember(call, asked, settled.isKept)
        },
        () => this.#remember(call, asked, false),
      )
      return asked
    })
  }

  #remember(call: Call, asked: Asked, isKept: boolean): void {
    const key = this.#prefix + call.rest
    const oldest = performance.now() - this.#momentMs
    // Of what never changes the newest is enough: who asked again may not have believed the one before.
    const isUsed = ({ sharing, settled, startedAt }: Asked) =>
      settled === null || (sharing === 'content' ? !isKept || asked.settled === null : startedAt >= oldest)
    const others = (this.#cache.get(key) ?? []).filter((each) => each !== asked && isUsed(each))
    const list = isKept ? [...others, asked].slice(-ASKED_PER_CALL_MAX) : others
    if (list.length === 0) this.#cache.delete(key)
    else this.#cache.set(key, list)
  }
}

/** What no cell waits for is not waited for. */
function waitFor(asked: readonly Asked[], gone: AbortSignal): void {
  const requests = asked.map(({ request }) => request)
  for (const request of requests) request.waiting += 1
  const leave = () => {
    for (const request of requests) {
      request.waiting -= 1
      if (request.waiting === 0) request.unwanted.abort()
    }
  }
  gone.addEventListener('abort', leave, { once: true })
}

function requireAnswer(answer: Answer | undefined): Answer {
  if (answer === undefined) throw new Error('a call has no answer')
  return answer
}

/** What they take of the cache, in bytes, with what holds them. */
const sizeOf = (list: readonly Asked[], key: string): number =>
  list.reduce((sum, { settled }) => sum + (settled?.bytes.length ?? 0), OVERHEAD_BYTES + key.length)

export const createAskedCache = (bytesMax: number): AskedCache =>
  new LRUCache({ maxSize: bytesMax, sizeCalculation: sizeOf, ttl: CONTENT_MS })
