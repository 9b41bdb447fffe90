import type { z } from 'zod'
import { ASSET_IDS, ASSETS, type AssetId } from '../../core/assets.ts'
import { formatCoinAmount, formatUsd } from '../../core/money.ts'
import { confirmationTiersOf, type PaymentRules, type Tolerance } from '../../core/payment-rules.ts'
import type { Customer } from '../../db/invoices/customers.ts'
import type { DashboardApiKey } from '../../db/people/api-keys.ts'
import type { StoredAuditEntry } from '../../db/people/audit-log.ts'
import type { LoggedRequest } from '../../db/requests/request-log.ts'
import type { Tenant } from '../../postgres/transaction.ts'
import type {
  apiKeyView,
  auditEntryView,
  customerView,
  paymentRulesView,
  requestLogView,
} from '../../wire/dashboard.ts'

/** A key as the dashboard shows it. */
export function apiKeyViewOf(key: DashboardApiKey): z.output<typeof apiKeyView> {
  return {
    id: key.id,
    object: 'api_key',
    livemode: key.livemode,
    name: key.name,
    last_characters: key.lastCharacters,
    scopes: [...key.scopes],
    created_at: key.createdAt.toISOString(),
    revoked_at: key.revokedAt?.toISOString() ?? null,
  }
}

/** An entry of the audit log as the dashboard shows it. */
export function auditEntryViewOf(entry: StoredAuditEntry): z.output<typeof auditEntryView> {
  return {
    id: entry.id,
    object: 'audit_entry',
    livemode: entry.livemode,
    number: entry.number,
    actor: entry.actor,
    action: entry.action,
    resource_id: entry.resourceId,
    phase: entry.phase,
    code: entry.code,
    request_id: entry.requestId,
    created_at: new Date(entry.createdAtMs).toISOString(),
    hash: entry.hash.toString('hex'),
  }
}

/** The payment rules as the dashboard shows them. */
export function paymentRulesViewOf(
  rules: PaymentRules,
  livemode: boolean,
): z.output<typeof paymentRulesView> {
  return {
    object: 'payment_rules',
    livemode,
    accepted_assets: rules.acceptedAssets === null ? null : [...rules.acceptedAssets],
    default_asset: rules.defaultAsset,
    window_minutes: rules.windowMinutes,
    tolerance_under: toleranceView(rules.toleranceUnder),
    tolerance_over: toleranceView(rules.toleranceOver),
    minimums: coinsByAsset(rules.minimums),
    confirmations: Object.fromEntries(
      ASSET_IDS.map((asset) => {
        const [first, second, third] = confirmationTiersOf(rules, asset)
        return [asset, [first, second, third]]
      }),
    ),
    reopen_expired: rules.reopenExpired,
    any_network: rules.anyNetwork,
    stablecoins_at_par: rules.stablecoinsAtPar,
    receipt_emails: rules.receiptEmails,
    buyer_link_emails: rules.buyerEmails.link,
    buyer_reminder_emails: rules.buyerEmails.reminder,
    buyer_receipt_emails: rules.buyerEmails.receipt,
    buyer_email_language: rules.buyerEmails.language,
    solana_funded_addresses: rules.solanaFundedAddresses,
    payout_daily_limits: coinsByAsset(rules.payoutDailyLimits),
  }
}

function coinsByAsset(units: { readonly [asset in AssetId]?: bigint }): { [asset: string]: string } {
  return Object.fromEntries(
    ASSET_IDS.flatMap((asset) => {
      const amount = units[asset]
      return amount === undefined ? [] : [[asset, formatCoinAmount(amount, ASSETS[asset].decimals)]]
    }),
  )
}

const toleranceView = ({ basisPoints, capCents }: Tolerance) => ({
  percent: formatUsd(BigInt(basisPoints)),
  cap_usd: formatUsd(capCents),
})

/** A request as the dashboard shows it. */
export function requestLogViewOf(request: LoggedRequest): z.output<typeof requestLogView> {
  return {
    id: request.id,
    object: 'request_log',
    livemode: request.livemode,
    request_id: request.requestId,
    caller: request.caller,
    method: request.method,
    route: request.route,
    path: request.path,
    status: request.status,
    error_code: request.errorCode,
    duration_ms: request.durationMs,
    created_at: request.createdAt.toISOString(),
  }
}

/** A customer as the dashboard shows them. */
export function customerViewOf({ livemode }: Tenant, customer: Customer): z.output<typeof customerView> {
  return {
    id: customer.name,
    object: 'customer',
    livemode,
    email: customer.email,
    reference: customer.reference,
    invoices: customer.invoices,
    paid: customer.paid,
    paid_usd: formatUsd(customer.paidCents),
    first_invoice_at: customer.firstAt.toISOString(),
    last_invoice_at: customer.lastAt.toISOString(),
    last_invoice_id: customer.lastId,
  }
}
