import { Subscriber } from 'zeromq'
import type { ProgramSet } from '../program-set.ts'
import { mempoolSchema } from './node-answers.ts'
import type { NodeChain } from './node-chain.ts'
import type { RpcClient } from './rpc-client.ts'
import { scanTransaction } from './scan-block.ts'
import { MalformedBytes } from './transaction-reader.ts'

/** Messages that wait for us; libzmq drops what exceeds it, and a dropped wake-up loses nothing. */
const ZMQ_MESSAGES_MAX = 1_000
const ZMQ_RECONNECT_MS = 250
const ZMQ_RECONNECT_MS_MAX = 5_000
/** Those of the node's topics that can wake us; whichever it publishes. */
const TOPICS = ['hashblock', 'rawtx', 'hashtx', 'sequence']
/** The eighth part of a `sequence` message: hash (32), then what happened. `A`: a transaction was added. */
const SEQUENCE_LABEL_AT = 32
const LABEL_ADDED = 0x41

/**
 * Listens to a node's ZeroMQ notifications and calls `wake` when something may concern us. Returns how to stop.
 * ZeroMQ reconnects by itself. Where the node publishes whole transactions, those that pay nobody of ours wake
 * nobody.
 */
export function listenToZmq(url: string, watched: ProgramSet, wake: () => void): () => void {
  const subscriber = new Subscriber({
    receiveHighWaterMark: ZMQ_MESSAGES_MAX,
    reconnectInterval: ZMQ_RECONNECT_MS,
    reconnectMaxInterval: ZMQ_RECONNECT_MS_MAX,
    linger: 0,
  })
  subscriber.connect(url)
  subscriber.subscribe(...TOPICS)
  const filter = new WakeFilter(watched)
  const listen = async () => {
    for await (const [topic, body] of subscriber) {
      if (topic !== undefined && body !== undefined && filter.isForUs(topic.toString('latin1'), body)) wake()
    }
  }
  // The loop ends when the socket is closed, and a failure of the socket itself costs only speed: we also poll.
  listen().catch(wake)
  return () => subscriber.close()
}

/** Decides which notifications are worth a look. */
class WakeFilter {
  readonly #watched: ProgramSet
  #hasWholeTransactions = false

  constructor(watched: ProgramSet) {
    this.#watched = watched
  }

  isForUs(topic: string, body: Uint8Array): boolean {
    switch (topic) {
      case 'rawtx':
        this.#hasWholeTransactions = true
        return this.#pays(body)
      case 'hashtx':
        return !this.#hasWholeTransactions
      case 'sequence':
        return !(this.#hasWholeTransactions && body[SEQUENCE_LABEL_AT] === LABEL_ADDED)
      default:
        return true
    }
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

/**
 * Where there are no notifications: asks the node, in short intervals, two questions that cost it nothing, and
 * wakes when an answer differs from the one before.
 */
export function probeForChanges(
  parts: { rpc: RpcClient; node: NodeChain; intervalMs: number },
  wake: () => void,
): () => void {
  let last = ''
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  const probe = async () => {
    const now = await lookAtNode(parts)
    if (stopped) return
    if (now !== last) {
      last = now
      wake()
    }
    timer = setTimeout(probe, parts.intervalMs)
  }
  timer = setTimeout(probe, parts.intervalMs)
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}

/** The node's tip and the extent of its mempool in one string; a node that fails looks like itself. */
async function lookAtNode({ rpc, node }: { rpc: RpcClient; node: NodeChain }): Promise<string> {
  try {
    const [bestHash, { size, bytes }] = await Promise.all([
      node.bestHash(),
      rpc.call('getmempoolinfo', [], mempoolSchema),
    ])
    return `${bestHash} ${size} ${bytes}`
  } catch (error) {
    // Whoever is woken asks the node himself, and tells the operator what is wrong with it.
    return error instanceof Error ? error.message : String(error)
  }
}
