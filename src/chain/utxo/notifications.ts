import { Subscriber } from 'zeromq'
import { z } from 'zod'
import { ChainUnavailable } from '../adapter.ts'
import type { AddressSet } from '../address-set.ts'
import type { NodeChain, NodeLook } from './node-chain.ts'
import { RPC_CODES, type RpcClient, RpcError } from './rpc-client.ts'
import { scanTransaction } from './scan-block.ts'
import { MalformedBytes } from './transaction-reader.ts'

/** Messages that wait for us; libzmq drops what exceeds it, and a dropped wake-up loses nothing. */
const ZMQ_MESSAGES_MAX = 1_000
const ZMQ_RECONNECT_MS = 250
const ZMQ_RECONNECT_MS_MAX = 5_000
/** A connection that was cut silently is noticed after both, and opened again. */
const ZMQ_HEARTBEAT_MS = 5_000
const ZMQ_HEARTBEAT_ANSWER_MS = 5_000
/** Looks at a node that has changed, while nothing is heard of it, after which its notifications count as silent. */
const SILENT_LOOKS = 25
/** Those of the node's topics that can wake us; whichever it publishes. */
const TOPICS = ['hashblock', 'rawtx', 'hashtx', 'sequence']
/** The eighth part of a `sequence` message: hash (32), then what happened. `A`: a transaction was added. */
const SEQUENCE_LABEL_AT = 32
const LABEL_ADDED = 0x41
const LABEL_CONNECTED = 0x43
const HASH_BYTES = 32

const zmqSchema = z.array(z.object({ type: z.string() }))

type NodeParts = {
  readonly rpc: RpcClient
  readonly node: NodeChain
  readonly watched: AddressSet
  /** The node's ZeroMQ; null: it is only asked. */
  readonly zmqUrl: string | null
  /** The name under which the operator configured `zmqUrl`. */
  readonly zmqSetting: string
  /** Pause between two looks at the node. */
  readonly intervalMs: number
}

/** What a notification is about. */
type Heard = {
  readonly isForUs: boolean
  /** Whether it is of a transaction that came into the mempool, which no other topic says. */
  readonly isAddition: boolean
  /** The block that is the node's tip now; null where it is of no block. */
  readonly tip: string | null
}

/**
 * Wakes the watcher when something on a node may concern us: by its notifications, and by polling it with one cheap
 * request. It polls even with notifications, since these can stop silently. What was already notified, for us or not,
 * wakes nobody again.
 */
export class NodeListener {
  readonly #parts: NodeParts
  readonly #wake: () => void
  readonly #closeZmq: () => void
  #timer: NodeJS.Timeout
  #isStopped = false
  #last: NodeLook | null = null
  /** Notifications heard since the last look began, and those of them about what came into the mempool. */
  #heard = 0
  #additions = 0
  /** Additions that the last change was found to hold before they were heard of. */
  #awaited = 0
  /** The tip that woke last. */
  #reportedTip: string | null = null
  #unheardLooks = 0
  #silence: string | null = null

  constructor(parts: NodeParts, wake: () => void) {
    this.#parts = parts
    this.#wake = wake
    this.#timer = setTimeout(() => void this.#look(), parts.intervalMs)
    const { zmqUrl, watched } = parts
    const hear = ({ isForUs, isAddition, tip }: Heard): void => {
      this.#heard += 1
      if (isAddition) this.#additions += 1
      if (tip !== null) this.#reportedTip = tip
      if (isForUs) wake()
    }
    this.#closeZmq = zmqUrl === null ? () => {} : listenToZmq(zmqUrl, watched, hear)
    if (zmqUrl !== null) void this.#reportUnpublished()
  }

  /** Why the configured notifications are not heard; null where they are, or none are configured. */
  get silence(): string | null {
    return this.#silence
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    this.#closeZmq()
  }

  async #look(): Promise<void> {
    const [heard, additions] = [this.#heard, this.#additions]
    const last = this.#last
    this.#heard = 0
    this.#additions = 0
    const now = await lookAt(this.#parts.node)
    if (this.#isStopped) return
    this.#last = now
    const isChanged = now?.tip !== last?.tip || now?.size !== last?.size || now?.bytes !== last?.bytes
    if (isChanged && !this.#isReported(last, now, additions)) this.#wake()
    if (this.#parts.zmqUrl !== null && now !== null) {
      await this.#judgeSilence(heard + this.#heard > 0, isChanged && last !== null)
    }
    if (!this.#isStopped) this.#timer = setTimeout(() => void this.#look(), this.#parts.intervalMs)
  }

  /** Whether all that changed between two looks was heard: one notification says nothing of another that was lost. */
  #isReported(last: NodeLook | null, now: NodeLook | null, additions: number): boolean {
    const awaited = this.#awaited
    this.#awaited = 0
    if (last === null || now === null) return false
    // How many transactions a block took out is not known: each that is there now may have come without a word.
    if (now.tip !== last.tip) return now.tip === this.#reportedTip && now.size === 0
    const grown = Math.max(1, now.size - last.size)
    // What was heard while the node answered may be what it answered; the rest belongs to the next look.
    const heard = additions + this.#additions
    this.#additions = Math.min(this.#additions, Math.max(0, heard - grown - awaited))
    this.#awaited = Math.max(0, grown - heard)
    return heard - awaited >= grown
  }

  async #judgeSilence(isHeard: boolean, isChanged: boolean): Promise<void> {
    if (isHeard) {
      this.#unheardLooks = 0
      this.#reportSilence(null)
    } else if (isChanged || this.#unheardLooks > 0) {
      this.#unheardLooks += 1
      if (this.#unheardLooks === SILENT_LOOKS) {
        const { zmqUrl } = this.#parts
        const isSilent = `the node publishes by ZeroMQ and nothing comes from ${zmqUrl}: it is asked in short intervals`
        this.#reportSilence((await this.#whyItPublishesNothing()) ?? isSilent)
      }
    }
  }

  async #reportUnpublished(): Promise<void> {
    const reason = await this.#whyItPublishesNothing()
    if (reason !== null && !this.#isStopped) this.#reportSilence(reason)
  }

  async #whyItPublishesNothing(): Promise<string | null> {
    const { rpc, zmqSetting } = this.#parts
    const instead = `so that ${zmqSetting} is of no use: it is asked in short intervals`
    try {
      const topics = await publishedTopics(rpc)
      if (topics === null) return `the node was built without ZeroMQ, ${instead}`
      return topics.length === 0 ? `the node publishes nothing by ZeroMQ, ${instead}` : null
    } catch (error) {
      // The woken watcher asks the node itself, and reports to the operator what is wrong with it.
      if (error instanceof ChainUnavailable) return null
      throw error
    }
  }

  /** What is known of the silence is written down by the next pass. */
  #reportSilence(reason: string | null): void {
    if (reason === this.#silence) return
    this.#silence = reason
    this.#wake()
  }
}

/** The topics that a node publishes, as `pubrawtx`; null where it was built without ZeroMQ. */
export async function publishedTopics(rpc: RpcClient): Promise<readonly string[] | null> {
  try {
    return (await rpc.call('getzmqnotifications', [], zmqSchema)).map(({ type }) => type)
  } catch (error) {
    if (error instanceof RpcError && error.code === RPC_CODES.methodNotFound) return null
    throw error
  }
}

/** Null where the node does not answer. */
async function lookAt(node: NodeChain): Promise<NodeLook | null> {
  try {
    return await node.look()
  } catch (error) {
    // The woken watcher asks the node itself, and reports to the operator what is wrong with it.
    if (error instanceof ChainUnavailable) return null
    throw error
  }
}

/**
 * Listens to a node's ZeroMQ notifications; of each says whether it may concern us. Returns how to stop. ZeroMQ
 * reconnects by itself. Where the node publishes whole transactions, those that pay nobody of ours concern nobody.
 */
function listenToZmq(url: string, watched: AddressSet, hear: (heard: Heard) => void): () => void {
  const subscriber = new Subscriber({
    receiveHighWaterMark: ZMQ_MESSAGES_MAX,
    reconnectInterval: ZMQ_RECONNECT_MS,
    reconnectMaxInterval: ZMQ_RECONNECT_MS_MAX,
    heartbeatInterval: ZMQ_HEARTBEAT_MS,
    heartbeatTimeout: ZMQ_HEARTBEAT_ANSWER_MS,
    linger: 0,
  })
  subscriber.connect(url)
  subscriber.subscribe(...TOPICS)
  const filter = new WakeFilter(watched)
  const listen = async () => {
    for await (const [topic, body] of subscriber) {
      if (topic !== undefined && body !== undefined) hear(filter.read(topic.toString('latin1'), body))
    }
  }
  // The loop ends when the socket is closed, and a failure of the socket itself costs only speed: the node is asked.
  listen().catch(() => {})
  return () => subscriber.close()
}

/** Reads what notifications are about, and decides which are worth a look. */
class WakeFilter {
  readonly #watched: AddressSet
  #hasWholeTransactions = false
  #hasSequence = false

  constructor(watched: AddressSet) {
    this.#watched = watched
  }

  read(topic: string, body: Uint8Array): Heard {
    switch (topic) {
      case 'rawtx':
        this.#hasWholeTransactions = true
        return { isForUs: this.#pays(body), isAddition: !this.#hasSequence, tip: null }
      case 'hashtx': {
        const isRelevant = !this.#hasWholeTransactions
        return { isForUs: isRelevant, isAddition: isRelevant && !this.#hasSequence, tip: null }
      }
      case 'sequence':
        this.#hasSequence = true
        return this.#readSequence(body)
      default:
        return { isForUs: true, isAddition: false, tip: hashIn(body) }
    }
  }

  #readSequence(body: Uint8Array): Heard {
    const label = body[SEQUENCE_LABEL_AT]
    const isAddition = label === LABEL_ADDED
    const tip = label === LABEL_CONNECTED ? hashIn(body) : null
    return { isForUs: !(isAddition && this.#hasWholeTransactions), isAddition, tip }
  }

  #pays(transaction: Uint8Array): boolean {
    try {
      return scanTransaction(transaction, this.#watched) !== null
    } catch (error) {
      if (!(error instanceof MalformedBytes)) throw error
      // What we cannot read here is read properly from the node.
      return true
    }
  }
}

/** As the node's RPC writes it. */
const hashIn = (body: Uint8Array): string => Buffer.from(body.subarray(0, HASH_BYTES)).toString('hex')
