import { ASSET_IDS, ASSETS, type AssetId, type KeyFamily } from './assets.ts'
import { BUYER_EMAIL_SETTINGS, BUYER_LANGUAGES, type BuyerEmailRules } from './checkout/buyer-emails.ts'
import { type Finality, hasBlockTags, isFinalityFor } from './finality.ts'
import type { ConfirmationsByAsset } from './invoice/types.ts'

/** Payment windows a merchant may choose, in minutes (spec §8). */
export const WINDOW_MINUTES = [15, 30, 60, 180, 720, 1440] as const
const DEFAULT_WINDOW_MINUTES = 60
/** No checkout is open for longer (limits of `duration_minutes`). */
export const WINDOW_MS_MAX = 24 * 3_600_000

/** min(percent × amount, cap): how far a sum may be off and still settle. */
export type Tolerance = {
  /** Hundredths of a percent of the amount. */
  readonly basisPoints: number
  /** US cents. */
  readonly capCents: bigint
}

/** What makes payments final for invoices under 1,000 US dollars, under 10,000, and above. */
type ConfirmationTiers = readonly [Finality, Finality, Finality]

/** What a merchant has set for one mode; null means the current default. */
export type PaymentRules = {
  /** Null: every asset that is on by default; in live mode those whose network runs here. */
  readonly acceptedAssets: readonly AssetId[] | null
  readonly defaultAsset: AssetId | null
  readonly windowMinutes: number
  readonly toleranceUnder: Tolerance
  readonly toleranceOver: Tolerance
  /** Base units; a merchant can only raise an asset's minimum. */
  readonly minimums: { readonly [asset in AssetId]?: bigint }
  /** Absent: the default of the asset's chains. */
  readonly confirmations: { readonly [asset in AssetId]?: ConfirmationTiers }
  /** Whether an invoice in a token may be paid in that token on every accepted network. */
  readonly anyNetwork: boolean
  /** Whether each dollar token counts as a dollar on an invoice in dollars of any issuer, in place of its own rate. */
  readonly stablecoinsAtPar: boolean
  /** Whether a buyer may reopen an expired invoice at the current price. */
  readonly reopenExpired: boolean
  /** Whether buyers may ask for the receipt by email. */
  readonly receiptEmails: boolean
  /** What buyers whom an invoice names are emailed. */
  readonly buyerEmails: BuyerEmailRules
  /** Whether an address for SOL gets what an account must hold, for wallets that pay no address that holds nothing. */
  readonly solanaFundedAddresses: boolean
  /** Base units that payouts may take out of the balance in a day; absent: no limit. */
  readonly payoutDailyLimits: { readonly [asset in AssetId]?: bigint }
}

const NO_TOLERANCE: Tolerance = { basisPoints: 0, capCents: 0n }
const BASIS_POINTS_MAX = 5_000
export const CONFIRMATIONS_MAX = 1_000

const DEFAULT_CONFIRMATIONS: { readonly [family in KeyFamily]: ConfirmationTiers } = {
  bitcoin: [1, 3, 6],
  litecoin: [6, 12, 24],
  evm: ['safe', 'safe', 'finalized'],
  solana: ['finalized', 'finalized', 'finalized'],
}

/** What makes a merchant's payments in an asset final, by what an invoice is worth. */
export const confirmationTiersOf = (rules: PaymentRules, asset: AssetId): ConfirmationTiers =>
  rules.confirmations[asset] ?? DEFAULT_CONFIRMATIONS[ASSETS[asset].keyFamily]

/** US cents from which the second and the third tier of confirmations count. */
const TIER_CENTS = [100_000n, 1_000_000n] as const

/**
 * The rules of a stored document, `{}` included. Whatever is absent or not understood is the default, so that an
 * older document stays good; what may be written is checked where it is written.
 */
export function readPaymentRules(document: unknown): PaymentRules {
  const fields = isObject(document) ? document : {}
  const accepted = fields.accepted_assets
  return {
    acceptedAssets: Array.isArray(accepted) ? ASSET_IDS.filter((asset) => accepted.includes(asset)) : null,
    defaultAsset: ASSET_IDS.find((asset) => asset === fields.default_asset) ?? null,
    windowMinutes:
      WINDOW_MINUTES.find((minutes) => minutes === fields.window_minutes) ?? DEFAULT_WINDOW_MINUTES,
    toleranceUnder: readTolerance(fields.tolerance_under),
    toleranceOver: readTolerance(fields.tolerance_over),
    minimums: readByAsset(fields.minimums, readUnits),
    confirmations: readByAsset(fields.confirmations, readTiers),
    anyNetwork: fields.any_network === true,
    stablecoinsAtPar: fields.stablecoins_at_par === true,
    reopenExpired: fields.reopen_expired === true,
    receiptEmails: fields.receipt_emails === true,
    buyerEmails: {
      link: fields[BUYER_EMAIL_SETTINGS.link] === true,
      reminder: fields[BUYER_EMAIL_SETTINGS.reminder] === true,
      receipt: fields[BUYER_EMAIL_SETTINGS.receipt] === true,
      language: BUYER_LANGUAGES.find((tag) => tag === fields.buyer_email_language) ?? 'en',
    },
    solanaFundedAddresses: fields.solana_funded_addresses === true,
    payoutDailyLimits: readByAsset(fields.payout_daily_limits, readUnits),
  }
}

/** The smallest invoice in an asset, base units: its own minimum or its chain's, or the merchant's where that is higher. */
export function minimumOf(rules: PaymentRules, asset: AssetId, chainMinimum: bigint | null = null): bigint {
  const own = ASSETS[asset].minimum ?? chainMinimum ?? 0n
  const raised = rules.minimums[asset] ?? 0n
  return raised > own ? raised : own
}

/** What a merchant accepts who chose nothing, as far as it runs here. */
export const ON_BY_DEFAULT: readonly AssetId[] = ASSET_IDS.filter((id) => ASSETS[id].isOnByDefault)

/** The assets a merchant accepts. `isConfigured` says whether an asset's network runs here. */
export function acceptedAssets(
  rules: PaymentRules,
  livemode: boolean,
  isConfigured: (asset: AssetId) => boolean,
): readonly AssetId[] {
  if (rules.acceptedAssets !== null) return rules.acceptedAssets
  return livemode ? ON_BY_DEFAULT.filter(isConfigured) : ON_BY_DEFAULT
}

/** Where the merchant named no default: the first of these that is accepted and whose network runs here. */
const DEFAULT_ASSET_ORDER: readonly AssetId[] = ['USDC_BASE', ...ASSET_IDS.filter((id) => id !== 'USDC_BASE')]

/** The asset of an invoice that names none; null where the merchant accepts nothing. */
export function defaultAsset(
  rules: PaymentRules,
  accepted: readonly AssetId[],
  isConfigured: (asset: AssetId) => boolean,
): AssetId | null {
  if (rules.defaultAsset !== null && accepted.includes(rules.defaultAsset)) return rules.defaultAsset
  const candidates = DEFAULT_ASSET_ORDER.filter((asset) => accepted.includes(asset))
  return candidates.find(isConfigured) ?? candidates[0] ?? null
}

/**
 * What makes a payment of an invoice final. The highest tier if its value is unknown; one block on a private chain,
 * which nobody else can reorganise, unless it has block tags, which advance soon.
 */
export function confirmationsFor(
  rules: PaymentRules,
  asset: AssetId,
  usdCents: bigint | null,
  parameters: string,
): ConfirmationsByAsset {
  const tiers = confirmationTiersOf(rules, asset)
  if (parameters === 'regtest' && !hasBlockTags(asset)) return { [asset]: 1 }
  if (usdCents === null || usdCents >= TIER_CENTS[1]) return { [asset]: tiers[2] }
  return { [asset]: usdCents >= TIER_CENTS[0] ? tiers[1] : tiers[0] }
}

/** A tolerance in base units, for an amount worth `usdCents`; zero if its worth is unknown. */
export function toleranceFor(tolerance: Tolerance, amount: bigint, usdCents: bigint | null): bigint {
  if (usdCents === null || usdCents === 0n) return 0n
  const byPercent = (amount * BigInt(tolerance.basisPoints)) / 10_000n
  const byCap = (amount * tolerance.capCents) / usdCents
  return byPercent < byCap ? byPercent : byCap
}

function readTolerance(value: unknown): Tolerance {
  if (!isObject(value)) return NO_TOLERANCE
  const { basis_points: basisPoints, cap_cents: capCents } = value
  if (!isCount(basisPoints, BASIS_POINTS_MAX) || !isCount(capCents, Number.MAX_SAFE_INTEGER))
    return NO_TOLERANCE
  return { basisPoints, capCents: BigInt(capCents) }
}

function readUnits(value: unknown): bigint | null {
  return typeof value === 'string' && /^[0-9]{1,60}$/.test(value) ? BigInt(value) : null
}

function readTiers(value: unknown, asset: AssetId): ConfirmationTiers | null {
  if (!Array.isArray(value) || value.length !== 3) return null
  const [first, second, third]: unknown[] = value
  const isTier = (tier: unknown): tier is Finality => isFinalityFor(asset, tier, CONFIRMATIONS_MAX)
  return isTier(first) && isTier(second) && isTier(third) ? [first, second, third] : null
}

function readByAsset<Value>(
  value: unknown,
  read: (field: unknown, asset: AssetId) => Value | null,
): { [asset in AssetId]?: Value } {
  const byAsset: { [asset in AssetId]?: Value } = {}
  if (!isObject(value)) return byAsset
  for (const asset of ASSET_IDS) {
    const field = read(value[asset], asset)
    if (field !== null) byAsset[asset] = field
  }
  return byAsset
}

const isCount = (value: unknown, max: number): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= max

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
