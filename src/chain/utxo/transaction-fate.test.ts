import { expect, test } from 'vitest'
import { verdictByReason } from './transaction-fate.ts'

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
