import type { z } from 'zod'
import { COINS, PAYMENT_ASSET_IDS } from '../../../core/assets.ts'
import { ENDPOINT_FORMATS } from '../../../core/endpoint/subscriptions.ts'
import { supportIn } from '../../../core/invoice/market.ts'
import { formatCoinAmount, formatUsd } from '../../../core/money.ts'
import { findWaiting, planByIndexes } from '../../../db/invoices/invoice-list.ts'
import { loadPaymentRules } from '../../../db/invoices/payment-rules.ts'
import {
  attemptsByDay,
  countInvoicesByDay,
  medianTimesByDay,
  medianTimesToPay,
  receivedByDay,
} from '../../../db/invoices/statistics.ts'
import { firstIdAt } from '../../../db/list-page.ts'
import { loadMerchantProfile } from '../../../db/people/merchants.ts'
import { NOTICE_KINDS, refusedNotices, setNotice } from '../../../db/people/notices.ts'
import { type BrandingWish, setBranding } from '../../../flows/branding.ts'
import { changePaymentRules } from '../../../flows/change-payment-rules.ts'
import { withReadTransaction } from '../../../postgres/standby.ts'
import { type Tx, withTransaction } from '../../../postgres/transaction.ts'
import { encodeLogo } from '../../../runtime/encode-logo.ts'
import {
  merchantView,
  noticesView,
  paymentRulesView,
  statisticsQuery,
  statisticsView,
  updateMerchantBody,
  updateNoticesBody,
  updatePaymentRulesBody,
} from '../../../wire/dashboard.ts'
import { paymentRulesViewOf } from '../../views/dashboard-views.ts'
import { isOffered } from '../../views/endpoint-view.ts'
import { PICTURE_REFUSED } from '../picture-refused.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute, type RouteDeps, type RouteRequest } from '../route.ts'

export const getMerchantRoute = defineRoute({
  method: 'get',
  path: '/merchant',
  operationId: 'getMerchant',
  tag: 'Dashboard',
  summary: 'Read the shop',
  description: 'Its name and look, what its receipts say of it, and your role in it.',
  scope: null,
  dashboardOnly: true,
  success: { status: 200, description: 'The shop.', schema: merchantView },
  problems: [],

  handler: (deps, request) => merchantViewOf(deps, request),
})

export const updateMerchantRoute = defineRoute({
  method: 'patch',
  path: '/merchant',
  operationId: 'updateMerchant',
  tag: 'Dashboard',
  summary: "Change the look of the buyer's pages, who sells, and its currency",
  description: 'Omitted fields stay as they are; null restores the default. Both modes look the same.',
  scope: null,
  dashboardOnly: true,
  managers: true,
  body: updateMerchantBody,
  example: { brand_name: 'Corner Coffee', brand_colour: '#1a73e8' },
  success: { status: 200, description: 'The shop as it is now.', schema: merchantView },
  problems: [],

  handler: async (deps, request) => {
    const { body, tenant } = request
    const logo = await readLogo(body.logo)
    const wish: BrandingWish = {
      ...(body.brand_name === undefined ? {} : { name: body.brand_name }),
      ...(body.brand_colour === undefined ? {} : { colour: body.brand_colour }),
      ...(logo === undefined ? {} : { logo }),
      ...(body.legal_name === undefined ? {} : { legalName: body.legal_name }),
      ...(body.postal_address === undefined ? {} : { postalAddress: body.postal_address }),
      ...(body.tax_number === undefined ? {} : { taxNumber: body.tax_number }),
      ...(body.home_currency === undefined ? {} : { homeCurrency: body.home_currency }),
    }
    const set = await setBranding(deps, tenant.merchantId, wish)
    if (set.kind === 'not_found') throw new ApiProblem('not_found')
    if (set.kind === 'invalid') throw new ApiProblem('parameter_invalid', { param: `brand_${set.field}` })
    return merchantViewOf(deps, request)
  },
})

async function readLogo(base64: string | null | undefined): Promise<BrandingWish['logo']> {
  if (base64 === undefined || base64 === null) return base64
  const encoded = await encodeLogo(Buffer.from(base64, 'base64'))
  if (encoded.kind === 'encoded') return encoded.logo
  throw new ApiProblem('parameter_invalid', { param: 'logo', message: PICTURE_REFUSED[encoded.reason] })
}

export const getNoticesRoute = defineRoute({
  method: 'get',
  path: '/notices',
  operationId: 'getNotices',
  tag: 'Dashboard',
  summary: 'Read which emails you get',
  description: 'Emails about live mode, to owners and admins with a confirmed address.',
  scope: null,
  dashboardOnly: true,
  success: { status: 200, description: 'Your switches.', schema: noticesView },
  problems: [],

  handler: (deps, { tenant, callerId }) =>
    withTransaction(deps.pool, tenant, (tx) => noticesViewOf(tx, tenant.merchantId, callerId)),
})

export const updateNoticesRoute = defineRoute({
  method: 'patch',
  path: '/notices',
  operationId: 'updateNotices',
  tag: 'Dashboard',
  summary: 'Choose which emails you get',
  description: 'Each kind can be switched off; omitted fields stay as they are.',
  scope: null,
  dashboardOnly: true,
  body: updateNoticesBody,
  example: { paid: false },
  success: { status: 200, description: 'Your switches as they are now.', schema: noticesView },
  problems: [],

  handler: (deps, { tenant, callerId, body }) =>
    withTransaction(deps.pool, tenant, async (tx) => {
      const { merchantId } = tenant
      for (const kind of NOTICE_KINDS) {
        const wanted = body[kind]
        if (wanted !== undefined) await setNotice(tx, { merchantId, userId: callerId, kind, wanted })
      }
      return noticesViewOf(tx, merchantId, callerId)
    }),
})

/** The merchant as the person at the dashboard sees it. */
async function merchantViewOf(
  deps: RouteDeps,
  { tenant, person }: Pick<RouteRequest, 'tenant' | 'person'>,
): Promise<z.output<typeof merchantView>> {
  const profile = await withTransaction(deps.pool, tenant, (tx) => loadMerchantProfile(tx, tenant.merchantId))
  if (profile === null || person === null) throw new ApiProblem('not_found')
  const { name, email, brandName, brandColour, logoDigest, homeCurrency, createdAt } = profile
  const rate = homeCurrency === null ? null : deps.currencyRates.quote(homeCurrency, tenant.livemode)
  return {
    id: tenant.merchantId,
    object: 'merchant',
    name,
    email,
    brand_name: brandName,
    brand_colour: brandColour,
    logo_url: logoDigest === null ? null : `/logo/${tenant.merchantId}/${logoDigest}.webp`,
    legal_name: profile.legalName,
    postal_address: profile.postalAddress,
    tax_number: profile.taxNumber,
    home_currency: homeCurrency,
    home_currency_usd: rate?.evidence.usdPerUnit ?? null,
    role: person.role,
    sends_mail: deps.sendsMail ?? false,
    webhook_formats: ENDPOINT_FORMATS.filter((format) =>
      isOffered(format, deps.webhookFormats?.offered ?? []),
    ),
    created_at: createdAt.toISOString(),
  }
}

/** Which emails a person gets. */
async function noticesViewOf(
  tx: Tx,
  merchantId: string,
  personId: string,
): Promise<z.output<typeof noticesView>> {
  const refused = new Set(await refusedNotices(tx, merchantId, personId))
  return {
    object: 'notices',
    paid: !refused.has('paid'),
    attention: !refused.has('attention'),
    endpoint_disabled: !refused.has('endpoint_disabled'),
    sign_in: !refused.has('sign_in'),
  }
}

const DAYS_DEFAULT = 30
const DAY_MS = 24 * 3_600_000

export const getStatisticsRoute = defineRoute({
  method: 'get',
  path: '/statistics',
  operationId: 'getStatistics',
  tag: 'Dashboard',
  summary: 'Retrieve payment statistics',
  description:
    'By day in UTC, days without any left out: what was received, and how many of the invoices created are paid by now. What was received by coin, what waits for a decision, and how the newest webhook attempts went.',
  scope: 'invoices:read',
  dashboardOnly: true,
  query: statisticsQuery,
  success: { status: 200, description: 'The figures.', schema: statisticsView },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const count = query.days ?? DAYS_DEFAULT
    const now = deps.clock()
    const today = Math.floor(now.getTime() / DAY_MS)
    const days = Array.from({ length: count }, (_, at) => dayOf(today - count + 1 + at))
    const [first = dayOf(today)] = days
    const [, received, invoices, medians, daily, attempts, waiting] = await withReadTransaction(
      deps,
      tenant,
      (tx) =>
        Promise.all([
          planByIndexes(tx),
          receivedByDay(tx, tenant, first.day),
          countInvoicesByDay(tx, tenant, days),
          medianTimesToPay(tx, tenant, first.firstId),
          medianTimesByDay(tx, tenant, first.firstId),
          attemptsByDay(tx, tenant, first.since),
          findWaiting(tx, tenant, now),
        ]),
    )
    const figuresOf = (rows: typeof received, created: typeof invoices) => ({
      received_usd: formatUsd(rows.reduce((sum, { usdCents }) => sum + usdCents, 0n)),
      created: created.reduce((sum, day) => sum + day.created, 0),
      paid: created.reduce((sum, day) => sum + day.paid, 0),
    })
    const named = [...new Set([...received, ...invoices, ...attempts].map(({ day }) => day))].sort()
    return {
      object: 'statistics' as const,
      livemode: tenant.livemode,
      ...figuresOf(received, invoices),
      needs_review: waiting.length,
      days: named.map((day) => ({
        day,
        ...figuresOf(
          received.filter((row) => row.day === day),
          invoices.filter((row) => row.day === day),
        ),
        exceptions: invoices.find((row) => row.day === day)?.exceptions ?? 0,
        median_seconds_to_pay: daily.get(day) ?? null,
        attempts: attempts.find((row) => row.day === day)?.attempts ?? 0,
        attempts_ok: attempts.find((row) => row.day === day)?.ok ?? 0,
      })),
      assets: PAYMENT_ASSET_IDS.flatMap((asset) => {
        const rows = received.filter((row) => row.asset === asset)
        const units = rows.reduce((sum, { amount }) => sum + amount, 0n)
        const { received_usd } = figuresOf(rows, [])
        const median = medians.get(asset) ?? null
        const coins = formatCoinAmount(units, COINS[asset].decimals)
        return rows.length === 0 && median === null
          ? []
          : [{ asset, received: coins, received_usd, median_seconds_to_pay: median }]
      }),
      webhooks: {
        attempts: attempts.reduce((sum, day) => sum + day.attempts, 0),
        ok: attempts.reduce((sum, day) => sum + day.ok, 0),
      },
    }
  },
})

function dayOf(number: number) {
  const since = new Date(number * DAY_MS)
  const [firstId, nextId] = [
    firstIdAt('invoice', since.getTime(), 0) ?? '',
    firstIdAt('invoice', since.getTime(), DAY_MS) ?? '',
  ]
  return { day: since.toISOString().slice(0, 10), since, firstId, nextId }
}

export const getPaymentRulesRoute = defineRoute({
  method: 'get',
  path: '/payment-rules',
  operationId: 'getPaymentRules',
  tag: 'Dashboard',
  summary: 'Read the payment rules',
  description: 'Accepted coins, windows, tolerances, confirmations and reopening, in the mode asked for.',
  scope: null,
  dashboardOnly: true,
  success: { status: 200, description: 'The rules.', schema: paymentRulesView },
  problems: [],

  handler: async (deps, { tenant }) => {
    const rules = await withTransaction(deps.pool, tenant, (tx) => loadPaymentRules(tx, tenant))
    return paymentRulesViewOf(rules, tenant.livemode)
  },
})

export const updatePaymentRulesRoute = defineRoute({
  method: 'patch',
  path: '/payment-rules',
  operationId: 'updatePaymentRules',
  tag: 'Dashboard',
  summary: 'Change the payment rules',
  description:
    'Omitted fields stay as they are. Existing invoices keep the rules that they were created under.',
  scope: null,
  dashboardOnly: true,
  managers: true,
  live: 'session',
  body: updatePaymentRulesBody,
  example: { window_minutes: 30, tolerance_under: { percent: '0.5', cap_usd: '1.00' } },
  success: { status: 200, description: 'The rules as they are now.', schema: paymentRulesView },
  problems: [],

  handler: async (deps, { tenant, body }) => {
    const supportOf = supportIn(await deps.networks.read(), tenant.livemode)
    const off = body.accepted_assets?.find((asset) => tenant.livemode && !supportOf(asset).isConfigured)
    if (off !== undefined) {
      throw new ApiProblem('parameter_invalid', {
        param: 'accepted_assets',
        message: `${off} cannot be accepted in live mode: this server has no node of its network.`,
      })
    }
    const changed = await changePaymentRules(deps, { tenant, changes: body })
    if (changed.kind === 'refused') throw new ApiProblem('parameter_invalid', changed)
    return paymentRulesViewOf(changed.rules, tenant.livemode)
  },
})
