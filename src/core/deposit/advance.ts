import { isAssetId, type PaymentAsset, pricedAs } from '../assets.ts'
import type { Finality } from '../finality.ts'
import { advanceInvoice } from '../invoice/advance.ts'
import { isDust, isOfSum, keyOfTransfer } from '../invoice/block-sums.ts'
import { NO_ORIGIN, NOTHING_HAPPENED_YET } from '../invoice/new-invoice.ts'
import { isLive } from '../invoice/status.ts'
import type { Invoice, InvoiceEffect, Payment, RateEvidence, TransferFact } from '../invoice/types.ts'
import { depositTransfers } from '../ledger/deposit.ts'
import {
  type DepositAccount,
  type DepositAnnounced,
  type DepositEventType,
  type DepositRecord,
  depositIdOf,
} from './deposit.ts'

/** What stands already of the payments that some facts may be about, dust's block sums among them, and of their deposits. */
export type KnownDeposits = {
  readonly payments: readonly Payment[]
  readonly records: ReadonlyMap<string, DepositRecord>
}

type Posting = Extract<InvoiceEffect, { kind: 'posting' }>

/** What facts change in one payment to a deposit account. */
export type DepositChange = {
  readonly before: Payment | null
  readonly payment: Payment
  /** Null for dust, which is no deposit. */
  readonly record: DepositRecord | null
  /** With the payment as it was at each milestone. */
  readonly events: readonly { readonly type: DepositEventType; readonly payment: Payment }[]
  /** One group for each posting, in their order. */
  readonly postings: readonly (Pick<Posting, 'number' | 'to'> & {
    readonly transfers: ReturnType<typeof depositTransfers>
  })[]
}

/** More than any chain has of any coin: an account is never paid in full, so every payment counts by itself. */
const NEVER_PAID = 10n ** 77n

/**
 * What facts change in a deposit account. Each payment goes the way of an invoice that asks for its coin, for ever and for more
 * than there is: so it is classified, becomes final, is posted and is taken back by the rules of all payments. Pure.
 */
export function advanceDeposits(
  account: DepositAccount,
  known: KnownDeposits,
  input: {
    readonly facts: readonly TransferFact[]
    readonly newPaymentIds: readonly string[]
    readonly nowMs: number
    /** What the coin is worth now. */
    readonly rateOf: (asset: PaymentAsset) => RateEvidence | null
    /** What makes a payment final that is seen for the first time; asked once for each. */
    readonly finalityOf: (fact: TransferFact) => Finality
  },
): DepositChange[] {
  return groupsOf(known.payments, input).flatMap(({ payments, facts, ids }) => {
    const [first] = facts
    if (first === undefined) return []
    const { asset } = first
    const isNew = payments.length === 0 && !isDust(first)
    const kept = payments[0] === undefined ? undefined : known.records.get(depositIdOf(payments[0].id))
    const rate = kept === undefined ? input.rateOf(asset) : kept.rate
    const confirmations = isNew ? { [asset]: input.finalityOf(first) } : {}
    const invoice = asInvoice(account, { asset, rate, confirmations, payments })
    const advance = advanceInvoice(invoice, {
      kind: 'transfers',
      facts,
      newPaymentIds: ids,
      nowMs: input.nowMs,
    })
    if (advance.kind === 'refused') throw new Error(`transfers were refused: ${advance.code}`)
    const postings = advance.effects.filter((effect) => effect.kind === 'posting')
    const beforeOf = new Map(payments.map((payment) => [payment.id, payment]))
    return advance.next.payments.flatMap((payment): DepositChange[] => {
      const before = beforeOf.get(payment.id) ?? null
      const fresh: DepositRecord = { id: depositIdOf(payment.id), rate, announced: null, eventCount: 0 }
      const isDeposit = kept !== undefined || !payment.dust
      const { announced, events } = announce(isDeposit ? (kept?.announced ?? null) : null, before, payment)
      return [
        {
          before,
          payment,
          record: isDeposit ? { ...(kept ?? fresh), announced } : null,
          events,
          postings: postings
            .filter((posting) => posting.payment.id === payment.id)
            .map((posting) => ({
              number: posting.number,
              to: posting.to,
              transfers: depositTransfers(invoice, posting),
            })),
        },
      ]
    })
  })
}

type Group = { readonly payments: Payment[]; readonly facts: TransferFact[]; readonly ids: string[] }

/** Facts about one payment together, and all that are about dust, which is summed by the block. */
function groupsOf(
  known: readonly Payment[],
  { facts, newPaymentIds }: { facts: readonly TransferFact[]; newPaymentIds: readonly string[] },
): Group[] {
  const own = new Map(
    known.flatMap((payment) => (payment.isBlockSum ? [] : [[keyOfTransfer(payment), payment] as const])),
  )
  const sums: Group = { payments: known.filter(({ isBlockSum }) => isBlockSum), facts: [], ids: [] }
  const groups = new Map<string, Group>()
  for (const [index, fact] of facts.entries()) {
    const key = keyOfTransfer(fact)
    const payment = own.get(key)
    const isSummed = payment === undefined && (isOfSum(fact) || isDust(fact))
    const group = isSummed
      ? sums
      : (groups.get(key) ?? { payments: payment === undefined ? [] : [payment], facts: [], ids: [] })
    if (!isSummed) groups.set(key, group)
    group.facts.push(fact)
    group.ids.push(newPaymentIds[index] ?? '')
  }
  return [...groups.values(), sums]
}

/**
 * The events that follow: a deposit is announced when it is seen and when it is final; and where that is not so any more, as
 * reversed, with the amount that was announced. One that was reversed is announced again once it is final.
 */
function announce(
  announced: DepositAnnounced,
  before: Payment | null,
  payment: Payment,
): { announced: DepositAnnounced; events: { type: DepositEventType; payment: Payment }[] } {
  const events: { type: DepositEventType; payment: Payment }[] = []
  let state = announced
  const emit = (next: Exclude<DepositAnnounced, null>, as: Payment) => {
    events.push({ type: `deposit.${next}`, payment: as })
    state = next
  }
  const counts = isLive(payment) && !payment.dust && payment.reviewReason === null
  const isFinal = counts && payment.status === 'confirmed'
  const isOtherAmount = before !== null && before.amount !== payment.amount
  if (before !== null && announced === 'confirmed' && (!isFinal || isOtherAmount))
    emit('reversed', { ...(isFinal ? withdrawn(payment) : payment), amount: before.amount })
  else if (before !== null && announced === 'detected' && !counts)
    emit('reversed', { ...payment, amount: before.amount })
  if (counts && state === null) emit('detected', sighted(payment))
  if (isFinal && state !== 'confirmed') emit('confirmed', payment)
  return { announced: state, events }
}

const withdrawn = (payment: Payment): Payment => ({
  ...payment,
  status: 'reorged',
  block: null,
  confirmedAtMs: null,
})

/** Before it was final, where both came in one step. */
const sighted = (payment: Payment): Payment =>
  payment.status === 'confirmed' ? { ...payment, status: 'confirming', confirmedAtMs: null } : payment

/** An account as an invoice over one of its payments. A coin that none asks for stays that of no invoice. */
function asInvoice(
  account: DepositAccount,
  { asset, ...of }: Pick<Invoice, 'rate' | 'confirmations' | 'payments'> & { readonly asset: PaymentAsset },
): Invoice {
  return {
    ...NOTHING_ASKED,
    ...of,
    merchantId: account.merchantId,
    id: account.id,
    livemode: account.livemode,
    asset: isAssetId(asset) ? asset : pricedAs(asset),
    serviceFeeBps: account.serviceFeeBps,
    createdAtMs: account.createdAtMs,
  }
}

const NOTHING_ASKED = {
  ...NO_ORIGIN,
  ...NOTHING_HAPPENED_YET,
  alsoAccepts: [],
  tokenRates: null,
  amount: NEVER_PAID,
  usdCents: null,
  price: null,
  amountSource: 'buyer',
  toleranceUnder: 0n,
  toleranceOver: 0n,
  allowAssetSelection: false,
  customerEmail: null,
  externalReference: null,
  description: null,
  metadata: null,
  address: '',
  addressesBeside: {},
  expiresAtMs: Number.POSITIVE_INFINITY,
} as const
