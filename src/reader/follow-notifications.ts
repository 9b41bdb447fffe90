import { Subscriber } from 'zeromq'

const MESSAGES_MAX = 1_000
const RECONNECT_MS = 250
const RECONNECT_MS_MAX = 5_000
const TOPICS = ['hashblock', 'rawtx', 'hashtx', 'sequence']

/**
 * Calls `onChange` at each ZeroMQ notification of a node of Bitcoin's family. Cells hear of it at the same moment and
 * ask at once: what was true before is of no use to them. Returns how to stop.
 */
export function followNotifications(url: string, onChange: () => void): () => void {
  const subscriber = new Subscriber({
    receiveHighWaterMark: MESSAGES_MAX,
    reconnectInterval: RECONNECT_MS,
    reconnectMaxInterval: RECONNECT_MS_MAX,
    linger: 0,
  })
  subscriber.connect(url)
  subscriber.subscribe(...TOPICS)
  const follow = async () => {
    for await (const _message of subscriber) onChange()
  }
  // It ends when the socket is closed; without it cells see a change a little later.
  follow().catch(() => {})
  return () => subscriber.close()
}
