import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, makeDataDir, startApp } from '../support/app.ts'
import { type Body, invoicesOf } from '../support/app-invoices.ts'

let app: App
beforeAll(async () => {
  app = await startApp(await makeDataDir())
}, 90_000)
afterAll(async () => {
  await app.stop()
})

const { create: invoiceIn, eventsOf, untilStatus, pay } = invoicesOf(() => app)

test('an invoice that names no coin is in USDC on Base, and its link names the sandbox', async () => {
  const made = await app.api('POST', '/api/v1/invoices', { usd_amount: '25.00' })
  expect(made.body).toMatchObject({ asset: 'USDC_BASE', amount: '25' })
  const { address, payment_uri } = made.body as Body
  expect(payment_uri).toBe(
    `ethereum:0x5FbDB2315678afecb367f032d93F642f64180aa3@31338/transfer?address=${address}&uint256=25000000`,
  )
})

for (const asset of ['ETH', 'ETH_BASE', 'USDC_BASE']) {
  test(`${asset}: a test payment is paid, told step by step, and partial ones come together`, async () => {
    const exact = await invoiceIn(asset)
    expect((await pay(exact.id, 'exact')).status).toBe(200)
    const parts = await invoiceIn(asset)
    expect((await pay(parts.id, 'two_parts')).status).toBe(200)
    await untilStatus(exact.id, 'paid')
    expect(await eventsOf(exact.id)).toEqual([
      'invoice.created',
      'invoice.payment_detected',
      'invoice.confirming',
      'invoice.paid',
    ])
    await untilStatus(parts.id, 'paid')
    expect(await eventsOf(parts.id)).toContain('invoice.partially_paid')
  }, 60_000)
}

test('a replaced payment leaves the invoice open, and a reorganisation takes a paid one back until it returns', async () => {
  const replaced = await invoiceIn('ETH')
  await pay(replaced.id, 'double_spend')
  await untilStatus(replaced.id, 'confirming')
  const open = await untilStatus(replaced.id, 'awaiting_payment')
  expect(open.payments).toMatchObject([{ status: 'reorged' }])
  const reorganised = await invoiceIn('USDC_BASE')
  await pay(reorganised.id, 'reorg')
  await untilStatus(reorganised.id, 'paid')
  expect(await untilStatus(reorganised.id, 'manual_review')).toMatchObject({ status_reason: 'reorged' })
  await untilStatus(reorganised.id, 'paid')
  expect((await eventsOf(reorganised.id)).filter((type) => type === 'invoice.paid')).toHaveLength(1)
}, 90_000)

test('what the README says pays an invoice by plain JSON-RPC', async () => {
  const invoice = await invoiceIn('ETH')
  const { port, password } = JSON.parse(
    await readFile(join(app.dataDir, 'sandbox', 'ethereum', 'rpc.json'), 'utf8'),
  )
  const wei = BigInt(Math.round(Number(invoice.amount) * 1e9)) * 10n ** 9n
  const answer = await fetch(`http://127.0.0.1:${port}`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`sandbox:${password}`).toString('base64')}` },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_sendTransaction',
      params: [
        {
          from: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
          to: invoice.address,
          value: `0x${wei.toString(16)}`,
        },
      ],
    }),
  })
  expect(await answer.json()).toMatchObject({ result: expect.stringMatching(/^0x[0-9a-f]{64}$/) })
  await untilStatus(invoice.id, 'paid')
}, 60_000)
