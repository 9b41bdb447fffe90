import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freePort } from '../test/support/free-port.ts'
import { startNode, type TestNode } from '../test/support/litecoind.ts'
import { EventReceiver } from './support/event-receiver.ts'
import { median, percentile, printFigure, spread } from './support/figure.ts'
import { type Paylink, startPaylink } from './support/paylink.ts'

const PAYMENTS = 40

const NODES = [
  { chain: 'litecoin', asset: 'LTC', daemon: 'litecoind', zmq: false },
  { chain: 'bitcoin', asset: 'BTC', daemon: 'bitcoind', zmq: true },
] as const
type Measured = (typeof NODES)[number]

test.each(NODES)(
  'a payment on $chain is reported soon after its broadcast, and soon after its block',
  async (each) => {
    const folder = await mkdtemp(join(tmpdir(), 'paylink-latency-'))
    const node = await startNode(each.chain, { zmq: each.zmq })
    const receiver = new EventReceiver()
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

async function measure(
  each: Measured,
  node: TestNode,
  receiver: EventReceiver,
  paylink: Paylink,
): Promise<void> {
  const call = await receiver.subscribe(paylink)
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
  const source = each.zmq ? 'ZeroMQ' : 'polling'
  printFigure({
    name: `Broadcast on a ${each.daemon} → payment_detected webhook, p50, ${source}`,
    target: each.zmq ? '≤20 ms' : '≤100 ms',
    measured: `${median(detectedMs).toFixed(0)} ms`,
    detail: detail(detectedMs),
  })
  printFigure({
    name: `Block on a ${each.daemon} → paid webhook, p50, ${source}`,
    target: '≤250 ms',
    measured: `${median(paidMs).toFixed(0)} ms`,
    detail: detail(paidMs),
  })
}
