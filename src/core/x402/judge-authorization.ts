import { DISCOVERY_HORIZON_MS } from '../invoice/classify.ts'
import { isLive } from '../invoice/status.ts'
import type { Invoice } from '../invoice/types.ts'
import { isX402Asset } from './x402-assets.ts'

/** x402 version 2 (specs/x402-specification-v2.md of the protocol's own repository). */
export const X402_VERSION = 2

/** How an invoice may be paid through x402's scheme `exact`. */
export type X402Terms = {
  /** CAIP-2, `eip155:8453`. */
  readonly network: string
  /** Of the token (its contract or mint), and whom it pays. */
  readonly asset: string
  readonly payTo: string
  /** Base units of the token. */
  readonly amount: bigint
  /** What the scheme adds on this family of chains: words of the token's EIP-712 domain, or who pays the fee. */
  readonly extra: { readonly name: string; readonly version: string } | { readonly feePayer: string }
}

/** An EIP-3009 transfer that its holder signed. Addresses and nonce are lower-case hex with 0x, times Unix seconds. */
type PayerAuthorization = {
  readonly from: string
  readonly to: string
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly nonce: string
}

/** What the payer says that it accepted of what was offered. */
type AcceptedTerms = {
  readonly scheme: string
  readonly network: string
  readonly asset: string
  readonly payTo: string
  readonly amount: string
}

/** The protocol's own words (§9 of its specification). */
type X402Refusal =
  | 'invalid_payment_requirements'
  | 'invalid_exact_evm_payload_recipient_mismatch'
  | 'invalid_exact_evm_payload_authorization_value'
  | 'invalid_exact_evm_payload_authorization_valid_after'
  | 'invalid_exact_evm_payload_authorization_valid_before'
  | 'invalid_exact_evm_payload_signature'

/** The client makes its authorization good for so long. */
const X402_TIMEOUT_SECONDS = 300
/** What has less time left than this may be too late in a block, and cost gas for nothing. */
export const SETTLE_SECONDS_MIN = 30n
export const TOO_LATE = 'invalid_exact_evm_payload_authorization_valid_before' satisfies X402Refusal

/** What a client is offered (§5.1). */
export const paymentRequirements = (terms: X402Terms) => ({
  scheme: 'exact' as const,
  network: terms.network,
  amount: terms.amount.toString(),
  asset: terms.asset,
  payTo: terms.payTo,
  maxTimeoutSeconds: X402_TIMEOUT_SECONDS,
  extra: terms.extra,
})

/** Whether an invoice asks for a token that is paid so, and nothing has come to it or ended it. */
function isPayableInToken(invoice: Invoice): boolean {
  const isPaidAlready = invoice.payments.some((payment) => !payment.dust && isLive(payment))
  const isEnded = invoice.cancelledAtMs !== null || invoice.paidAtMs !== null
  return isX402Asset(invoice.asset) && !isEnded && !isPaidAlready
}

/** Whether an invoice can be paid through x402 now: it asks for such a token, and nothing has come to it yet. */
export const isPayableByAuthorization = (invoice: Invoice, nowMs: number): boolean =>
  isPayableInToken(invoice) && invoice.expiredAtMs === null && nowMs < invoice.expiresAtMs

/** Whether what was accepted in time would still count if it came at `nowMs`: else its payer keeps the money. */
export const wouldCount = (invoice: Invoice, value: bigint, nowMs: number): boolean =>
  isPayableInToken(invoice) && invoice.amount === value && nowMs <= invoice.expiresAtMs + DISCOVERY_HORIZON_MS

/** Whether a payer accepted what was offered. `isSame` compares addresses, which some chains write in either case. */
export const isOffered = (
  accepted: AcceptedTerms,
  terms: X402Terms,
  isSame: (one: string, other: string) => boolean = (one, other) => one === other,
): boolean =>
  accepted.scheme === 'exact' &&
  accepted.network === terms.network &&
  isSame(accepted.asset, terms.asset) &&
  isSame(accepted.payTo, terms.payTo) &&
  accepted.amount === terms.amount.toString()

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

/**
 * Why an authorization does not pay this invoice, by everything but its signature and the chain; null where it does. The
 * amount must be exact: more would be owed back, and less is no payment of this invoice.
 */
export function judgeAuthorization(
  authorization: PayerAuthorization,
  accepted: AcceptedTerms,
  { terms, nowMs }: { readonly terms: X402Terms; readonly nowMs: number },
): X402Refusal | null {
  if (!isOffered(accepted, terms, isSame)) return 'invalid_payment_requirements'
  if (!isSame(authorization.to, terms.payTo)) return 'invalid_exact_evm_payload_recipient_mismatch'
  if (authorization.value !== terms.amount) return 'invalid_exact_evm_payload_authorization_value'
  const now = BigInt(Math.floor(nowMs / 1_000))
  // The contract compares with the block's time, and neither end is within.
  if (authorization.validAfter >= now) return 'invalid_exact_evm_payload_authorization_valid_after'
  if (authorization.validBefore < now + SETTLE_SECONDS_MIN) return TOO_LATE
  return null
}
