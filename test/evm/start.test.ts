import { createWalletClient, defineChain, http, parseEther, parseUnits } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { type App, makeDataDir, startApp, until } from '../support/app.ts'
import { deployTestToken, type TestToken } from '../support/evm-contracts.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

const TOLD_MS_MAX = 60_000
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

let place: Awaited<ReturnType<typeof makeDataDir>>
let ethereum: Anvil
let base: Anvil
let token: TestToken
let receiver: WebhookReceiver
let app: App
beforeAll(async () => {
  place = await makeDataDir()
  ethereum = await startAnvil({ chainId: 31_337 })
  base = await startAnvil({ chainId: 31_338 })
  token = await deployTestToken(base)
  await base.send(token.mint(BUYER.address, parseUnits('1000', 6)))
  await base.mine(1)
  await ethereum.mine(1)
  receiver = await startReceiver({
    respond: ({ body }, response) => {
      const { data } = JSON.parse(body.toString('utf8')) as { data: { challenge?: string } }
      const answer = data.challenge === undefined ? '' : JSON.stringify({ challenge: data.challenge })
      response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
    },
  })
  app = await startApp({
    ...place,
    env: {
      TEST_ETHEREUM_RPC_URL: ethereum.url,
      TEST_BASE_RPC_URL: base.url,
      TEST_BASE_USDC_ADDRESS: token.contract,
      WEBHOOK_ALLOW_PRIVATE: '1',
    },
  })
  const endpoint = { url: receiver.url, subscribed_events: ['*'] }
  const { status, body } = await app.api('POST', '/api/v1/webhook-endpoints', endpoint)
  expect(status).toBe(201)
  const { id } = body as { id: string }
  expect((await app.api('POST', `/api/v1/webhook-endpoints/${id}/verify`)).status).toBe(200)
}, 120_000)
afterAll(async () => {
  await app.stop()
  await receiver.close()
  await ethereum.remove()
  await base.remove()
  await place.remove()
})

type Invoice = {
  id: string
  status: string
  amount: string
  address: `0x${string}`
  payment_uri: string
  payments: { txid: string; asset: string; status: string }[]
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
      address: token.contract as `0x${string}`,
      abi: TRANSFER_ABI,
      functionName: 'transfer',
      args: [address, parseUnits(amount, 6)],
    }),
}

test.each(Object.keys(PAYERS))(
  'an invoice in %s that a stock wallet library pays is paid, and the merchant is told over HTTP',
  async (asset) => {
    const order = { usd_amount: '10.00', asset }
    await until(TOLD_MS_MAX, async () => {
      const { body } = await app.api('GET', '/api/v1/assets')
      const { data } = body as { data: { asset: string; available: boolean; network_status: string }[] }
      return data.some((each) => each.asset === asset && each.available && each.network_status === 'ok')
    })
    const created = await app.api('POST', '/api/v1/invoices', order)
    expect(created.status).toBe(201)
    const invoice = created.body as Invoice
    const txid = await PAYERS[asset]?.(invoice)
    for (const anvil of [ethereum, base]) await anvil.mine(4)
    let paid: Invoice = invoice
    await until(TOLD_MS_MAX, async () => {
      paid = (await app.api('GET', `/api/v1/invoices/${invoice.id}`)).body as Invoice
      return paid.status === 'paid'
    })
    expect(paid.payments).toMatchObject([{ txid, asset, status: 'confirmed' }])
    await until(TOLD_MS_MAX, () => toldOf(invoice.id).includes('invoice.paid'))
    expect(new Set(toldOf(invoice.id))).toEqual(
      new Set(['invoice.created', 'invoice.payment_detected', 'invoice.confirming', 'invoice.paid']),
    )
  },
  120_000,
)

test('the doctor says of both nodes what they are, whether they trace, and how far they are final', async () => {
  const { stdout } = await app.command('doctor')
  for (const network of ['ethereum-test', 'base-test']) {
    expect(stdout).toMatch(new RegExp(`✓ ${network}: the node at .* is anvil/.*, chain id 3133[78]`))
    expect(stdout).toMatch(new RegExp(`✓ ${network}: the node at .*: safe \\d+, finalized \\d+ of \\d+`))
  }
})
