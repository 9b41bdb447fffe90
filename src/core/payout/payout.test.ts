import fc from 'fast-check'
import { expect, test } from 'vitest'
import { approvalText } from './approval-text.ts'
import { advancePayout, type Payout, type PayoutInput, type PayoutStatus } from './payout.ts'

const REQUESTED: Payout = {
  merchantId: 'mer_1',
  id: 'po_1',
  livemode: false,
  status: 'requested',
  source: 'available',
  asset: 'LTC',
  network: 'litecoin-test',
  amount: 1_000_000n,
  networkFee: 300n,
  networkFeeMax: 900n,
  destinationId: 'dst_1',
  destination: 'rltc1qdestination',
  requestedBy: 'key_1',
  approvedBy: null,
  rejectedBy: null,
  txid: null,
  failureCode: null,
  createdAtMs: 0,
  approvedAtMs: null,
  rejectedAtMs: null,
  submittedAtMs: null,
  confirmedAtMs: null,
  failedAtMs: null,
}

const transaction = fc.record({
  txid: fc.constantFrom('a'.repeat(64), 'b'.repeat(64)),
  networkFee: fc.bigInt({ min: 0n, max: 900n }),
})
const inputs: fc.Arbitrary<PayoutInput> = fc
  .oneof(
    fc.record({ kind: fc.constantFrom('approve' as const, 'reject' as const), by: fc.constant('usr_1') }),
    fc.record({
      kind: fc.constantFrom('submit' as const, 'replace' as const, 'confirm' as const),
      transaction,
    }),
    fc.record({ kind: fc.constant('fail' as const), code: fc.constant('input_spent_elsewhere') }),
  )
  .map((input) => ({ ...input, nowMs: 1 }))

const ALLOWED: { readonly [from in PayoutStatus]: readonly PayoutStatus[] } = {
  requested: ['approved', 'rejected'],
  approved: ['submitted', 'failed'],
  submitted: ['submitted', 'confirmed', 'failed'],
  confirmed: [],
  rejected: [],
  failed: [],
}

test('a payout takes only allowed steps, emits each once, and its money moves back or out exactly once', () => {
  fc.assert(
    fc.property(fc.array(inputs, { maxLength: 12 }), (steps) => {
      let payout = REQUESTED
      const moves: string[] = []
      const events: string[] = []
      for (const step of steps) {
        const advance = advancePayout(payout, step)
        if (advance.kind === 'refused') continue
        expect(ALLOWED[payout.status]).toContain(advance.next.status)
        payout = advance.next
        for (const effect of advance.effects) {
          if (effect.kind === 'ledger') moves.push(effect.move)
          else events.push(effect.type)
        }
      }
      expect(new Set(events).size).toBe(events.length)
      const due = { confirmed: ['settle'], rejected: ['return'], failed: ['return'] }[
        payout.status as 'failed'
      ]
      expect(moves).toEqual(due ?? [])
      // What was asked for never changes.
      const { amount, destination, asset, network } = payout
      expect({ amount, destination, asset, network }).toEqual({
        amount: REQUESTED.amount,
        destination: REQUESTED.destination,
        asset: REQUESTED.asset,
        network: REQUESTED.network,
      })
    }),
  )
})

test('a transaction whose fee is above what was approved carries nothing', () => {
  const approved: Payout = { ...REQUESTED, status: 'approved' }
  expect(() =>
    advancePayout(approved, { kind: 'submit', transaction: { txid: 'a', networkFee: 901n }, nowMs: 1 }),
  ).toThrow(/above what was approved/)
})

test('every term of an approval is in its text, and no term can write a line of its own', () => {
  const text = approvalText(REQUESTED)
  const others: Partial<Payout>[] = [
    { merchantId: 'mer_2' },
    { id: 'po_2' },
    { livemode: true },
    { asset: 'BTC' },
    { network: 'bitcoin-test' },
    { destination: 'rltc1qelse' },
    { amount: 1_000_001n },
    { networkFeeMax: 901n },
  ]
  const texts = others.map((changes) => approvalText({ ...REQUESTED, ...changes }))
  expect(new Set([text, ...texts]).size).toBe(others.length + 1)
  const destinations = ['a\namount 5', 'a\\namount 5', 'a\ramount 5', 'a\\\namount 5']
  const broken = destinations.map((destination) => approvalText({ ...REQUESTED, destination }))
  expect(new Set(broken).size).toBe(destinations.length)
  for (const each of broken) expect(each.split('\n')).toHaveLength(text.split('\n').length)
})
