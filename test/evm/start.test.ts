import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPaymentFromConfig } from '@x402/fetch'
import { createWalletClient, defineChain, http, parseEther, parseUnits } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { type App, makePlace, startApp } from '../support/app.ts'
import { tokenCode } from '../support/evm-payout-world.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { newPayer } from '../support/x402-payer.ts'

const TOLD_MS_MAX = 120_000
/** The first account that every anvil funds: public, and worth nothing anywhere. */
const BUYER = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
const TRANSFER_ABI = [
  {
    type: 'function',
    name: 'transfer',
    stateMutability: 'nonpayable',
    inputs: [
      { name: 'to', type: 'address' },
      { name: 'value', type: 'uint256' },
    ],
    outputs: [{ type: 'bool' }],
  },
] as const

let place: Awaited<ReturnType<typeof makePlace>>
let ethereum: Anvil
let base: Anvil
/** Address of a token like USDC, of which the buyer holds plenty. */
let token: string
let receiver: WebhookReceiver
let app: App
beforeAll(async () => {
  place = await makePlace()
  ethereum = await startAnvil({ chainId: 31_337 })
  base = await startAnvil({ chainId: 31_338 })
  token = await base.deploy(tokenCode(BUYER.address))
  await ethereum.mine(1)
  receiver = await startReceiver({
    respond: ({ body }, response) => {
      const { data } = JSON.parse(body.toString('utf8')) as { data: { challenge?: string } }
      const answer = data.challenge === undefined ? '' : JSON.stringify({ challenge: data.challenge })
      response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
    },
  })
  app = await startOn(await freePort())
  const endpoint = { url: receiver.url, subscribed_events: ['*'] }
  const { status, body } = await app.api('POST', '/api/v1/webhook-endpoints', endpoint)
  expect(status).toBe(201)
  const { id } = body as { id: string }
  expect((await app.api('POST', `/api/v1/webhook-endpoints/${id}/verify`)).status).toBe(200)
})
afterAll(async () => {
  await app.stop()
  await receiver.close()
  await ethereum.remove()
  await base.remove()
  await place.remove()
})

const startOn = (port: number): Promise<App> =>
  startApp({
    ...place,
    port,
    env: {
      TEST_ETHEREUM_RPC_URL: ethereum.url,
      TEST_BASE_RPC_URL: base.url,
      TEST_BASE_USDC_ADDRESS: token,
      X402: '1',
      WEBHOOK_ALLOW_PRIVATE: '1',
    },
  })

type Invoice = {
  id: string
  status: string
  amount: string
  address: `0x${string}`
  checkout_url: string
  payment_uri: string
  payments: { txid: string; asset: string; amount: string; status: string }[]
}

const wallet = (anvil: Anvil, id: number) => {
  const chain = defineChain({
    id,
    name: 'a chain of our own',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [anvil.url] } },
  })
  return createWalletClient({ account: BUYER, chain, transport: http(anvil.url) })
}

/** The types of the events about an invoice that came to the merchant's endpoint. */
const toldOf = (id: string): string[] =>
  receiver.events.flatMap(({ body }) => {
    const event = JSON.parse(body.toString('utf8')) as { event_type: string; resource_id: string }
    return event.resource_id === id ? [event.event_type] : []
  })

const PAYERS: { [asset: string]: (invoice: Invoice) => Promise<string> } = {
  ETH: ({ address, amount }) =>
    wallet(ethereum, 31_337).sendTransaction({ to: address, value: parseEther(amount) }),
  ETH_BASE: ({ address, amount }) =>
    wallet(base, 31_338).sendTransaction({ to: address, value: parseEther(amount) }),
  USDC_BASE: ({ address, amount }) =>
    wallet(base, 31_338).writeContract({
      address: token as `0x${string}`,
      abi: TRANSFER_ABI,
      functionName: 'transfer',
      args: [address, parseUnits(amount, 6)],
    }),
}

async function untilAvailable(asset: string): Promise<void> {
  await until(
    async () => {
      const { body } = await app.api('GET', '/api/v1/assets')
      const { data } = body as { data: { asset: string; available: boolean; network_status: string }[] }
      return data.some((each) => each.asset === asset && each.available && each.network_status === 'ok')
    },
    { timeoutMs: TOLD_MS_MAX },
  )
}

async function untilPaid(id: string): Promise<Invoice> {
  let invoice: Invoice | null = null
  await until(
    async () => {
      invoice = (await app.api('GET', `/api/v1/invoices/${id}`)).body as Invoice
      return invoice.status === 'paid'
    },
    { timeoutMs: TOLD_MS_MAX },
  )
  if (invoice === null) throw new Error('there is no such invoice')
  return invoice
}

test.each(Object.keys(PAYERS))(
  'an invoice in %s that a stock wallet library pays becomes paid, and the merchant gets the webhook',
  async (asset) => {
    const order = { usd_amount: '10.00', asset }
    await untilAvailable(asset)
    const created = await app.api('POST', '/api/v1/invoices', order)
    expect(created.status).toBe(201)
    const invoice = created.body as Invoice
    const txid = await PAYERS[asset]?.(invoice)
    for (const anvil of [ethereum, base]) await anvil.mine(4)
    const paid = await untilPaid(invoice.id)
    expect(paid.payments).toMatchObject([{ txid, asset, status: 'confirmed' }])
    const types = ['invoice.created', 'invoice.payment_detected', 'invoice.confirming', 'invoice.paid']
    await until(() => new Set(toldOf(invoice.id)).size >= types.length, { timeoutMs: TOLD_MS_MAX })
    expect(new Set(toldOf(invoice.id))).toEqual(new Set(types))
  },
  120_000,
)

test('an x402 client without ether pays an invoice: the hot wallet carries it, the chain makes it paid', async () => {
  await untilAvailable('USDC_BASE')
  const { body } = await app.api('POST', '/api/v1/invoices', { usd_amount: '10.00', asset: 'USDC_BASE' })
  const invoice = body as Invoice
  const url = `${invoice.checkout_url.replace('//localhost', '//127.0.0.1')}/x402`
  // The hot wallet has no ether yet, and nothing is offered that could not be kept.
  expect((await fetch(url)).status).toBe(503)
  const said = /base-test: the hot wallet (0x\w{40}) has 0 ETH for gas/
  const to = said.exec((await app.command('doctor')).stdout)?.[1]
  if (to === undefined) throw new Error('the doctor knows no hot wallet')
  await base.send({ to, value: parseEther('1') })
  await base.mine(1)
  // While nothing happens it is read once a minute, and at the start.
  await app.stop()
  app = await startOn(Number(new URL(app.baseUrl).port))
  const payer = newPayer()
  const client = wallet(base, 31_338)
  const args = [payer.address, parseUnits('10', 6)] as const
  const address = token as `0x${string}`
  await client.writeContract({ address, abi: TRANSFER_ABI, functionName: 'transfer', args })
  await base.mine(1)
  await until(async () => (await fetch(url)).status === 402, { timeoutMs: TOLD_MS_MAX })
  const pay = wrapFetchWithPaymentFromConfig(fetch, {
    schemes: [{ network: 'eip155:31338', client: new ExactEvmScheme(payer) }],
    spendControls: { allowedAssets: true },
  })
  let response: Response | null = null
  const answered = pay(url).then((answer) => {
    response = answer
  })
  await until(
    async () => {
      await base.mine(1)
      return response !== null
    },
    { timeoutMs: TOLD_MS_MAX },
  )
  await answered
  const settled = await (response as Response | null)?.json()
  expect(settled).toMatchObject({ status: 'settled', invoice_id: invoice.id, payer: payer.address })
  await base.mine(4)
  const paid = await untilPaid(invoice.id)
  expect(paid.payments).toMatchObject([
    { txid: settled.transaction, asset: 'USDC_BASE', amount: '10', status: 'confirmed' },
  ])
  expect(await (await fetch(url)).json()).toMatchObject({ id: invoice.id, status: 'paid' })
}, 240_000)

test('the doctor says of both nodes what they are, whether they trace, and how far they are final', async () => {
  const { stdout } = await app.command('doctor')
  for (const network of ['ethereum-test', 'base-test']) {
    expect(stdout).toMatch(new RegExp(`✓ ${network}: the node at .* is anvil/.*, chain id 3133[78]`))
    expect(stdout).toMatch(new RegExp(`✓ ${network}: the node at .*: safe \\d+, finalized \\d+ of \\d+`))
  }
})
