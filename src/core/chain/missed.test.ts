import { expect, test } from 'vitest'
import { inBlock, makeInvoice } from '../../../test/support/invoice.ts'
import { advanceInvoice } from '../invoice/advance.ts'
import { missedIn } from './missed.ts'

const invoice = makeInvoice()
const owner = { tenant: { merchantId: invoice.merchantId, livemode: false }, invoiceId: invoice.id }
const block = { height: 100, hash: 'aa'.repeat(32), timeMs: invoice.createdAtMs }
const output = (outputIndex: number, txid = 'tx') => ({
  ...owner,
  txid,
  outputIndex,
  asset: 'LTC' as const,
  amount: 1_000n,
  minimumConfirmations: 1,
})
const amounting = (txid: string, amount: bigint) => ({ ...output(0, txid), amount })
const booked = (outputIndex: number) => ({ ...output(outputIndex), blockHash: block.hash })

/** The record of one output by itself, in the block or taken out of it. */
function recordOf(outputIndex: number, status: 'confirming' | 'reorged') {
  const fact = { ...inBlock('tx', 1_000n, 1), outputIndex }
  const input = { kind: 'transfers', facts: [fact], newPaymentIds: ['pay'], nowMs: block.timeMs } as const
  const advance = advanceInvoice(invoice, input)
  const payment = advance.kind === 'advanced' ? advance.next.payments[0] : undefined
  if (payment === undefined) throw new Error('the payment was not recorded')
  return { ...owner, payment: status === 'reorged' ? { ...payment, status, block: null } : payment }
}

const missed = (
  found: readonly (Omit<ReturnType<typeof output>, 'asset'> & { asset: 'LTC' | 'ETH' })[],
  books: Pick<Parameters<typeof missedIn>[0], 'records' | 'booked'>,
) =>
  missedIn({
    network: 'litecoin-test',
    blocks: [{ block, transfers: found }],
    ...books,
    tipHeight: 100,
    readAtMs: block.timeMs,
  }).flatMap(({ facts }) => facts.map(({ outputIndex, amount }) => [outputIndex, amount]))

test('an output that was recorded by itself and is in a sum now is not missing', () => {
  const records = [recordOf(0, 'confirming'), recordOf(1, 'reorged')]
  expect(missed([output(0), output(1)], { records, booked: [booked(0), booked(1)] })).toEqual([])
})

test('of a transaction that is recorded in part the rest is missing', () => {
  const books = { records: [recordOf(0, 'confirming')], booked: [booked(0)] }
  expect(missed([output(0), output(1)], books)).toEqual([[1, 1_000n]])
})

test('what the books have under the name of the block is not missing, and what is beyond it is', () => {
  const unnamed = { ...output(0, block.hash), blockHash: block.hash }
  expect(missed([output(0)], { records: [], booked: [unnamed] })).toEqual([])
  expect(missed([output(0), output(0, 'other')], { records: [], booked: [unnamed] })).toEqual([[0, 1_000n]])
  expect(missed([output(0, block.hash)], { records: [], booked: [booked(0)] })).toEqual([])
})

test('what both readings name by the block, with different amounts, is counted once with the rest', () => {
  const inBooks = (txid: string, amount: bigint) => ({ ...amounting(txid, amount), blockHash: block.hash })
  // A contract's payment and a withdrawal: one sum by balances, and two credits by traces.
  const bySum = { records: [], booked: [inBooks(block.hash, 1_500n)] }
  const apart = [amounting('tx', 1_000n), amounting(block.hash, 500n)]
  expect(missed(apart, bySum)).toEqual([])
  expect(missed([...apart, amounting('more', 1n)], bySum)).toEqual([[0, 1n]])
  // A producer's tips: within each transaction by traces, under the block's name by balances.
  const byTraces = { records: [], booked: [inBooks('tx', 1_010n), inBooks('other', 20n)] }
  expect(missed([amounting('tx', 1_000n), amounting(block.hash, 30n)], byTraces)).toEqual([])
})

test('of what one reading names by the block and the other by transactions only the difference is missing', () => {
  const inBooks = (txid: string, amount: bigint) => ({ ...amounting(txid, amount), blockHash: block.hash })
  const apart = [amounting('tx', 2n), amounting('other', 3n)]
  expect(missed([amounting(block.hash, 5n)], { records: [], booked: [inBooks('tx', 2n)] })).toEqual([[0, 3n]])
  expect(missed(apart, { records: [], booked: [inBooks(block.hash, 3n)] })).toEqual([[0, 2n]])
  expect(missed(apart, { records: [], booked: [inBooks(block.hash, 4n)] })).toEqual([[0, 1n]])
  expect(missed(apart, { records: [], booked: [inBooks(block.hash, 6n)] })).toEqual([])
})

test('what a block names by its hash for one asset says nothing of another’s outputs', () => {
  const ofEther = { ...amounting(block.hash, 500n), asset: 'ETH' as const }
  const books = { records: [], booked: [booked(1), { ...ofEther, blockHash: block.hash }] }
  expect(missed([output(0), output(1), ofEther], books)).toEqual([[0, 1_000n]])
})
