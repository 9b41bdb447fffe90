import { expect, test } from 'vitest'
import { readCsv, readPastInvoices } from './past-invoices.ts'

const HEADER =
  'ReceivedDate,StoreId,OrderId,InvoiceId,InvoiceCreatedDate,InvoiceExpirationDate,InvoiceMonitoringDate,PaymentId,Destination,PaymentType,CryptoCode,Paid,NetworkFee,ConversionRate,PaidCurrency,InvoiceCurrency,InvoiceDue,InvoicePrice,InvoiceItemCode,InvoiceItemDesc,InvoiceFullStatus,InvoiceStatus,InvoiceExceptionStatus,BuyerEmail,Accounted'
const row = (cells: { [name: string]: string }) =>
  HEADER.split(',')
    .map((name) => cells[name] ?? '')
    .join(',')
const paid = {
  ReceivedDate: '2025-03-01T10:05:00Z',
  OrderId: 'wc-1',
  InvoiceId: 'Abc',
  InvoiceCreatedDate: '2025-03-01T10:00:00Z',
  PaymentId: 'tx-0',
  CryptoCode: 'BTC',
  Paid: '0.0005',
  InvoiceCurrency: 'usd',
  InvoicePrice: '49.99',
  InvoiceFullStatus: 'Settled',
  BuyerEmail: 'buyer@example.com',
  Accounted: 'true',
}
const read = (...rows: string[]) => {
  const result = readPastInvoices([HEADER, ...rows].join('\r\n'), null)
  if (result.kind !== 'read') throw new Error(result.kind)
  return result
}

test('the rows of one invoice are one invoice with a payment each, and a payment that was replaced is none', () => {
  const { invoices, faults, rows } = read(
    row({ ...paid, InvoiceFullStatus: 'New (paidPartial)' }),
    row({ ...paid, InvoiceId: 'Def', PaymentId: '', Paid: '', Accounted: '', InvoiceFullStatus: 'Expired' }),
    row({ ...paid, PaymentId: 'tx-1', Paid: '0.0001' }),
    row({ ...paid, PaymentId: 'tx-2', Accounted: 'False' }),
  )
  expect([faults, rows]).toEqual([[], 4])
  expect(invoices).toEqual([
    {
      sourceId: 'Abc',
      status: 'Settled',
      amount: '49.99',
      currency: 'USD',
      orderReference: 'wc-1',
      customerEmail: 'buyer@example.com',
      createdAtMs: Date.parse('2025-03-01T10:00:00Z'),
      payments: [
        { id: 'tx-0', coin: 'BTC', amount: '0.0005', received_at: '2025-03-01T10:05:00.000Z' },
        { id: 'tx-1', coin: 'BTC', amount: '0.0001', received_at: '2025-03-01T10:05:00.000Z' },
      ],
    },
    expect.objectContaining({ sourceId: 'Def', status: 'Expired', payments: [] }),
  ])
})

test('a row that cannot be read is reported with its line, and nothing else is lost', () => {
  const { invoices, faults } = read(
    row(paid),
    row({ ...paid, InvoiceId: '' }),
    row({ ...paid, InvoiceItemDesc: '"two\nlines"', InvoicePrice: 'much' }),
    'a,b',
    row({ ...paid, InvoiceCreatedDate: '2025-13-01T00:00:00Z' }),
    row({ ...paid, Paid: '1e3' }),
    row({ ...paid, OrderId: 'x'.repeat(256) }),
    row({ ...paid, InvoiceId: 'Last' }),
    'x,"never',
  )
  expect(invoices.map(({ sourceId }) => sourceId)).toEqual(['Abc', 'Last'])
  expect(faults).toEqual([
    { line: 3, reason: 'InvoiceId is empty' },
    { line: 4, reason: 'InvoicePrice is not an amount' },
    { line: 6, reason: 'it has 2 fields and the header 25' },
    { line: 7, reason: 'InvoiceCreatedDate is not a time' },
    { line: 8, reason: 'Paid is not an amount' },
    { line: 9, reason: 'OrderId is longer than 255 characters' },
    { line: 11, reason: 'a quoted field never ends' },
  ])
})

test('another service’s file is read by the columns that are named', () => {
  const columns = {
    id: 'Code',
    created: 'Created at',
    amount: 'Local amount',
    currency: 'Local currency',
    status: 'Status',
  }
  const text =
    '\ufeffCode;Created at;Local amount;Local currency;Status;Note\n"A1";2025-03-01 10:00:00 UTC;12.50;USD;COMPLETED;"a ""b""; c"\n'
  expect(readPastInvoices(text, { source: 'coinbase_commerce', columns })).toMatchObject({
    kind: 'read',
    source: 'coinbase_commerce',
    invoices: [{ sourceId: 'A1', amount: '12.50', status: 'COMPLETED', orderReference: null, payments: [] }],
    faults: [],
  })
  expect(readPastInvoices(text, null)).toEqual({
    kind: 'unknown_columns',
    missing: ['InvoiceId', 'InvoiceCreatedDate', 'InvoicePrice', 'InvoiceCurrency', 'InvoiceFullStatus'],
  })
})

test('times are UTC unless they say otherwise', () => {
  const times = [
    '2025-03-01T10:00:00',
    '03/01/2025 10:00:00',
    '2025-03-01T12:00:00+02:00',
    '1740823200',
    '2025-03-01 10:00',
  ]
  const { invoices, faults } = read(
    ...times.map((time, at) => row({ ...paid, InvoiceId: `i${at}`, InvoiceCreatedDate: time })),
  )
  expect(faults).toEqual([])
  expect(new Set(invoices.map(({ createdAtMs }) => createdAtMs))).toEqual(
    new Set([Date.parse('2025-03-01T10:00:00Z')]),
  )
})

test('quotes, line breaks and empty lines are read as RFC 4180 has them', () => {
  const text = 'a,b\r\n\r\n"x ""y"", z","1\n2"\n,\n"""","",""\r\n x"1,"y"z'
  expect([...readCsv(text)]).toEqual([
    { line: 1, fields: ['a', 'b'] },
    { line: 3, fields: ['x "y", z', '1\n2'] },
    { line: 5, fields: ['', ''] },
    { line: 6, fields: ['"', '', ''] },
    { line: 7, fields: [' x"1', 'yz'] },
  ])
})
