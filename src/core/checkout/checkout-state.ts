import { type AssetId, isAssetId, networkOf, type PaymentAsset } from '../assets.ts'
import { type CardWaiting, isUnderWay } from '../card/card-purchase.ts'
import { countOf } from '../finality.ts'
import { addressOf } from '../invoice/address-of.ts'
import type { NetworkFacts } from '../invoice/render.ts'
import { shownPayments } from '../invoice/shown.ts'
import {
  amountsOf,
  deriveStatus,
  isAskedFor,
  isCounting,
  isFollowed,
  isLive,
  isShort,
  isUnderReview,
  reviewReasonOf,
  statusReasonOf,
} from '../invoice/status.ts'
import type {
  CurrencyAmount,
  ExpiryReading,
  Invoice,
  Payment,
  PaymentReviewReason,
  ReviewReason,
} from '../invoice/types.ts'
import { unreachable } from '../unreachable.ts'
import type { ChainIdentity } from './payment-uri.ts'

/**
 * What the buyer's page shows. `checking` lies between the deadline and the reading of the chain that proves
 * that nothing came; `underpaid` is a payment that falls short, confirmed or not.
 */
export const CHECKOUT_STATES = [
  'awaiting',
  'checking',
  'detected',
  'confirming',
  'underpaid',
  'paid',
  'overpaid',
  'expired',
  'cancelled',
  'review',
] as const
export type CheckoutState = (typeof CHECKOUT_STATES)[number]

/** `required` is null where the chain's own word decides, and no count of blocks. */
type Confirmations = { readonly reached: number; readonly required: number | null }

/** A payment as its sender may see it. */
export type CheckoutPayment = {
  readonly txid: string
  readonly asset: PaymentAsset
  /** Base units of its own asset. */
  readonly amount: bigint
  readonly status: 'detected' | 'confirming' | 'confirmed'
  readonly confirmations: Confirmations
  /** The block that holds it; null while none does. */
  readonly blockHash: string | null
  /** The invoice's address that got it; empty where that is another coin's, which the invoice had before. */
  readonly paidTo: string
  /** Why the merchant must look at it; null where it counts. */
  readonly reviewReason: PaymentReviewReason | null
}

export type CheckoutView = {
  /** Equal exactly where nothing that the page shows has changed. */
  readonly version: string
  readonly state: CheckoutState
  readonly livemode: boolean
  readonly asset: AssetId
  /** The same token on other networks, which counts as well; where dollars are asked for, other issuers' too. */
  readonly alsoAccepts: readonly AssetId[]
  readonly address: string
  /** How the payment link names the network, where it is not the public one. */
  readonly identity: ChainIdentity | undefined
  /** US cents; null where the merchant fixed a coin amount. */
  readonly usdCents: bigint | null
  /** What the shop asked for in its own currency, and US dollars per unit of it; null where it asked for dollars or coins. */
  readonly price: (CurrencyAmount & { readonly usdPerUnit: string }) | null
  /** The locked price, decimal US dollars per coin; null with `usdCents`. */
  readonly usdPerUnit: string | null
  /** The same of each token that counts, by its ticker, where dollars of any issuer are asked for. */
  readonly tokenRates: { readonly [ticker: string]: string } | null
  /** Base units of `asset`: the price, what was seen, what is final, what is still to send, what was too much. */
  readonly amount: bigint
  readonly received: bigint
  readonly confirmed: bigint
  readonly remaining: bigint
  readonly excess: bigint
  /** The address may be paid now: the page shows it, with a countdown to the deadline. */
  readonly payable: boolean
  readonly deadlineMs: number
  readonly createdAtMs: number
  readonly paidAtMs: number | null
  /** How far the slowest payment under way is; null where none is. */
  readonly progress: Confirmations | null
  /** Why the merchant must look, on a `review` page. */
  readonly reviewReason: ReviewReason | null
  /** The merchant took what had come as full payment. */
  readonly accepted: boolean
  readonly payments: readonly CheckoutPayment[]
  /** A payment was replaced and can't arrive, and no other came. */
  readonly wasReplaced: boolean
  /** What was read of the chain before the page said that nothing came; null where it does not say so. */
  readonly expiryReading: ExpiryReading | null
  /** The card purchase that the buyer went away for; null where the page does not wait for one. */
  readonly card: CardWaiting | null
}

/** What a card purchase under way is shown in when the address may not be paid any more. */
const UNPAID_PAST_DEADLINE: readonly CheckoutState[] = ['checking', 'expired', 'underpaid']

/** The whole content of an invoice's page at `nowMs`, from the facts alone. */
export function checkoutView(
  invoice: Invoice,
  nowMs: number,
  networkFacts: NetworkFacts,
  card: CardWaiting | null = null,
): CheckoutView {
  const amounts = amountsOf(invoice)
  const state = stateOf(invoice, nowMs)
  const isOpen = nowMs <= invoice.expiresAtMs
  const payable = isOpen && (state === 'awaiting' || state === 'underpaid')
  const content: Omit<CheckoutView, 'version'> = {
    state,
    livemode: invoice.livemode,
    asset: invoice.asset,
    alsoAccepts: invoice.alsoAccepts,
    address: invoice.address,
    identity: networkFacts.identityOf?.(networkOf(invoice.asset, invoice.livemode)),
    usdCents: invoice.usdCents,
    price: shownPrice(invoice),
    usdPerUnit: invoice.rate?.usdPerUnit ?? null,
    tokenRates: tokenPricesOf(invoice),
    amount: invoice.amount,
    received: amounts.detected,
    confirmed: amounts.confirmed,
    remaining: amounts.remaining,
    excess: state === 'overpaid' ? amounts.confirmed - invoice.amount : 0n,
    payable,
    deadlineMs: invoice.expiresAtMs,
    createdAtMs: invoice.createdAtMs,
    paidAtMs: state === 'paid' || state === 'overpaid' ? invoice.paidAtMs : null,
    progress: progressOf(invoice, networkFacts),
    reviewReason: state === 'review' ? (reviewReasonOf(invoice) ?? cancelledReason(invoice)) : null,
    accepted: statusReasonOf(invoice) === 'accepted',
    payments: livePayments(invoice).map((payment) => ({
      txid: payment.txid,
      asset: payment.asset,
      amount: payment.amount,
      status: shownStatus(payment),
      confirmations: confirmationsOf(payment, networkFacts),
      blockHash: payment.block?.hash ?? null,
      paidTo: isAssetId(payment.asset) ? addressOf(invoice, payment.asset) : '',
      reviewReason: isUnderReview(payment) ? payment.reviewReason : null,
    })),
    wasReplaced: wasReplaced(invoice),
    expiryReading: state === 'expired' ? invoice.expiryReading : null,
    card: payable || (isUnderWay(card) && UNPAID_PAST_DEADLINE.includes(state)) ? card : null,
  }
  return { version: fingerprint(content), ...content }
}

function shownPrice({ price }: Invoice): CheckoutView['price'] {
  if (price === null) return null
  return { amount: price.amount, currency: price.currency, usdPerUnit: price.rate.usdPerUnit }
}

function tokenPricesOf({ tokenRates }: Invoice): CheckoutView['tokenRates'] {
  if (tokenRates === null) return null
  return Object.fromEntries(
    Object.entries(tokenRates).flatMap(([ticker, rate]) =>
      rate === undefined ? [] : [[ticker, rate.usdPerUnit]],
    ),
  )
}

function stateOf(invoice: Invoice, nowMs: number): CheckoutState {
  const status = deriveStatus(invoice)
  switch (status) {
    case 'awaiting_payment':
      return nowMs <= invoice.expiresAtMs ? 'awaiting' : 'checking'
    case 'payment_detected':
    case 'confirming':
      return stateUnderWay(invoice, nowMs, status === 'confirming' ? 'confirming' : 'detected')
    case 'partially_paid':
      return 'underpaid'
    case 'manual_review':
      return 'review'
    case 'paid':
    case 'overpaid':
    case 'expired':
    case 'cancelled':
      return status
    default:
      return unreachable(status)
  }
}

/** While a payment is under way the page asks for the rest if it is short and there is time to send it. */
function stateUnderWay(invoice: Invoice, nowMs: number, otherwise: 'detected' | 'confirming'): CheckoutState {
  if (cancelledReason(invoice) !== null) return 'review'
  return isShort(invoice) && nowMs <= invoice.expiresAtMs ? 'underpaid' : otherwise
}

/** Money that came for a cancelled invoice goes to the merchant's decision, whether it is final yet or not. */
function cancelledReason(invoice: Invoice): ReviewReason | null {
  return invoice.payments.some((payment) => isUnderReview(payment) && payment.reviewReason === 'cancelled')
    ? 'cancelled'
    : null
}

function progressOf(invoice: Invoice, networkFacts: NetworkFacts): Confirmations | null {
  let slowest: Confirmations | null = null
  for (const payment of invoice.payments) {
    if (!isFollowed(invoice, payment) || payment.status === 'confirmed') continue
    const own = confirmationsOf(payment, networkFacts)
    if (slowest === null || missing(own) > missing(slowest)) slowest = own
  }
  return slowest
}

/** Blocks still to come; unknown where the chain's own finality decides. */
function missing({ reached, required }: Confirmations): number {
  return required === null ? Number.POSITIVE_INFINITY : required - reached
}

/** Confirmations as `reached` of `required`, never more than are required: past that they mean nothing. */
function confirmationsOf(payment: Payment, networkFacts: NetworkFacts): Confirmations {
  const required = countOf(payment.finality)
  if (payment.status === 'confirmed') return { reached: required ?? 1, required }
  if (payment.block === null) return { reached: 0, required }
  const tip = networkFacts.tipHeightOf(payment.network) ?? payment.block.height
  const reached = Math.max(1, tip - payment.block.height + 1)
  return { reached: required === null ? reached : Math.min(reached, required), required }
}

/** Dust and what left the chain are the merchant's business, not the buyer's. */
function livePayments(invoice: Invoice): Payment[] {
  return shownPayments(invoice).filter(
    (payment) => isLive(payment) && (isCounting(invoice, payment) || payment.reviewReason !== null),
  )
}

/** Whether what the buyer sent last can't arrive any more. A replacement that pays counts in its place. */
function wasReplaced(invoice: Invoice): boolean {
  const own = invoice.payments.filter(({ dust, asset }) => !dust && isAskedFor(invoice, asset))
  return own.some(({ status }) => status === 'replaced') && !own.some((payment) => isLive(payment))
}

function shownStatus(payment: Payment): CheckoutPayment['status'] {
  switch (payment.status) {
    case 'detected':
    case 'confirming':
    case 'confirmed':
      return payment.status
    default:
      throw new Error(`a payment that is ${payment.status} is not shown`)
  }
}

const FNV_PRIME = 0x01000193
/** FNV-1a's own offset, and another for the second queue. */
const OFFSETS = [0x811c9dc5, 0x9e3779b9] as const

/**
 * A short text that differs where the JSON of two values differs: two 32-bit FNV-1a queues. It distinguishes change from
 * no change among versions of one page; it proves nothing against someone who wants a collision.
 */
function fingerprint(value: unknown): string {
  const text = JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part))
  return OFFSETS.map((offset) => queue(text, offset).toString(36)).join('')
}

function queue(text: string, offset: number): number {
  let hash = offset
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME)
  }
  return hash >>> 0
}
