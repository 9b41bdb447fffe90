import { expect, test } from 'vitest'
import { fateByReason } from './transaction-fate.ts'

test.each([
  'missing-inputs',
  'bad-txns-inputs-missingorspent',
  'txn-mempool-conflict',
  'insufficient fee, rejecting replacement',
  'bip125-replacement-disallowed',
  'coinbase',
  'the node answered sendrawtransaction with: bad-txns-inputs-missingorspent (-25)',
])('%s: another transaction took its inputs', (reason) => {
  expect(fateByReason(reason)).toBe('dead')
})

test.each([
  'txn-already-in-mempool',
  'txn-already-known',
  'mempool min fee not met',
  'min relay fee not met',
  'mempool full',
  'too-long-mempool-chain',
  'non-final',
  'non-BIP68-final',
  'bad-txns-premature-spend-of-coinbase',
  'a reason of some later version',
])('%s: it may still be mined', (reason) => {
  expect(fateByReason(reason)).toBe('alive')
})
