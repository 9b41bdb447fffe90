import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { makeDataDir, runProgram } from '../support/app.ts'

/** `paylink import`, as an operator runs it, and what the shop then reads of it. */

const HEADER =
  'ReceivedDate,StoreId,OrderId,InvoiceId,InvoiceCreatedDate,PaymentId,CryptoCode,Paid,InvoiceCurrency,InvoicePrice,InvoiceFullStatus,BuyerEmail,Accounted'
const INVOICES = 1_200

let api: TestApi
let merchant: TestMerchant
let place: Awaited<ReturnType<typeof makeDataDir>>
beforeAll(async () => {
  api = await createTestApi()
  merchant = await api.addMerchant()
  place = await makeDataDir()
})
afterAll(async () => {
  await place?.remove()
  await api?.drop()
})

const fileOf = (name: string) => join(place.dataDir, '..', name)
const importFile = (name: string, ...words: string[]) => importWith({}, name, ...words)
const importWith = (env: { NODE_OPTIONS?: string }, name: string, ...words: string[]) =>
  runProgram(['import', fileOf(name), '--merchant', merchant.id, ...words], {
    DATA_DIR: place.dataDir,
    DATABASE_URL: api.database.ownerUrl,
    ...env,
  })
const list = async (query: string, key = merchant.liveKey) => {
  const { body } = await api.call('GET', `/imported-invoices${query}`, { key })
  return body.data
}
const rowOf = (number: number, status: string) => {
  const made = new Date(Date.UTC(2025, 0, 1) + number * 60_000).toISOString()
  return `${made},store,order-${number},id-${number},${made},tx-${number},BTC,0.0005,USD,49.99,${status},,true`
}

test('an export is imported with progress, reports unreadable lines one by one, and is never doubled', async () => {
  const rows = Array.from({ length: INVOICES }, (_, number) => rowOf(number, 'Settled'))
  const text = [HEADER, ...rows, 'half a row', rowOf(9_999, 'Expired').replace('49.99', 'much')].join('\n')
  await writeFile(fileOf('export.csv'), text)
  const first = await importFile('export.csv')
  expect(first.code).toBe(1)
  expect(first.stderr).toMatch(/\d+ % 500 of 1200 invoices\n/)
  expect(first.stderr).toContain('100 % 1200 of 1200 invoices\n')
  expect(first.stdout.split('\n')).toEqual([
    `${INVOICES} invoices in ${INVOICES + 2} rows: ${INVOICES} new, 0 changed, 0 as before`,
    '2 rows could not be read:',
    `✗ line ${INVOICES + 2}: it has 1 fields and the header 13`,
    `✗ line ${INVOICES + 3}: InvoicePrice is not an amount`,
    '',
  ])
  await writeFile(
    fileOf('export.csv'),
    [
      HEADER,
      ...rows.slice(1),
      rowOf(0, 'Invalid'),
      rowOf(1_200, 'New').replace(',,', ',Buyer@example.com,'),
    ].join('\n'),
  )
  const again = await importFile('export.csv', '--json')
  expect([again.code, JSON.parse(again.stdout)]).toEqual([
    0,
    { source: 'btcpay', rows: 1_201, invoices: 1_201, made: 1, changed: 1, unchanged: 1_199, unread: [] },
  ])
})

test('the shop reads what was imported, in its own mode, newest first, by its order', async () => {
  const [newest, next] = await list('?limit=2')
  expect([newest.source_id, next.source_id]).toEqual(['id-1200', 'id-1199'])
  expect(await list('?order_reference=order-0')).toEqual([
    expect.objectContaining({
      object: 'imported_invoice',
      livemode: true,
      source: 'btcpay',
      status: 'Invalid',
      amount: '49.99',
      currency: 'USD',
      payments: [{ id: 'tx-0', coin: 'BTC', amount: '0.0005', received_at: '2025-01-01T00:00:00.000Z' }],
      created_at: '2025-01-01T00:00:00.000Z',
    }),
  ])
  const found = async (q: string) =>
    (await list(`?q=${q}`)).map((one: { source_id: string }) => one.source_id)
  expect(await found('ORDER-7')).toEqual(['id-7'])
  expect(await found('id-7')).toEqual(['id-7'])
  expect(await found('buyer%40Example.com')).toEqual(['id-1200'])
  expect(await found('order-')).toEqual([])
  expect(await list('', merchant.testKey)).toEqual([])
  const other = await api.addMerchant()
  expect(await list('', other.liveKey)).toEqual([])
  // It is a record: no invoice, no money and no event comes of it.
  const { rows } = await api.database.owner.query(
    'select (select count(*) from invoice) + (select count(*) from event) + (select count(*) from ledger_transfer) as count',
  )
  expect(rows).toEqual([{ count: 0 }])
})

test('a large export needs little more memory than its text, whatever its unused columns hold', async () => {
  const rows = Array.from(
    { length: 60 },
    (_, number) => `${rowOf(5_000 + number, 'Settled')},"${'x\n'.repeat(2 ** 18)}"`,
  )
  await writeFile(fileOf('large.csv'), [`${HEADER},InvoiceItemDesc`, ...rows].join('\r\n'))
  const { code, stdout, stderr } = await importWith({ NODE_OPTIONS: '--max-old-space-size=200' }, 'large.csv')
  expect([code, stdout, stderr]).toEqual([
    0,
    '60 invoices in 60 rows: 60 new, 0 changed, 0 as before\n',
    expect.stringContaining('100 %'),
  ])
})

test('a row that the database could not hold is reported with its line, and the others are imported', async () => {
  const rows = [
    rowOf(2_000, 'Settled').replaceAll('2025', '0001'),
    rowOf(2_001, 'Settled').replace('order', 'or\u0000der'),
    rowOf(2_002, 'Settled').replace('tx', 't\u0000x'),
    rowOf(2_003, 'Settled'),
  ]
  await writeFile(fileOf('odd.csv'), [HEADER, ...rows].join('\n'))
  const { code, stdout } = await importFile('odd.csv')
  expect([code, stdout.split('\n')]).toEqual([
    1,
    [
      '1 invoices in 4 rows: 1 new, 0 changed, 0 as before',
      '3 rows could not be read:',
      '✗ line 2: InvoiceCreatedDate is not a time',
      '✗ line 3: it holds a character that is no text (NUL)',
      '✗ line 4: it holds a character that is no text (NUL)',
      '',
    ],
  ])
})

test('another service’s export is read by its columns, and a wrong command line is one line', async () => {
  await writeFile(
    fileOf('other.csv'),
    'Code,Made,Price,Money,State\nA1,2025-03-01 10:00:00,12.50,USD,COMPLETED\n',
  )
  const columns = 'id=Code,created=Made,amount=Price,currency=Money,status=State'
  const read = await importFile(
    'other.csv',
    '--mode',
    'test',
    '--source',
    'coinbase_commerce',
    '--columns',
    columns,
  )
  expect([read.code, read.stdout]).toEqual([0, '1 invoices in 1 rows: 1 new, 0 changed, 0 as before\n'])
  expect(await list('', merchant.testKey)).toEqual([
    expect.objectContaining({ source: 'coinbase_commerce', source_id: 'A1', status: 'COMPLETED' }),
  ])
  for (const [words, named] of [
    [['other.csv'], 'has no column InvoiceId'],
    [['none.csv'], 'cannot be read'],
    [['other.csv', '--source', 'x'], '--source and --columns go together'],
    [['other.csv', '--source', 'x', '--columns', 'id=Code,colour=Blue'], '--columns must be'],
    [['other.csv', '--mode', 'both'], '--mode must be'],
  ] as const) {
    const [name, ...rest] = words
    const { code, stderr } = await importFile(name, ...rest)
    expect([code, stderr]).toEqual([2, expect.stringContaining(named)])
  }
})
