import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { verifyReceiptCommand } from '../../src/cli/verify-receipt.ts'
import { canonicalJson } from '../../src/core/canonical-json.ts'
import { STAGING_NOTICE } from '../../src/core/staging.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { createReceiptPart, RECEIPT_KEYS_PATH } from '../../src/http/public/receipts.ts'
import type { HttpPart } from '../../src/http/server.ts'
import { openKeyring } from '../../src/secrets/keyring.ts'
import { judgeReceipt, openReceiptKey, readPublicKeys } from '../../src/secrets/receipt-key.ts'
import { BASE_URL, createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { inBlock, inMempool } from '../support/invoice.ts'

type Json = { [field: string]: unknown }

let api: TestApi
let merchant: TestMerchant
let part: HttpPart
let folder: string
beforeAll(async () => {
  api = await createTestApi()
  merchant = await api.addMerchant()
  part = createReceiptPart(api.deps)
  folder = await mkdtemp(join(tmpdir(), 'receipts-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true })
  await api.drop()
})

const get = async (path: string, method = 'GET') => {
  const response = await part.fetch(new Request(`https://pay.example.com${path}`, { method }))
  return { status: response.status, headers: response.headers, text: await response.text() }
}
async function makeInvoice(fields: Json = {}) {
  const answer = await api.call('POST', '/invoices', {
    key: merchant.testKey,
    body: {
      usd_amount: '84.37',
      asset: 'LTC',
      customer_email: 'buyer@example.com',
      metadata: { secret: 'cart 9' },
      ...fields,
    },
  })
  return { id: String(answer.body.id), path: `${new URL(answer.body.checkout_url).pathname}/receipt.json` }
}
const pay = (invoiceId: string, facts: Parameters<typeof recordTransfers>[1]['facts']) =>
  recordTransfers(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    { tenant: { merchantId: merchant.id, livemode: false }, invoiceId, facts, tipHeight: 100 },
  )
const seen = () => ({ firstSeenMs: api.time.now.getTime() })
async function paidReceipt() {
  const { id, path } = await makeInvoice()
  const [first, second] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')]
  await pay(id, [inBlock(first, 60_000_000n, 9, seen()), inBlock(second, 40_000_000n, 9, seen())])
  const { text } = await get(path)
  return { id, path, text, document: JSON.parse(text) as { receipt: Json; signature: Json }, first, second }
}
const ownKeys = async () => {
  const keys = readPublicKeys(JSON.parse((await get(RECEIPT_KEYS_PATH)).text))
  if (keys === null) throw new Error('the published keys cannot be read')
  return keys
}

test('the receipt of a paid invoice says what was paid, in which blocks, and at what price', async () => {
  const { id, path, document, first, second } = await paidReceipt()
  expect(document.receipt).toMatchObject({
    format: 'paylink-receipt/1',
    issuer: BASE_URL,
    merchant: { id: merchant.id, name: 'Shop' },
    livemode: false,
    invoice_id: id,
    status: 'paid',
    usd_amount: '84.37',
    asset: 'LTC',
    amount: '1',
    amount_paid: '1',
    rate: { usd_per_unit: '84.37', sources: [{ name: 'test', usd_per_unit: '84.37' }] },
    paid_at: api.time.now.toISOString(),
  })
  const payments = document.receipt.payments as Json[]
  expect(payments.map((payment) => payment.txid).sort()).toEqual([first, second].sort())
  expect(payments[0]).toMatchObject({ network: 'litecoin-test', output_index: 0, block: { height: 100 } })
  expect(JSON.stringify(document)).not.toMatch(/buyer@example|cart 9/)
  expect((await get(path)).text).toBe((await get(path)).text)
  expect(Object.keys(document.receipt)).not.toContain('price')
})

test('the receipt of a price in the shop’s own currency has it with its rate, signed as the rest', async () => {
  const price = { amount: '76.70', currency: 'EUR' }
  const { id, path } = await makeInvoice({ price, usd_amount: undefined })
  await pay(id, [inBlock(randomBytes(32).toString('hex'), 100_000_000n, 9, seen())])
  const { text } = await get(path)
  const document = JSON.parse(text) as { receipt: Json; signature: Json }
  expect(document.receipt).toMatchObject({
    format: 'paylink-receipt/1',
    usd_amount: '84.37',
    price,
    price_rate: { usd_per_unit: '1.1', sources: [{ name: 'sandbox', usd_per_unit: '1.1' }] },
  })
  const keys = await ownKeys()
  expect(judgeReceipt(document, keys).kind).toBe('genuine')
  const inYen = { ...document, receipt: { ...document.receipt, price: { ...price, currency: 'JPY' } } }
  expect(judgeReceipt(inYen, keys)).toEqual({ kind: 'changed' })
  const [file, keyFile] = [join(folder, 'euros.json'), join(folder, 'euros-keys.json')]
  await writeFile(file, text)
  await writeFile(keyFile, (await get(RECEIPT_KEYS_PATH)).text)
  const lines: string[] = []
  const output = { line: (line: string) => lines.push(line), problem: (line: string) => lines.push(line) }
  expect(await verifyReceiptCommand(file, { key: keyFile, json: false }, output)).toBe(0)
  expect(lines).toContain('  price: 76.70 EUR')
})

test('a receipt is genuine by the published key, and by that one alone', async () => {
  const { document } = await paidReceipt()
  const keys = await ownKeys()
  expect(judgeReceipt(document, keys).kind).toBe('genuine')
  const other = openReceiptKey(openKeyring(Buffer.alloc(32, 8)))
  expect(judgeReceipt(document, [other.publicKey])).toMatchObject({ kind: 'unknown_key' })
  // Signed anew by somebody else, who claims our key id.
  const forged = other.sign(document.receipt)
  const claimed = { ...forged, signature: { ...forged.signature, key_id: keys[0]?.kid } }
  expect(judgeReceipt(claimed, keys)).toEqual({ kind: 'changed' })
  const underOurId = { keys: [{ ...other.publicKey, kid: keys[0]?.kid }] }
  expect(readPublicKeys(underOurId)).toBeNull()
})

/** Every document that differs from `value` in one place: a value changed, a field added, taken away or renamed. */
function changesOf(value: unknown): unknown[] {
  if (Array.isArray(value)) {
    const inside = value.flatMap((item, index) =>
      changesOf(item).map((changed) => value.with(index, changed)),
    )
    return [...inside, [...value, null], value.slice(1), ...(value.length > 1 ? [value.toReversed()] : [])]
  }
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value)
    return [
      { ...value, added: 1 },
      ...fields.flatMap(([name, field]) => {
        const rest = Object.fromEntries(fields.filter(([other]) => other !== name))
        return [
          rest,
          { ...rest, [`${name}_`]: field },
          ...changesOf(field).map((one) => ({ ...value, [name]: one })),
        ]
      }),
    ]
  }
  if (typeof value === 'string') return [`${value} `, value.slice(1), `${value}0`, null, [value]]
  if (typeof value === 'number') return [value + 1, -value - 1, String(value), value + 0.5, null]
  if (typeof value === 'boolean') return [!value, String(value), null]
  return [0, '', false, {}]
}

test('a receipt that was changed in any one place is not genuine', async () => {
  const { document } = await paidReceipt()
  const keys = await ownKeys()
  const changed = changesOf(document)
  expect(changed.length).toBeGreaterThan(200)
  for (const one of changed) expect(judgeReceipt(one, keys).kind, JSON.stringify(one)).not.toBe('genuine')
  const { value } = document.signature as { value: string }
  for (let index = 0; index < value.length; index++) {
    const other = value[index] === 'A' ? 'B' : 'A'
    const broken = `${value.slice(0, index)}${other}${value.slice(index + 1)}`
    const one = { ...document, signature: { ...document.signature, value: broken } }
    expect(judgeReceipt(one, keys).kind).not.toBe('genuine')
  }
})

test('white space and the order of names change nothing: the canonical form is what is signed', async () => {
  const { document } = await paidReceipt()
  const reordered = JSON.parse(canonicalJson(document))
  expect(judgeReceipt(reordered, await ownKeys()).kind).toBe('genuine')
})

test('what is not paid, and a token that opens nothing, are one and the same answer', async () => {
  const open = await makeInvoice()
  const seenOnly = await makeInvoice()
  await pay(seenOnly.id, [inMempool(randomBytes(32).toString('hex'), 100_000_000n, seen())])
  const reorged = await makeInvoice()
  const txid = randomBytes(32).toString('hex')
  await pay(reorged.id, [inBlock(txid, 100_000_000n, 9, seen())])
  expect((await get(reorged.path)).status).toBe(200)
  await pay(reorged.id, [{ ...inBlock(txid, 100_000_000n, 9, seen()), state: 'reorged' }])
  const changed = open.path.replace(/(.)\/receipt/, (_, last) => `${last === 'A' ? 'B' : 'A'}/receipt`)
  for (const path of [
    open.path,
    seenOnly.path,
    reorged.path,
    changed,
    '/i/x/receipt.json',
    '/i/%00/receipt.json',
  ])
    expect(await get(path)).toMatchObject({ status: 404, text: '{"error":"not_found"}\n' })
  expect((await get(open.path, 'POST')).status).toBe(405)
})

test('the part owns its two paths and no other', () => {
  for (const path of [RECEIPT_KEYS_PATH, '/i/abc/receipt.json']) expect(part.owns(path)).toBe(true)
  for (const path of [
    '/i/abc',
    '/i/abc/receipt',
    '/i/a/b/receipt.json',
    '/l/pl_1/receipt.json',
    '/.well-known/x',
  ])
    expect(part.owns(path)).toBe(false)
})

/** Runs `paylink receipt verify` on a file; what it wrote, and its exit code. */
async function verify(text: string, options: { key?: string } = {}, json = false) {
  const file = join(folder, 'receipt.json')
  await writeFile(file, text)
  const lines: string[] = []
  const output = { line: (line: string) => lines.push(line), problem: (line: string) => lines.push(line) }
  return { code: await verifyReceiptCommand(file, { ...options, json }, output), said: lines.join('\n') }
}
async function keysFile(): Promise<string> {
  const path = join(folder, 'keys.json')
  await writeFile(path, (await get(RECEIPT_KEYS_PATH)).text)
  return path
}

test('paylink receipt verify: genuine, changed, of an unknown key, and not a receipt', async () => {
  const { id, text } = await paidReceipt()
  const key = await keysFile()
  const genuine = await verify(text, { key })
  expect([genuine.code, genuine.said]).toEqual([0, expect.stringContaining(`invoice_id: ${id}`)])
  const changed = await verify(text.replace('"84.37"', '"8437.00"'), { key })
  expect([changed.code, changed.said]).toEqual([1, expect.stringContaining('NOT genuine')])
  const foreign = join(folder, 'other.json')
  const other = openReceiptKey(openKeyring(Buffer.alloc(32, 8)))
  await writeFile(foreign, JSON.stringify({ keys: [other.publicKey] }))
  expect((await verify(text, { key: foreign })).said).toContain('not among the given keys')
  expect((await verify('{}', { key })).said).toContain('it must have receipt and signature')
  expect(JSON.parse((await verify(text, { key }, true)).said)).toMatchObject({ genuine: true })
})

test('a receipt of staging says so in what is signed, and paylink receipt verify prints it', async () => {
  const { path, text } = await paidReceipt()
  const key = await keysFile()
  const rehearsing = createReceiptPart({ ...api.deps, staging: true })
  const staged = await (await rehearsing.fetch(new Request(`https://pay.example.com${path}`))).text()
  expect((await verify(staged, { key })).said.split('\n')).toContain(STAGING_NOTICE)
  expect(await verify(staged.replace(/"staging": ?true/, '"staging": false'), { key })).toMatchObject({
    code: 1,
  })
  expect(text).not.toContain('staging')
  expect((await verify(text, { key })).said).not.toContain(STAGING_NOTICE)
})

test('paylink receipt verify refuses files that two readers read differently, and names what is missing', async () => {
  const { text } = await paidReceipt()
  const key = await keysFile()
  for (const broken of ['', 'x', '[]', text.replace('"status"', '"status": "expired", "status"')])
    await expect(verify(broken, { key })).rejects.toThrow('is not one JSON object')
  await expect(verify(text, { key: join(folder, 'absent') })).rejects.toThrow('could not be read')
  await writeFile(join(folder, 'empty.json'), '{"keys":[]}')
  await expect(verify(text, { key: join(folder, 'empty.json') })).rejects.toThrow('holds no keys of receipts')
})

test('paylink receipt verify takes the keys from where they are published', async () => {
  const { text } = await paidReceipt()
  const keys = (await get(RECEIPT_KEYS_PATH)).text
  const server: Server = createServer((request, response) => {
    if (request.url === RECEIPT_KEYS_PATH) response.end(keys)
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    expect((await verify(text, { key: `${origin}${RECEIPT_KEYS_PATH}` })).code).toBe(0)
    await expect(verify(text, { key: `${origin}/nothing` })).rejects.toThrow('could not be read')
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
})
