import { ASSET_IDS, ASSETS, type AssetId } from '../core/assets.ts'
import type { BuyerLanguage } from '../core/checkout/buyer-emails.ts'
import { type Finality, isFinalityFor } from '../core/finality.ts'
import { parseCoinAmount, parseUsd } from '../core/money.ts'
import {
  CONFIRMATIONS_MAX,
  ON_BY_DEFAULT,
  type PaymentRules,
  readPaymentRules,
} from '../core/payment-rules.ts'
import { lockPaymentRules, storePaymentRules } from '../db/invoices/payment-rules.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'

/** Changes as they are asked for; what is absent stays. */
type RuleChanges = {
  readonly accepted_assets?: readonly AssetId[] | null | undefined
  readonly default_asset?: AssetId | null | undefined
  readonly window_minutes?: number | undefined
  readonly tolerance_under?: ToleranceChange | undefined
  readonly tolerance_over?: ToleranceChange | undefined
  readonly minimums?: { readonly [asset in AssetId]?: string | undefined } | undefined
  readonly confirmations?: { readonly [asset in AssetId]?: readonly Finality[] | undefined } | undefined
  readonly reopen_expired?: boolean | undefined
  readonly any_network?: boolean | undefined
  readonly stablecoins_at_par?: boolean | undefined
  readonly receipt_emails?: boolean | undefined
  readonly buyer_link_emails?: boolean | undefined
  readonly buyer_reminder_emails?: boolean | undefined
  readonly buyer_receipt_emails?: boolean | undefined
  readonly buyer_email_language?: BuyerLanguage | undefined
  readonly solana_funded_addresses?: boolean | undefined
  readonly payout_daily_limits?: { readonly [asset in AssetId]?: string | undefined } | undefined
}
type ToleranceChange = { readonly percent: string; readonly cap_usd: string }

type Refused = { readonly kind: 'refused'; readonly param: string; readonly message: string }

/** Changes a merchant's payment rules in one mode. Two at once change one after the other. */
export async function changePaymentRules(
  deps: { pool: Pool; clock: Clock },
  input: { tenant: Tenant; changes: RuleChanges },
): Promise<{ kind: 'changed'; rules: PaymentRules } | Refused> {
  const { tenant, changes } = input
  return withTransaction(deps.pool, tenant, async (tx) => {
    const document = { ...(await lockPaymentRules(tx, tenant)), ...documentOf(changes) }
    const rules = readPaymentRules(document)
    const refused = refuse(changes, rules)
    if (refused !== null) return refused
    await storePaymentRules(tx, tenant, { document, now: deps.clock() })
    return { kind: 'changed', rules }
  })
}

function refuse(changes: RuleChanges, rules: PaymentRules): Refused | null {
  const accepted = rules.acceptedAssets ?? ON_BY_DEFAULT
  if (rules.defaultAsset !== null && !accepted.includes(rules.defaultAsset)) {
    const param = changes.default_asset === undefined ? 'accepted_assets' : 'default_asset'
    return { kind: 'refused', param, message: 'The default coin must be one of the accepted ones.' }
  }
  for (const asset of ASSET_IDS) {
    const tiers = changes.confirmations?.[asset] ?? []
    if (!tiers.every((tier) => isFinalityFor(asset, tier, CONFIRMATIONS_MAX))) {
      const message = `${asset} is final by ${ASSETS[asset].keyFamily === 'solana' ? '"finalized"' : 'a count of blocks, or, on Ethereum and Base, by "safe" or "finalized"'}.`
      return { kind: 'refused', param: `confirmations.${asset}`, message }
    }
    for (const field of ['minimums', 'payout_daily_limits'] as const) {
      const amount = changes[field]?.[asset]
      if (amount === undefined || parseCoinAmount(amount, ASSETS[asset].decimals) !== null) continue
      const message = `${asset} has ${ASSETS[asset].decimals} decimals.`
      return { kind: 'refused', param: `${field}.${asset}`, message }
    }
  }
  return null
}

/** The stored document's fields, as core/payment-rules reads them. */
function documentOf(changes: RuleChanges): { [field: string]: unknown } {
  const {
    tolerance_under: under,
    tolerance_over: over,
    minimums,
    payout_daily_limits: limits,
    ...same
  } = changes
  const given = Object.entries({
    ...same,
    tolerance_under: under === undefined ? undefined : toleranceDocument(under),
    tolerance_over: over === undefined ? undefined : toleranceDocument(over),
    minimums: minimums === undefined ? undefined : unitsDocument(minimums),
    payout_daily_limits: limits === undefined ? undefined : unitsDocument(limits),
  })
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}

const toleranceDocument = ({ percent, cap_usd: cap }: ToleranceChange) => ({
  // Two decimals of a percent are its basis points, as two decimals of a dollar are its cents.
  basis_points: Number(parseUsd(percent)),
  cap_cents: Number(parseUsd(cap)),
})

function unitsDocument(amounts: NonNullable<RuleChanges['minimums']>): { [asset: string]: string } {
  const document: { [asset: string]: string } = {}
  for (const asset of ASSET_IDS) {
    const units = parseCoinAmount(amounts[asset] ?? '', ASSETS[asset].decimals)
    if (units !== null) document[asset] = units.toString()
  }
  return document
}
