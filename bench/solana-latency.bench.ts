import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { address } from '@solana/kit'
import { expect, test } from 'vitest'
import { freePort } from '../test/support/free-port.ts'
import { SolanaPayer } from '../test/support/solana-payer.ts'
import { until } from '../test/support/until.ts'
import { EventReceiver } from './support/event-receiver.ts'
import { median, percentile, printFigure, spread } from './support/figure.ts'
import { startPaylink } from './support/paylink.ts'

const PAYMENTS = 30
const LAMPORTS_PER_SOL = 9
const ADDRESSES_MS_MAX = 30_000

test('a payment in SOL is reported soon after its signed transaction was sent', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'paylink-latency-'))
  const receiver = new EventReceiver()
  await receiver.start()
  const paylink = await startPaylink(['all'], {
    PORT: String(await freePort()),
    DATA_DIR: folder,
    WEBHOOK_ALLOW_PRIVATE: '1',
  })
  try {
    const call = await receiver.subscribe(paylink)
    const rpc = JSON.parse(await readFile(join(folder, 'sandbox', 'solana', 'rpc.json'), 'utf8'))
    const payer = await SolanaPayer.fund(`http://sandbox:${rpc.password}@127.0.0.1:${rpc.port}`)
    const order = { usd_amount: '10.00', asset: 'SOL' }
    // The signer issues its addresses a moment after the start.
    const canSell = () =>
      call('/invoices', order).then(
        () => true,
        () => false,
      )
    await until(canSell, { what: 'SOL can be sold', timeoutMs: ADDRESSES_MS_MAX })
    const detectedMs: number[] = []
    const paidMs: number[] = []
    for (let round = 0; round < PAYMENTS; round++) {
      const invoice = await call('/invoices', order)
      const id = String(invoice.id)
      await receiver.arrival('invoice.created', id)
      await payer.pay(address(String(invoice.address)), lamportsOf(String(invoice.amount)))
      const sentAt = performance.now()
      detectedMs.push((await receiver.arrival('invoice.payment_detected', id)) - sentAt)
      paidMs.push((await receiver.arrival('invoice.paid', id)) - sentAt)
    }
    expect(paidMs).toHaveLength(PAYMENTS)
    const detail = (values: readonly number[]) =>
      `p95 ${percentile(values, 0.95).toFixed(0)} ms, ${spread(values)}`
    printFigure({
      name: 'Signed transaction sent to the Solana sandbox → payment_detected webhook, p50',
      target: '≤300 ms',
      measured: `${median(detectedMs).toFixed(0)} ms`,
      detail: `${detail(detectedMs)}; slots of 100 ms, confirmed one block later`,
    })
    printFigure({
      name: 'Signed transaction sent to the Solana sandbox → paid webhook, p50',
      target: 'known',
      measured: `${median(paidMs).toFixed(0)} ms`,
      detail: `${detail(paidMs)}; finalized twelve blocks later`,
    })
  } finally {
    await paylink.stop()
    receiver.stop()
    await rm(folder, { recursive: true, force: true })
  }
})

function lamportsOf(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.split('.')
  return BigInt(whole + fraction.padEnd(LAMPORTS_PER_SOL, '0'))
}
