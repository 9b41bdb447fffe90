import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startNode, type TestNode, until } from '../test/support/litecoind.ts'
import { freePort } from '../test/support/postgres-server.ts'
import { median, percentile, printFigure, spread } from './support/figure.ts'
import { type Paylink, startPaylink } from './support/paylink.ts'

const PAYMENTS = 40
const WAIT_MS_MAX = 30_000

/** When each event of each invoice reached the receiver. */
class Receiver {
  readonly #arrivals = new Map<string, number>()
  readonly #server: Server
  port = 0

  constructor() {
    this.#server = createServer(async (request, response) => {
      const at = performance.now()
      const body = JSON.parse((await buffer(request)).toString('utf8')) as Record<string, unknown>
      const { challenge } = body.data as { challenge?: string }
      if (challenge !== undefined) {
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ challenge }))
        return
      }
      const key = `${String(body.event_type)} ${String(body.resource_id)}`
      if (!this.#arrivals.has(key)) this.#arrivals.set(key, at)
      response.end()
    })
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the receiver has no port')
    this.port = address.port
  }

  async arrival(eventType: string, resourceId: string): Promise<number> {
    const key = `${eventType} ${resourceId}`
    await until(() => this.#arrivals.has(key), { what: `${key} arrives`, timeoutMs: WAIT_MS_MAX })
    return this.#arrivals.get(key) ?? 0
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

const NODES = [
  { chain: 'litecoin', asset: 'LTC', daemon: 'litecoind', zmq: false },
  { chain: 'bitcoin', asset: 'BTC', daemon: 'bitcoind', zmq: true },
] as const
type Measured = (typeof NODES)[number]

test.each(NODES)(
  'a payment on $chain is told soon after its broadcast, and soon after its block',
  async (each) => {
    const folder = await mkdtemp(join(tmpdir(), 'paylink-latency-'))
    const node = await startNode(each.chain, { zmq: each.zmq })
    const receiver = new Receiver()
    await receiver.start()
    const name = each.chain.toUpperCase()
    const paylink = await startPaylink(['all'], {
      PORT: String(await freePort()),
      DATA_DIR: folder,
      [`TEST_${name}_RPC_URL`]: node.rpcUrl,
      ...(node.zmqUrl === null ? {} : { [`TEST_${name}_ZMQ_URL`]: node.zmqUrl }),
      WEBHOOK_ALLOW_PRIVATE: '1',
    })
    try {
      await measure(each, node, receiver, paylink)
    } finally {
      await paylink.stop()
      receiver.stop()
      await node.remove()
      await rm(folder, { recursive: true, force: true })
    }
  },
)

async function measure(each: Measured, node: TestNode, receiver: Receiver, paylink: Paylink): Promise<void> {
  const { key } = await paylink.createKey()
  const call = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const answer = await fetch(`${paylink.baseUrl}/api/v1${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    const json = (await answer.json()) as Record<string, unknown>
    if (!answer.ok) throw new Error(`${path}: ${JSON.stringify(json)}`)
    return json
  }
  const url = `http://127.0.0.1:${receiver.port}/hook`
  const endpoint = await call('/webhook-endpoints', { url, subscribed_events: ['*'] })
  await call(`/webhook-endpoints/${String(endpoint.id)}/verify`, {})

  const detectedMs: number[] = []
  const paidMs: number[] = []
  for (let round = 0; round < PAYMENTS; round++) {
    const invoice = await call('/invoices', { usd_amount: '10.00', asset: each.asset })
    const id = String(invoice.id)
    await receiver.arrival('invoice.created', id)
    await node.pay(String(invoice.address), String(invoice.amount))
    const broadcastAt = performance.now()
    detectedMs.push((await receiver.arrival('invoice.payment_detected', id)) - broadcastAt)
    await node.mine(1)
    const minedAt = performance.now()
    paidMs.push((await receiver.arrival('invoice.paid', id)) - minedAt)
  }
  expect(paidMs).toHaveLength(PAYMENTS)
  const detail = (values: readonly number[]) =>
    `p95 ${percentile(values, 0.95).toFixed(0)} ms, ${spread(values)}`
  const told = each.zmq ? 'ZeroMQ' : 'polling'
  printFigure({
    name: `Broadcast on a ${each.daemon} → payment_detected webhook, p50, ${told}`,
    target: '≤150 ms',
    measured: `${median(detectedMs).toFixed(0)} ms`,
    detail: detail(detectedMs),
  })
  printFigure({
    name: `Block on a ${each.daemon} → paid webhook, p50, ${told}`,
    target: '≤250 ms',
    measured: `${median(paidMs).toFixed(0)} ms`,
    detail: detail(paidMs),
  })
}
