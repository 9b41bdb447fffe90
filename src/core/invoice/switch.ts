import { ASSETS, type AssetId } from '../assets.ts'
import type { AssetRefused } from '../checkout/coin-offers.ts'
import { coinAmountForUsd, formatUsd, parsePrice } from '../money.ts'
import type { Market } from './market.ts'
import { type DepositPlan, depositPlan, planInvoice } from './plan.ts'
import { deriveStatus, wasSettled } from './status.ts'
import type { Invoice } from './types.ts'

export type SwitchPlan =
  | {
      readonly kind: 'switch'
      readonly next: Invoice
      /** Where its address comes from, should it have none there yet; and those of other key families that it accepts. */
      readonly deposit: DepositPlan
      readonly depositsBeside: readonly DepositPlan[]
    }
  /** It already is the invoice's coin: its amount is locked and stays. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'not_allowed' }
  | { readonly kind: 'paid_already' }
  | { readonly kind: 'closed' }
  | AssetRefused

/**
 * The invoice in another coin, at the price of the moment, with the deadline it has (`next.address` is still the
 * former coin's). Refused from the first payment on, whatever became of it: its sender expects the price it paid.
 */
export function planSwitch(invoice: Invoice, asset: AssetId, market: Market, nowMs: number): SwitchPlan {
  if (invoice.alsoAccepts.includes(asset)) return switchNetwork(invoice, asset, market, nowMs)
  if (invoice.alsoAccepts.length > 0 && asset === invoice.asset) return { kind: 'unchanged' }
  const { usdCents } = invoice
  const refused = switchRefusal(invoice, nowMs)
  if (refused !== null) return { kind: refused }
  if (usdCents === null) return { kind: 'not_allowed' }
  if (asset === invoice.asset) return { kind: 'unchanged' }
  const plan = planInvoice(
    { kind: 'usd', usdAmount: formatUsd(usdCents), asset },
    { ...market, nowMs, expiresAtMs: invoice.expiresAtMs },
  )
  if (plan.kind === 'unavailable') return { kind: 'asset_unavailable', reason: plan.code }
  if (plan.kind === 'refused') {
    if (plan.code === 'parameter_invalid') throw new Error('a stored amount is no dollar amount')
    return { kind: 'asset_unavailable', reason: plan.code }
  }
  const { createdAtMs: _quotedAt, ...terms } = plan.terms
  // Addresses of earlier coins stay watched, and money on them keeps the rule it was promised.
  const confirmations = { ...invoice.confirmations, ...terms.confirmations }
  const { deposit, depositsBeside } = plan
  return { kind: 'switch', deposit, depositsBeside, next: { ...invoice, ...terms, confirmations } }
}

/**
 * The same token on another network, or another issuer's: what is due stays, and whatever comes on either counts. Not once the
 * shop got an event that it is paid, and in which asset: also where the chain took that back.
 */
function switchNetwork(invoice: Invoice, asset: AssetId, market: Market, nowMs: number): SwitchPlan {
  const isEnded = invoice.cancelledAtMs !== null || wasSettled(invoice)
  if (isEnded || nowMs >= invoice.expiresAtMs) return { kind: 'closed' }
  const { parameters } = market.supportOf(asset)
  if (parameters === null) return { kind: 'asset_unavailable', reason: 'asset_unavailable' }
  const others = [invoice.asset, ...invoice.alsoAccepts].filter((each) => each !== asset)
  const next = { ...invoice, asset, alsoAccepts: others, ...inTokenOf(invoice, asset) }
  const deposit = depositPlan(asset, invoice.livemode, parameters)
  return { kind: 'switch', deposit, depositsBeside: [], next }
}

/** What is due in another issuer's token, at the rate that was locked for it. */
function inTokenOf(
  { tokenRates, usdCents }: Invoice,
  asset: AssetId,
): Partial<Pick<Invoice, 'amount' | 'rate'>> {
  const { symbol, decimals } = ASSETS[asset]
  const rate = tokenRates?.[symbol]
  const price = rate === undefined ? null : parsePrice(rate.usdPerUnit)
  if (rate === undefined || price === null || usdCents === null) return {}
  return { rate, amount: coinAmountForUsd(usdCents, price, decimals) }
}

/** Why no other coin can be chosen, whichever it is; null where one can. */
function switchRefusal(invoice: Invoice, nowMs: number): 'not_allowed' | 'paid_already' | 'closed' | null {
  if (!invoice.allowAssetSelection) return 'not_allowed'
  if (invoice.payments.some((payment) => !payment.dust)) return 'paid_already'
  if (deriveStatus(invoice) !== 'awaiting_payment' || nowMs >= invoice.expiresAtMs) return 'closed'
  return null
}

/** Whether the buyer may take another coin. */
export const isSwitchable = (invoice: Invoice, nowMs: number): boolean =>
  invoice.usdCents !== null && switchRefusal(invoice, nowMs) === null
