import pLimit from 'p-limit'
import type { Network } from '../../core/assets.ts'

/** What an open page is sent: its whole changing part, or only that it is up to date. */
export type Snapshot = {
  readonly version: string
  readonly state: string
  readonly title: string
  readonly deadline: string | null
  readonly server_time: string
  /** The new `<main>`; null where the page has this version already. */
  readonly html: string | null
}
/** A snapshot as it is read: always with its markup. */
export type FullSnapshot = Snapshot & { readonly html: string }

/** One reading of an invoice. */
type ReadSnapshots = {
  readonly byLanguage: ReadonlyMap<string, FullSnapshot>
  /** The networks whose next block changes what the page says. */
  readonly movesWith: readonly Network[]
}

type LiveStreamDeps = {
  /** The page's present content in each language; null if the token opens nothing any more. */
  readonly read: (token: string, languages: readonly string[]) => Promise<ReadSnapshots | null>
  readonly onError: (error: unknown) => void
}

/** How often an open invoice is read, whether it changed or not, if there is time for all. */
const POLL_MS = 15_000
const LOOK_MS = 1_000
/** One is read after the other, with a rest of this multiple of the time that it took: changes and new pages come first. */
const REST_TIMES = 3
/** How often a page hears that its connection holds. Nothing is read for it. */
const BEAT_MS = 3_000
const RETRY_MS = 3_000
const STREAMS_MAX = 10_000
/** More than any buyer has tabs. */
const STREAMS_PER_INVOICE_MAX = 50
/** No caller may take all streams, but many buyers of a mobile network share one address. A page without a stream polls. */
const STREAMS_PER_CALLER_MAX = 2_500
/** A reader that is this many messages behind is dropped, and connects again. */
const QUEUED_MESSAGES_MAX = 16
/** A block may change thousands of invoices at once; they take turns, so that other queries get connections too. */
const READS_AT_ONCE_MAX = 6

type Controller = ReadableStreamDefaultController<Uint8Array>
type Stream = {
  version: string
  readonly language: string
  readonly caller: string
  readonly controller: Controller
}
type Topic = {
  readonly invoiceId: string
  readonly token: string
  readonly streams: Set<Stream>
  readonly beats: NodeJS.Timeout
  /** When it was last to be read, by `performance.now()`. */
  askedAtMs: number
  /** The last reading failed. Its pages hear no beat, and say so. */
  isFailing: boolean
  isReading: boolean
  /** It changed again while it was being read. */
  isStale: boolean
  movesWith: readonly Network[]
}

const encoder = new TextEncoder()
const BEAT = encoder.encode('event: beat\ndata: 1\n\n')

/** The open pages of this process. Each invoice is read once for all its pages, when it changes and in its turn. */
export class LiveStreams {
  readonly #deps: LiveStreamDeps
  /** By invoice; the one that was read longest ago is the first. */
  readonly #topics = new Map<string, Topic>()
  #nextTurn = setTimeout(() => this.#readInTurn(), LOOK_MS).unref()
  readonly #byCaller = new Map<string, number>()
  readonly #inTurn = pLimit(READS_AT_ONCE_MAX)
  #count = 0
  #isClosed = false

  constructor(deps: LiveStreamDeps) {
    this.#deps = deps
  }

  /** How many pages listen. */
  get size(): number {
    return this.#count
  }

  /** The stream of one page that shows `version`; null while there are too many in all, of this invoice or of this caller. */
  open(page: {
    invoiceId: string
    token: string
    version: string
    language: string
    caller: string
  }): ReadableStream<Uint8Array> | null {
    const others = this.#topics.get(page.invoiceId)?.streams.size ?? 0
    if (this.#isClosed || this.#count >= STREAMS_MAX || others >= STREAMS_PER_INVOICE_MAX) return null
    if ((this.#byCaller.get(page.caller) ?? 0) >= STREAMS_PER_CALLER_MAX) return null
    let leave = () => {}
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const topic = this.#topicFor(page.invoiceId, page.token)
          const stream: Stream = {
            version: page.version,
            language: page.language,
            caller: page.caller,
            controller,
          }
          topic.streams.add(stream)
          this.#count++
          this.#byCaller.set(page.caller, (this.#byCaller.get(page.caller) ?? 0) + 1)
          leave = () => this.#leave(topic, stream)
          controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\n\n`))
          this.#refresh(topic)
        },
        cancel: () => leave(),
      },
      { highWaterMark: QUEUED_MESSAGES_MAX },
    )
  }

  /** Something about the invoice was committed. */
  invoiceChanged(invoiceId: string): void {
    const topic = this.#topics.get(invoiceId)
    if (topic !== undefined) this.#refresh(topic)
  }

  /** Blocks have come: the pages that count confirmations on these networks are read again. */
  tipsMoved(networks: ReadonlySet<Network>): void {
    for (const topic of [...this.#topics.values()])
      if (topic.movesWith.some((network) => networks.has(network))) this.#refresh(topic)
  }

  /** Notifications may have been missed: everything is read again. */
  refreshAll(): void {
    for (const topic of [...this.#topics.values()]) this.#refresh(topic)
  }

  /** Ends every stream; the pages connect again, to another process or to this one's successor. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#nextTurn)
    for (const topic of [...this.#topics.values()]) this.#endAll(topic)
  }

  #topicFor(invoiceId: string, token: string): Topic {
    const known = this.#topics.get(invoiceId)
    if (known !== undefined) return known
    const topic: Topic = {
      invoiceId,
      token,
      beats: setInterval(() => this.#beat(topic), BEAT_MS).unref(),
      streams: new Set(),
      askedAtMs: performance.now(),
      isFailing: false,
      isReading: false,
      isStale: false,
      movesWith: [],
    }
    this.#topics.set(invoiceId, topic)
    return topic
  }

  #leave(topic: Topic, stream: Stream): void {
    if (!topic.streams.delete(stream)) return
    this.#count--
    const others = (this.#byCaller.get(stream.caller) ?? 1) - 1
    if (others > 0) this.#byCaller.set(stream.caller, others)
    else this.#byCaller.delete(stream.caller)
    if (topic.streams.size > 0) return
    clearInterval(topic.beats)
    this.#topics.delete(topic.invoiceId)
  }

  #end(topic: Topic, stream: Stream): void {
    this.#leave(topic, stream)
    stream.controller.close()
  }

  #endAll(topic: Topic): void {
    for (const stream of [...topic.streams]) this.#end(topic, stream)
  }

  /** What no notification reports shows now, and what one should have that was lost with its sender. */
  async #readInTurn(): Promise<void> {
    const startMs = performance.now()
    const [longestAgo] = this.#topics.values()
    const isDue = longestAgo !== undefined && startMs - longestAgo.askedAtMs >= POLL_MS
    if (isDue) await this.#refresh(longestAgo)
    if (this.#isClosed) return
    const restMs = isDue ? (performance.now() - startMs) * REST_TIMES : LOOK_MS
    this.#nextTurn = setTimeout(() => this.#readInTurn(), restMs).unref()
  }

  /**
   * Reads once more for every change that came during a reading, however many those were. Resolves after the first reading: one
   * that changes all the time takes nobody else's turn.
   */
  async #refresh(topic: Topic): Promise<void> {
    topic.isStale = true
    this.#moveToEnd(topic)
    if (topic.isReading) return
    topic.isReading = true
    await this.#readOnce(topic)
    void this.#readWhileStale(topic)
  }

  async #readWhileStale(topic: Topic): Promise<void> {
    while (topic.isStale && topic.streams.size > 0) await this.#readOnce(topic)
    topic.isReading = false
  }

  #readOnce(topic: Topic): Promise<void> {
    return this.#inTurn(() => {
      topic.isStale = false
      return topic.streams.size > 0 ? this.#readAndSend(topic) : Promise.resolve()
    })
  }

  /** Whoever goes through the topics meanwhile goes through a copy. */
  #moveToEnd(topic: Topic): void {
    topic.askedAtMs = performance.now()
    if (this.#topics.delete(topic.invoiceId)) this.#topics.set(topic.invoiceId, topic)
  }

  async #readAndSend(topic: Topic): Promise<void> {
    try {
      const languages = new Set([...topic.streams].map(({ language }) => language))
      const read = await this.#deps.read(topic.token, [...languages])
      if (read === null) return this.#endAll(topic)
      topic.movesWith = read.movesWith
      topic.isFailing = false
      for (const [language, snapshot] of read.byLanguage) this.#sendSnapshot(topic, language, snapshot)
    } catch (error) {
      this.#deps.onError(error)
      topic.isFailing = true
      // A comment, which keeps proxies content; the page counts messages only, and notices that none come.
      for (const stream of topic.streams) this.#send(topic, stream, encoder.encode(': unavailable\n\n'))
    }
  }

  #sendSnapshot(topic: Topic, language: string, snapshot: FullSnapshot): void {
    const whole = encoder.encode(`data: ${JSON.stringify(snapshot)}\n\n`)
    const heartbeat = encoder.encode(`data: ${JSON.stringify({ ...snapshot, html: null })}\n\n`)
    for (const stream of topic.streams) {
      if (stream.language !== language) continue
      const isNew = stream.version !== snapshot.version
      stream.version = snapshot.version
      this.#send(topic, stream, isNew ? whole : heartbeat)
    }
  }

  /** A reader that is behind has something to read already. */
  #beat(topic: Topic): void {
    if (topic.isFailing) return
    for (const { controller } of topic.streams)
      if (controller.desiredSize === QUEUED_MESSAGES_MAX) controller.enqueue(BEAT)
  }

  #send(topic: Topic, stream: Stream, message: Uint8Array): void {
    if ((stream.controller.desiredSize ?? 0) <= 0) this.#end(topic, stream)
    else stream.controller.enqueue(message)
  }
}
