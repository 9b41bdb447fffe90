import { hash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { freePort } from './free-port.ts'
import type { TestNode } from './litecoind.ts'

/** An Esplora server that stands over a real node and follows the documented API as far as a wallet needs it. */
export type EsploraServer = {
  /** As an operator writes it: `esplora+http://…/api`. */
  readonly url: string
  /** Paths asked for so far, in order, without `/api`. */
  readonly calls: string[]
  /** From now on these paths are answered with this instead. */
  lie(path: RegExp, answer: (true_: Answer, path: string) => Answer): void
  tellTheTruth(): void
  /** Stops listening, as a server that is down, and listens again on the same port. */
  stop(): Promise<void>
  start(): Promise<void>
}

export type Answer = { readonly status: number; readonly body: string | Buffer }

type NodeTransaction = {
  readonly txid: string
  readonly hex: string
  readonly vin: readonly { readonly txid?: string; readonly vout?: number }[]
  readonly vout: readonly { readonly scriptPubKey: { readonly hex: string } }[]
}
type NodeBlock = {
  readonly hash: string
  readonly height: number
  readonly time: number
  readonly version: number
  readonly merkleroot: string
  /** Hex. */
  readonly bits: string
  readonly nonce: number
  readonly previousblockhash?: string
  readonly tx: readonly NodeTransaction[]
}

const NO_HASH = '0'.repeat(64)
const TRANSACTIONS_LISTED_MAX = 50

const notFound = (what: string): Answer => ({ status: 404, body: `${what} not found` })
const plain = (body: string | Buffer): Answer => ({ status: 200, body })
const json = (value: unknown): Answer => ({ status: 200, body: JSON.stringify(value) })

export async function startEsploraServer(node: TestNode): Promise<EsploraServer> {
  const index = new ChainIndex(node)
  const calls: string[] = []
  const lies: { path: RegExp; answer: (true_: Answer, path: string) => Answer }[] = []
  const answer = async (request: IncomingMessage): Promise<Answer> => {
    const path = (request.url ?? '').replace(/^\/api/, '')
    calls.push(path)
    const truth = await index.answer(request.method ?? '', path, await text(request))
    const lie = lies.find((each) => each.path.test(path))
    return lie === undefined ? truth : lie.answer(truth, path)
  }
  const server = createServer((request, response) => {
    answer(request).then(
      ({ status, body }) => response.writeHead(status).end(body),
      (error: unknown) =>
        response
          .writeHead(500, { 'content-type': 'text/plain' })
          .end(error instanceof Error ? error.message : ''),
    )
  })
  // None that the system could give to a connection while the server is stopped.
  const port = await freePort()
  const start = () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  await start()
  return {
    url: `esplora+http://127.0.0.1:${port}/api`,
    calls,
    lie: (path, lied) => lies.push({ path, answer: lied }),
    tellTheTruth: () => {
      lies.length = 0
    },
    start,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

/** What such a server indexes: the best chain, who spends what, and the node's mempool. Orphaned blocks are forgotten. */
class ChainIndex {
  readonly #node: TestNode
  readonly #chain: NodeBlock[] = []
  /** Of the best chain: the block of each transaction, and the spender of each output. */
  readonly #blockOf = new Map<string, NodeBlock>()
  readonly #spenderOf = new Map<string, string>()
  /** Every transaction ever seen; those of orphaned blocks stay. */
  readonly #known = new Map<string, NodeTransaction>()
  #mempool: string[] = []
  #turn: Promise<unknown> = Promise.resolve()

  constructor(node: TestNode) {
    this.#node = node
  }

  /** One request after the other, each on the node's chain as it is then. */
  answer(method: string, path: string, body: string): Promise<Answer> {
    const turn = this.#turn.then(async () => {
      if (method === 'POST' && path === '/tx') return this.#broadcast(body)
      await this.#sync()
      return this.#read(path)
    })
    this.#turn = turn.catch(() => {})
    return turn
  }

  async #sync(): Promise<void> {
    const path: NodeBlock[] = []
    let hash = await this.#node.rpc<string>('getbestblockhash')
    while (!this.#chain.some((block) => block.hash === hash)) {
      const block = await this.#node.rpc<NodeBlock>('getblock', [hash, 2])
      path.unshift(block)
      if (block.previousblockhash === undefined) break
      hash = block.previousblockhash
    }
    const ancestor = this.#chain.findIndex((block) => block.hash === hash)
    for (const block of this.#chain.splice(ancestor + 1).reverse()) this.#disconnect(block)
    for (const block of path) this.#connect(block)
    this.#mempool = await this.#node.rpc<string[]>('getrawmempool')
    for (const txid of this.#mempool) {
      if (this.#known.has(txid)) continue
      const transaction = await this.#node.rpc<NodeTransaction>('getrawtransaction', [txid, true])
      this.#known.set(txid, transaction)
    }
  }

  #connect(block: NodeBlock): void {
    this.#chain.push(block)
    for (const transaction of block.tx) {
      this.#known.set(transaction.txid, transaction)
      this.#blockOf.set(transaction.txid, block)
      for (const { txid, vout } of transaction.vin) this.#spenderOf.set(`${txid}:${vout}`, transaction.txid)
    }
  }

  #disconnect(block: NodeBlock): void {
    for (const transaction of block.tx) {
      this.#blockOf.delete(transaction.txid)
      for (const { txid, vout } of transaction.vin) this.#spenderOf.delete(`${txid}:${vout}`)
    }
  }

  async #broadcast(hex: string): Promise<Answer> {
    try {
      return plain(await this.#node.rpc<string>('sendrawtransaction', [hex]))
    } catch (error) {
      const message = error instanceof Error ? error.message.replace('sendrawtransaction: ', '') : ''
      return { status: 400, body: `sendrawtransaction RPC error: ${JSON.stringify({ code: -25, message })}` }
    }
  }

  #read(path: string): Answer | Promise<Answer> {
    const [noun = '', id = '', what, more] = path.split('/').slice(1)
    const tip = this.#chain.at(-1)
    switch (noun) {
      case 'blocks':
        return plain(what === 'height' ? String(tip?.height) : String(tip?.hash))
      case 'block-height':
        return this.#chain[Number(id)] === undefined
          ? notFound('Block')
          : plain(this.#chain[Number(id)]?.hash ?? '')
      case 'block':
        return this.#block(id, what)
      case 'tx':
        return this.#transaction(id, what, more)
      case 'scripthash':
        return json(this.#unconfirmedOf(id).slice(0, TRANSACTIONS_LISTED_MAX))
      default:
        return notFound('Endpoint')
    }
  }

  async #block(hash: string, what: string | undefined): Promise<Answer> {
    const block = this.#chain.find((each) => each.hash === hash)
    if (what === 'status') return json({ in_best_chain: block !== undefined, height: block?.height ?? null })
    if (block === undefined) return notFound('Block')
    if (what === 'raw') return plain(Buffer.from(await this.#node.rpc<string>('getblock', [hash, 0]), 'hex'))
    const {
      height,
      time: timestamp,
      version,
      merkleroot: merkle_root,
      nonce,
      previousblockhash = null,
    } = block
    const header = { version, timestamp, merkle_root, bits: Number.parseInt(block.bits, 16), nonce }
    return json({ id: hash, height, ...header, tx_count: block.tx.length, previousblockhash })
  }

  #transaction(txid: string, what: string | undefined, index: string | undefined): Answer {
    if (what === 'outspend') return json(this.#spending(`${txid}:${index}`))
    if (what === 'status') return json(this.#statusOf(txid))
    const transaction = this.#known.get(txid)
    if (transaction === undefined) return notFound('Transaction')
    if (what === 'hex') return plain(transaction.hex)
    if (what === 'raw') return plain(Buffer.from(transaction.hex, 'hex'))
    return json(this.#described(transaction))
  }

  #spending(outpoint: string): object {
    const waiting = this.#waiting().find(({ vin }) =>
      vin.some(({ txid, vout }) => `${txid}:${vout}` === outpoint),
    )
    const txid = this.#spenderOf.get(outpoint) ?? waiting?.txid
    return txid === undefined ? { spent: false } : { spent: true, txid, status: this.#statusOf(txid) }
  }

  #statusOf(txid: string): object {
    const block = this.#blockOf.get(txid)
    if (block === undefined) return { confirmed: false }
    return { confirmed: true, block_height: block.height, block_hash: block.hash, block_time: block.time }
  }

  #described({ txid, vin, vout }: NodeTransaction): object {
    return {
      txid,
      vin: vin.map((input) => ({
        txid: input.txid ?? NO_HASH,
        vout: input.vout ?? 0xffff_ffff,
        is_coinbase: input.txid === undefined,
      })),
      vout: vout.map(({ scriptPubKey }) => ({ scriptpubkey: scriptPubKey.hex })),
      status: this.#statusOf(txid),
    }
  }

  #waiting(): NodeTransaction[] {
    return this.#mempool.flatMap((txid) => this.#known.get(txid) ?? [])
  }

  #unconfirmedOf(scriptHash: string): object[] {
    return this.#waiting()
      .filter(({ vout }) => vout.some(({ scriptPubKey }) => scriptHashOf(scriptPubKey.hex) === scriptHash))
      .map((transaction) => this.#described(transaction))
  }
}

function scriptHashOf(script: string): string {
  return hash('sha256', Buffer.from(script, 'hex'), 'buffer').reverse().toString('hex')
}
