// @module-tag litecoind
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, makePlace, startApp } from '../support/app.ts'
import { type EsploraServer, startEsploraServer } from '../support/esplora-server.ts'
import { startNode, type TestNode } from '../support/litecoind.ts'
import { until } from '../support/until.ts'

const TOLD_MS_MAX = 120_000

let place: Awaited<ReturnType<typeof makePlace>>
let node: TestNode
let server: EsploraServer
let app: App
beforeAll(async () => {
  place = await makePlace()
  node = await startNode('litecoin')
  server = await startEsploraServer(node)
  // Two providers: an Esplora server is followed, and a node confirms what it says.
  app = await startApp({ ...place, env: { TEST_LITECOIN_RPC_URL: `${server.url},${node.rpcUrl}` } })
})
afterAll(async () => {
  await app.stop()
  await server.stop()
  await node.remove()
  await place.remove()
})

type Invoice = { id: string; status: string; amount: string; address: string }

const create = async () => {
  const order = { usd_amount: '10.00', asset: 'LTC' }
  const { status, body } = await app.api('POST', '/api/v1/invoices', order)
  expect(status).toBe(201)
  return body as Invoice
}
const untilStatus = ({ id }: Invoice, wanted: string) =>
  until(
    async () => {
      const { body } = await app.api('GET', `/api/v1/invoices/${id}`)
      return (body as Invoice).status === wanted
    },
    { timeoutMs: TOLD_MS_MAX },
  )
const network = async () => {
  const response = await fetch(`${app.baseUrl}/readyz`)
  const { networks } = (await response.json()) as {
    networks: { [name: string]: { status: string; reason: string } }
  }
  return networks['litecoin-test']
}

test('without a node, an invoice is paid from an Esplora server, confirmed by another provider', async () => {
  const invoice = await create()
  await node.pay(invoice.address, invoice.amount)
  await untilStatus(invoice, 'payment_detected')
  await node.mine(1)
  await untilStatus(invoice, 'paid')
  // Of all that waits in the mempool, only what concerns open checkouts was asked for.
  expect(server.calls.filter((path) => path.startsWith('/mempool'))).toEqual([])
})

test('waiting for the second provider shows in readiness, the figures and the doctor, and ends by itself', async () => {
  const invoice = await create()
  await node.pay(invoice.address, invoice.amount)
  await untilStatus(invoice, 'payment_detected')
  await server.stop()
  const doctorSays = (words: RegExp) =>
    until(async () => words.test((await app.command('doctor')).stdout), { timeoutMs: TOLD_MS_MAX })
  await doctorSays(/is followed in place of Esplora/)
  await node.mine(1)
  await doctorSays(/payments in 1 block wait/)
  expect(await network()).toMatchObject({ status: 'ok', reason: expect.stringMatching(/may have to wait/) })
  const figures = await (await fetch(`${app.operatorUrl}/metrics`)).text()
  expect(figures).toContain('paylink_network_impaired{name="litecoin-test"} 1')
  const doctor = await app.command('doctor')
  expect(doctor.code).toBe(1)
  expect(doctor.stdout).toMatch(/✗ litecoin-test: the Esplora server at .* refuses the connection/)
  expect(doctor.stdout).toMatch(
    /✗ litecoin-test: read to block \d+ of \d+; .* payments in 1 block wait for another provider/,
  )
  await server.start()
  await untilStatus(invoice, 'paid')
})

test('the audit reads the chain from an Esplora server too', async () => {
  const { code, stdout } = await app.command('audit', '--json')
  const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string }[] }
  expect(checks.filter(({ status }) => status !== 'ok')).toEqual([])
  expect(code).toBe(0)
})

test('the blocks are read again from an Esplora server too', async () => {
  const { code, stdout } = await app.command('rescan', '--network', 'litecoin-test', '--from', '1', '--json')
  expect(JSON.parse(stdout)).toMatchObject({ transfers: 2, recorded: 0 })
  expect(code).toBe(0)
})
