import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { explainInvoice } from '../../packages/mcp/src/explain-invoice.ts'
import type { TransferFact } from '../../src/core/invoice/types.ts'
import { expireInvoices } from '../../src/flows/expire-invoices.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { type HttpServer, startHttpServer } from '../../src/http/server.ts'
import type { Scope } from '../../src/wire/scopes.ts'
import { createTestApi, START, type TestApi, type TestMerchant } from '../support/api.ts'
import { freePort } from '../support/free-port.ts'
import { inBlock } from '../support/invoice.ts'
import { creditLitecoin } from '../support/payout-money.ts'
import { randomLitecoinAddress } from '../support/resources.ts'

/** The program as an assistant starts it, spoken to by the client of the protocol's own SDK, against a real server. */

const PROGRAM = new URL('../../packages/mcp/dist/main.js', import.meta.url).pathname
const LTC = 100_000_000n
const HOUR_MS = 3_600_000

let api: TestApi
let shop: TestMerchant
let server: HttpServer
let url: string
let client: Client
const clients: Client[] = []
beforeAll(async () => {
  api = await createTestApi()
  shop = await api.addMerchant()
  const port = await freePort()
  const parts = [{ name: 'api', owns: () => true, fetch: (request: Request) => api.app.fetch(request) }]
  server = await startHttpServer({ host: '127.0.0.1', port, parts, log: api.deps.log })
  url = `http://127.0.0.1:${port}`
  client = await connect(shop.testKey)
})
afterAll(async () => {
  for (const each of clients) await each.close()
  await server.stop(() => {})
  await api.drop()
})

async function connect(key: string): Promise<Client> {
  const opened = new Client({ name: 'test', version: '1' })
  const env = { PAYLINK_URL: url, PAYLINK_API_KEY: key }
  await opened.connect(new StdioClientTransport({ command: process.execPath, args: [PROGRAM], env }))
  clients.push(opened)
  return opened
}

type Result = { readonly isError?: boolean; readonly content: readonly { readonly text: string }[] }

async function told(name: string, args: object, by = client): Promise<string> {
  const { isError, content } = (await by.callTool({ name, arguments: { ...args } })) as Result
  expect(isError, content[0]?.text).not.toBe(true)
  return content[0]?.text ?? ''
}

// biome-ignore lint/suspicious/noExplicitAny: what a test reads of an answer, it compares.
const call = async (name: string, args: object, by = client): Promise<any> =>
  JSON.parse(await told(name, args, by))

async function refusal(name: string, args: object, by = client): Promise<string> {
  const { isError, content } = (await by.callTool({ name, arguments: { ...args } })) as Result
  expect(isError).toBe(true)
  return content[0]?.text ?? ''
}

const scoped = async (...scopes: Scope[]) => connect((await api.addKey(shop.id, false, scopes)).key)
const tenant = () => ({ merchantId: shop.id, livemode: false })
const ORDER = { usd_amount: '10.00', asset: 'LTC' }
const record = (invoiceId: string, ...facts: TransferFact[]) =>
  recordTransfers(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    { tenant: tenant(), invoiceId, facts, tipHeight: 130 },
  )

async function addDestination(): Promise<string> {
  const body = { asset: 'LTC', address: randomLitecoinAddress('regtest'), name: 'Treasury' }
  const added = await api.call('POST', '/payout-destinations', { key: shop.testKey, body })
  expect(added.status, added.text).toBe(201)
  return added.body.id
}

test('it names its tools, and says which of them read and which create', async () => {
  const { tools } = await client.listTools()
  const reads = tools.filter(({ annotations }) => annotations?.readOnlyHint === true).map(({ name }) => name)
  expect(reads.sort()).toEqual([
    'explain_invoice',
    'find_invoices',
    'find_payment_links',
    'find_payouts',
    'get_invoice',
    'list_balances',
    'list_payout_destinations',
  ])
  expect(tools.map(({ name }) => name).filter((name) => !reads.includes(name))).toEqual([
    'create_invoice',
    'create_payment_link',
    'draft_payout',
  ])
  expect(client.getInstructions()).toContain('a person approves')
})

test('an invoice is created once for each idempotency key, and found by its customer', async () => {
  const order = { ...ORDER, idempotency_key: 'order-1', customer_email: 'ada@example.com' }
  const created = await call('create_invoice', order)
  expect(created).toMatchObject({ status: 'awaiting_payment', usd_amount: '10.00', asset: 'LTC' })
  expect((await call('create_invoice', order)).id).toBe(created.id)
  expect(await refusal('create_invoice', { ...order, usd_amount: '11.00' })).toContain('idempotency')
  // The shop's own server names its orders too.
  const headers = { 'idempotency-key': 'order-1' }
  const own = await api.call('POST', '/invoices', { key: shop.testKey, body: ORDER, headers })
  expect([own.status, own.body.id === created.id]).toEqual([201, false])
  const found = await call('find_invoices', { q: 'ada@example.com' })
  expect(found.invoices.map(({ id }: { id: string }) => id)).toEqual([created.id])
  expect(found.invoices[0]).not.toHaveProperty('checkout_url')
  expect(await call('get_invoice', { invoice_id: created.id })).toMatchObject({
    id: created.id,
    payments: [],
  })
})

test('a payment link is created and found', async () => {
  const link = await call('create_payment_link', {
    name: 'Tea tasting',
    usd_amount: '25.00',
    idempotency_key: 'tea',
  })
  expect(link.url).toContain(link.slug)
  const { payment_links: found } = await call('find_payment_links', { q: 'tasting' })
  expect(found.map(({ id }: { id: string }) => id)).toEqual([link.id])
})

test('a link for tips has the limits and amounts that its buyers choose from', async () => {
  const buyerAmount = { currency: 'EUR', minimum: '2.00', maximum: '50.00', suggested: ['5.00', '10.00'] }
  const tips = { name: 'Tips', buyer_amount: buyerAmount, idempotency_key: 'tips' }
  expect(await refusal('create_payment_link', { ...tips, usd_amount: '5.00' })).toContain(
    'allow_dynamic_amount',
  )
  const link = await call('create_payment_link', { ...tips, allow_dynamic_amount: true })
  expect(link.buyer_amount).toEqual(buyerAmount)
})

test('it explains why an invoice is paid in part, and why another has expired', async () => {
  const [short, unpaid] = [
    await call('create_invoice', { amount: '1', asset: 'LTC', idempotency_key: 'short' }),
    await call('create_invoice', { amount: '1', asset: 'LTC', idempotency_key: 'unpaid' }),
  ]
  await record(short.id, inBlock('some', LTC / 4n, 30))
  const partly = await told('explain_invoice', { invoice_id: short.id })
  expect(partly).toContain('Due: 1 LTC. Seen: 0.25 LTC. Final: 0.25 LTC. Still to come: 0.75 LTC.')
  expect(partly).toMatch(/Payment of 0\.25 LTC, .*, transaction some: final\./)

  await expireInvoices(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    {
      network: 'litecoin-test',
      readAtMs: START.getTime() + 48 * HOUR_MS,
      tipHeight: 130,
      tipHash: 'hash',
      providers: ['node.example'],
    },
  )
  const expired = await told('explain_invoice', { invoice_id: unpaid.id })
  expect(expired).toContain('is expired. The deadline passed, and nothing had paid it.')
  expect(expired).toMatch(
    /litecoin-test was read up to block 130 at .*, after the deadline .*, by node\.example/,
  )
})

test('whether the buyer or a person is next depends on the deadline', async () => {
  const invoice = await call('create_invoice', { amount: '2', asset: 'LTC', idempotency_key: 'whose turn' })
  await record(invoice.id, inBlock('half', LTC, 0))
  const confirming = await call('get_invoice', { invoice_id: invoice.id })
  expect(confirming.status).toBe('confirming')
  const early = new Date(Date.parse(confirming.expires_at) - 1)
  expect(explainInvoice(confirming, confirming.payments, early)).toContain('can send the rest before')
  await record(invoice.id, inBlock('half', LTC, 30))
  const partly = await call('get_invoice', { invoice_id: invoice.id })
  expect(partly.status).toBe('partially_paid')
  const deadline = Date.parse(partly.expires_at)
  const at = (ms: number) => explainInvoice(partly, partly.payments, new Date(ms)).split('\n').at(-1)
  expect(at(deadline - 1)).toBe('Next: the buyer can send the rest before the deadline.')
  expect(at(deadline + 1)).toContain('a person accepts or dismisses what came')
  const unpaid = await call('create_invoice', { amount: '2', asset: 'LTC', idempotency_key: 'nobody' })
  const ofUnpaid = (ms: number) => explainInvoice(unpaid, [], new Date(ms))
  expect(ofUnpaid(deadline - 1)).toContain('pays on the page')
  expect(ofUnpaid(deadline + 1)).toContain('should send nothing more')
  // Whatever the status, money that waits for a person must not be paid a second time.
  const waiting = { ...unpaid, review_reason: 'wrong_asset' }
  for (const status of ['awaiting_payment', 'expired', 'paid'])
    expect(explainInvoice({ ...waiting, status }, [], new Date(deadline - 1))).toMatch(
      /Next: a person decides/,
    )
  const cancelled = { ...waiting, review_reason: 'cancelled', status: 'confirming' }
  expect(explainInvoice(cancelled, [], new Date(deadline - 1))).toContain('send nothing more')
  const accepted = { status: 'paid', status_reason: 'accepted' }
  expect(explainInvoice({ ...partly, ...accepted }, [], new Date())).toContain('A person accepted what came')
})

test('a payout is drafted once, set aside, and left to a person; no tool approves it or adds an address', async () => {
  await creditLitecoin(api.database.owner, tenant(), { units: LTC, now: api.time.now })
  const destination = await addDestination()
  const known = await call('list_payout_destinations', {})
  expect(known.payout_destinations.map(({ id }: { id: string }) => id)).toEqual([destination])
  const draft = { destination_id: destination, amount: '0.5', idempotency_key: 'rent' }
  const drafted = await call('draft_payout', draft)
  expect(drafted).toMatchObject({ status: 'requested', approved_by: null, txid: null, amount: '0.5' })
  expect((await call('draft_payout', draft)).id).toBe(drafted.id)
  const { payouts } = await call('find_payouts', { status: 'requested' })
  expect(payouts.map(({ id }: { id: string }) => id)).toEqual([drafted.id])
  const { balances } = await call('list_balances', {})
  expect(balances.find(({ asset }: { asset: string }) => asset === 'LTC').reserved).toBe('0.5')
  const { tools } = await client.listTools()
  expect(tools.filter(({ name }) => /approve|destination/.test(name)).map(({ name }) => name)).toEqual([
    'list_payout_destinations',
  ])
})

test('a list goes on after the last one of the page before', async () => {
  for (const name of ['first', 'second'])
    await call('create_payment_link', { name, usd_amount: '5.00', idempotency_key: `page ${name}` })
  const one = await call('find_payment_links', { limit: 1 })
  expect(one.has_more).toBe(true)
  const two = await call('find_payment_links', { limit: 1, starting_after: one.payment_links[0].id })
  expect(two.payment_links).toHaveLength(1)
  expect(two.payment_links[0].id).not.toBe(one.payment_links[0].id)
})

test('what the key may not do is refused by the server, in words that name the scope', async () => {
  const reader = await scoped('invoices:read')
  await call('find_invoices', {}, reader)
  expect(await refusal('create_invoice', { ...ORDER, idempotency_key: 'not mine' }, reader)).toContain(
    'invoices:write',
  )
  expect(await refusal('list_balances', {}, reader)).toContain('balances:read')
  expect(
    await refusal('draft_payout', { destination_id: 'dst_1', amount: '1', idempotency_key: 'x' }, reader),
  ).toContain('payouts:write')
})

test('what is wrong with a request is said, and creates nothing', async () => {
  expect(await refusal('create_invoice', { usd_amount: '0.01', idempotency_key: 'tiny' })).toContain('amount')
  expect(await refusal('create_invoice', ORDER)).toContain('idempotency_key')
  expect(await refusal('get_invoice', { invoice_id: '../payouts' })).toContain('must be one of Paylink')
  expect(await refusal('find_invoices', { limit: 1_000 })).toContain('25')
  expect(await refusal('find_invoices', { asset: 'LTC' })).toContain('asset')
  expect(await refusal('list_balances', { asset: 'LTC' })).toContain('asset')
})

test('without a key it ends with one line that names what to set', async () => {
  const run = promisify(execFile)(process.execPath, [PROGRAM], { env: {} })
  await expect(run).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^paylink-mcp: set PAYLINK_URL and PAYLINK_API_KEY: .*\n$/),
  })
})
