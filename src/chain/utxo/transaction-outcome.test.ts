import { expect, test } from 'vitest'
import { REQUESTS_MAX, TransactionOutcome, verdictByReason } from './transaction-outcome.ts'

test.each(['missing-inputs', 'bad-txns-inputs-missingorspent', 'bad-txns-inputs-missingorspent (-25)'])(
  '%s: what it spends is gone, or not there yet',
  (reason) => {
    expect(verdictByReason(reason)).toBe('lacks_inputs')
  },
)

test.each([
  'txn-mempool-conflict',
  'insufficient fee, rejecting replacement',
  'bip125-replacement-disallowed',
  'coinbase',
  'the node answered sendrawtransaction with: txn-mempool-conflict (-26)',
])('%s: another transaction took its inputs, or it can never come back', (reason) => {
  expect(verdictByReason(reason)).toBe('dead')
})

test.each(['txn-already-in-mempool', 'txn-already-known'])('%s: the node has it', (reason) => {
  expect(verdictByReason(reason)).toBe('taken')
})

test.each([
  'mempool min fee not met',
  'min relay fee not met',
  'mempool full',
  'too-long-mempool-chain',
  'non-final',
  'non-BIP68-final',
  'bad-txns-premature-spend-of-coinbase',
  'a reason of some later version',
])('%s: it may still be mined', (reason) => {
  expect(verdictByReason(reason)).toBe('waits')
})

test('of many that vanished a part is asked about at a time, and none is given up unasked', async () => {
  const requested: string[] = []
  const judge = {
    judge: async (txid: string) => {
      requested.push(txid)
      return 'lacks_inputs' as const
    },
    rawOf: () => null,
  }
  const outcome = new TransactionOutcome(judge, () => new Date(0))
  const flood = Array.from({ length: 3 * REQUESTS_MAX - 1 }, (_, index) => `tx${index}`)
  for (let turn = 1; turn < 3; turn++) {
    const outcomes = await outcome.of(flood)
    expect(new Set(outcomes.values())).toEqual(new Set(['alive']))
    expect(requested).toEqual(flood.slice(0, turn * REQUESTS_MAX))
  }
  const last = await outcome.of(flood)
  expect(requested).toEqual(flood)
  expect([...last.values()].filter((found) => found === 'dead')).toHaveLength(REQUESTS_MAX - 1)
})
