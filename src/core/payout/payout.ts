import type { AssetId, Network } from '../assets.ts'
import { unreachable } from '../unreachable.ts'

export const PAYOUT_STATUSES = [
  'requested',
  'approved',
  'submitted',
  'confirmed',
  'rejected',
  'failed',
] as const
export type PayoutStatus = (typeof PAYOUT_STATUSES)[number]

/**
 * Which ledger account a payout takes from: the merchant's money, or the operator's fees on the merchant's payments.
 * The coins are the merchant's own either way.
 */
export type PayoutSource = 'available' | 'fees'

/** Money that a merchant, or the operator, sends out. Amounts are base units; the network's fee is taken from the amount. */
export type Payout = {
  readonly merchantId: string
  readonly id: string
  readonly livemode: boolean
  readonly status: PayoutStatus
  readonly source: PayoutSource
  readonly asset: AssetId
  readonly network: Network
  readonly amount: bigint
  /** An estimate until a transaction is signed. */
  readonly networkFee: bigint
  /** What the fee may become at most: approved with the rest. */
  readonly networkFeeMax: bigint
  /** On the list of the source's owner: the merchant's, or the operator's. */
  readonly destinationId: string
  /** The address itself, canonical. */
  readonly destination: string
  /** API key or person, as are the next two; of fees an operator. */
  readonly requestedBy: string
  readonly approvedBy: string | null
  readonly rejectedBy: string | null
  readonly txid: string | null
  readonly failureCode: string | null
  readonly createdAtMs: number
  readonly approvedAtMs: number | null
  readonly rejectedAtMs: number | null
  readonly submittedAtMs: number | null
  readonly confirmedAtMs: number | null
  readonly failedAtMs: number | null
}

/**
 * A payout's row disagrees with its ledger entries, or with what was signed for it: a person has to look, and other payouts need
 * not wait for that.
 */
export class PayoutContradicted extends Error {}

/** A transaction that carries a payout. */
export type PayoutTransaction = { readonly txid: string; readonly networkFee: bigint }

export type PayoutInput = { readonly nowMs: number } & (
  | { readonly kind: 'approve'; readonly by: string }
  | { readonly kind: 'reject'; readonly by: string }
  | { readonly kind: 'submit'; readonly transaction: PayoutTransaction }
  /** A replacement with a higher fee took the transaction's place. */
  | { readonly kind: 'replace'; readonly transaction: PayoutTransaction }
  | { readonly kind: 'confirm'; readonly transaction: PayoutTransaction }
  | { readonly kind: 'fail'; readonly code: string }
)

/** What the caller writes in the same transaction as `next`. */
type PayoutEffect =
  | { readonly kind: 'event'; readonly type: `payout.${PayoutStatus}` }
  /** `reserve`: available to reserved. `return`: back. `settle`: reserved to what was paid and to the network's fee. */
  | { readonly kind: 'ledger'; readonly move: 'reserve' | 'return' | 'settle' }

export type PayoutAdvance =
  | { readonly kind: 'advanced'; readonly next: Payout; readonly effects: readonly PayoutEffect[] }
  /** The payout's status does not allow it. */
  | { readonly kind: 'refused' }

const REFUSED: PayoutAdvance = { kind: 'refused' }

/** The effects of a new payout: the money is set aside in the transaction that writes the request. */
export const requestEffects = (payout: Payout): readonly PayoutEffect[] => [
  { kind: 'ledger', move: 'reserve' },
  ...eventOf(payout, 'requested'),
]

/** A payout of fees is not the merchant's, who gets no event about it. */
const eventOf = ({ source }: Payout, status: PayoutStatus): readonly PayoutEffect[] =>
  source === 'available' ? [{ kind: 'event', type: `payout.${status}` }] : []

/**
 * `requested → approved → submitted → confirmed`, `requested → rejected`, `approved | submitted → failed`; nothing
 * else. A confirmed, rejected or failed payout never changes again.
 */
export function advancePayout(payout: Payout, input: PayoutInput): PayoutAdvance {
  const { status } = payout
  switch (input.kind) {
    case 'approve':
      if (status !== 'requested') return REFUSED
      return advanced(payout, { status: 'approved', approvedBy: input.by, approvedAtMs: input.nowMs })
    case 'reject':
      if (status !== 'requested') return REFUSED
      return advanced(
        payout,
        { status: 'rejected', rejectedBy: input.by, rejectedAtMs: input.nowMs },
        'return',
      )
    case 'submit':
      if (status !== 'approved') return REFUSED
      return advanced(payout, {
        ...termsWithin(payout, input),
        status: 'submitted',
        submittedAtMs: input.nowMs,
      })
    case 'replace':
      if (status !== 'submitted') return REFUSED
      return { kind: 'advanced', next: { ...payout, ...termsWithin(payout, input) }, effects: [] }
    case 'confirm':
      if (status !== 'submitted') return REFUSED
      return advanced(
        payout,
        { ...termsWithin(payout, input), status: 'confirmed', confirmedAtMs: input.nowMs },
        'settle',
      )
    case 'fail':
      if (status !== 'approved' && status !== 'submitted') return REFUSED
      return advanced(
        payout,
        { status: 'failed', failureCode: input.code, failedAtMs: input.nowMs },
        'return',
      )
    default:
      return unreachable(input)
  }
}

/** The amount that reaches the destination: without the network's fee. */
export const netAmountOf = (payout: Pick<Payout, 'amount' | 'networkFee'>): bigint =>
  payout.amount - payout.networkFee

function termsWithin(
  payout: Payout,
  { transaction }: { readonly transaction: PayoutTransaction },
): Partial<Payout> {
  if (transaction.networkFee < 0n || transaction.networkFee > payout.networkFeeMax) {
    throw new PayoutContradicted(`the fee of ${transaction.txid} is above what was approved for ${payout.id}`)
  }
  return { txid: transaction.txid, networkFee: transaction.networkFee }
}

function advanced(
  payout: Payout,
  changes: Partial<Payout> & Pick<Payout, 'status'>,
  move?: 'return' | 'settle',
): PayoutAdvance {
  const effects: PayoutEffect[] = move === undefined ? [] : [{ kind: 'ledger', move }]
  effects.push(...eventOf(payout, changes.status))
  return { kind: 'advanced', next: { ...payout, ...changes }, effects }
}
