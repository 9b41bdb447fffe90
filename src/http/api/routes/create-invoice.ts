import type { z } from 'zod'
import { priceIn, supportIn } from '../../../core/invoice/market.ts'
import { type InvoicePlan, planInvoice, type RequestedTotal } from '../../../core/invoice/plan.ts'
import type { PaymentRules } from '../../../core/payment-rules.ts'
import { type LeasedAddresses, takeAddresses } from '../../../flows/steps/address-leases.ts'
import { commitNewInvoice } from '../../../flows/steps/commit-new-invoice.ts'
import { queueBuyerEmails } from '../../../flows/steps/queue-buyer-emails.ts'
import type { Tx } from '../../../postgres/transaction.ts'
import { createInvoiceBody, invoiceView } from '../../../wire/invoice.ts'
import { invoiceViewOf, refuseReturnUrl } from '../../views/checkout-views.ts'
import type { NetworkView } from '../network-states.ts'
import { ApiProblem } from '../problem.ts'
import { type Created, defineRoute, type RouteDeps, type RouteRequest } from '../route.ts'

/** The signer fills a pool within a second or two. */
const NO_ADDRESS_HEADERS = { 'retry-after': '1' }

export const createInvoiceRoute = defineRoute({
  method: 'post',
  path: '/invoices',
  operationId: 'createInvoice',
  tag: 'Invoices',
  summary: 'Create an invoice',
  description:
    'One call for each order. Give `usd_amount`, which is turned into coins at the current price, `price` in your own currency, which is turned into dollars first, or `amount` in coins with `asset`. Store `id` with your order and send the buyer to `checkout_url`.',
  scope: 'invoices:write',
  body: createInvoiceBody,
  example: { usd_amount: '49.99', asset: 'LTC', external_reference: 'order-1042' },
  success: { status: 201, description: 'The invoice was created.', schema: invoiceView },
  problems: [
    'amount_too_small',
    'amount_too_large',
    'asset_not_accepted',
    'open_invoice_limit_reached',
    'rate_unavailable',
    'asset_unavailable',
  ],

  prepare: async (deps, { tenant, body }) => {
    const [rules, networks, isLimitReached] = await Promise.all([
      deps.rulesOf(tenant),
      deps.networks.read(),
      deps.openInvoices.isReached(tenant, 'shop'),
    ])
    const plan = planInvoice(
      { ...requestedAmount(body), asset: body.asset ?? null },
      {
        livemode: tenant.livemode,
        rules,
        supportOf: supportIn(networks, tenant.livemode),
        priceOf: priceIn(deps.prices, tenant.livemode),
        currencyRateOf: (currency) => deps.currencyRates.quote(currency, tenant.livemode),
        nowMs: deps.clock().getTime(),
      },
    )
    return { plan, networks, isLimitReached, rules }
  },

  refuse: (_deps, { body, tenant }, { plan }) => {
    refuseReturnUrl(body.return_url, tenant.livemode)
    if (plan.kind === 'refused') throw new ApiProblem(plan.code, { param: plan.param })
  },

  ahead: (deps, request, { plan, networks, isLimitReached, rules }) => {
    if (plan.kind !== 'planned' || isLimitReached) return null
    refuseReturnUrl(request.body.return_url, request.tenant.livemode)
    const taken = takeAddresses(deps.leases, plan, request.tenant.merchantId, deps.clock())
    if (taken === null) return null
    return {
      create: (tx) => createPlanned(deps, request, tx, { plan, networks, rules, leased: taken.leased }),
      giveBack: taken.giveBack,
    }
  },

  create: async (deps, request, tx, { plan, networks, isLimitReached, rules }) => {
    refuseReturnUrl(request.body.return_url, request.tenant.livemode)
    if (plan.kind === 'refused') throw new ApiProblem(plan.code, { param: plan.param })
    if (isLimitReached) throw new ApiProblem('open_invoice_limit_reached')
    if (plan.kind === 'unavailable') throw unavailable(plan)
    return createPlanned(deps, request, tx, { plan, networks, rules })
  },
})

async function createPlanned(
  deps: RouteDeps,
  { body, tenant, requestId }: RouteRequest<undefined, z.output<typeof createInvoiceBody>>,
  tx: Tx,
  planned: {
    readonly plan: Extract<InvoicePlan, { kind: 'planned' }>
    readonly networks: NetworkView
    readonly rules: PaymentRules
    readonly leased?: LeasedAddresses
  },
): Promise<Created<z.output<typeof invoiceView>>> {
  const { plan, networks, rules, leased } = planned
  const created = await commitNewInvoice(tx, {
    tenant,
    plan,
    details: {
      allowAssetSelection: body.allow_asset_selection ?? false,
      customerEmail: body.customer_email ?? null,
      externalReference: body.external_reference ?? null,
      description: body.description ?? null,
      metadata: body.metadata ?? null,
      returnUrl: body.return_url ?? null,
    },
    networkFacts: networks.networkFacts,
    issuedAddresses: deps.issuedAddresses,
    ...(leased === undefined ? {} : { leased }),
    serviceFeeBps: deps.serviceFeeBps,
    requestId,
  })
  if (created.kind === 'no_address') {
    throw new ApiProblem('asset_unavailable', { param: 'asset', headers: NO_ADDRESS_HEADERS })
  }
  const emails = queueBuyerEmails(tx, deps, created.invoice, rules.buyerEmails)
  let deliveries = 0
  return {
    view: invoiceViewOf(deps, networks, created.invoice, NO_LINKS),
    written: Promise.all([created.written, emails]).then(([queued]) => {
      deliveries = queued.deliveries
    }),
    afterCommit: () => {
      deps.openInvoices.created(tenant, 'shop')
      if (deliveries > 0) deps.notifier.deliveriesWaiting()
    },
  }
}

/** What the API creates comes by no payment link. */
const NO_LINKS: ReadonlyMap<string, string> = new Map()

function unavailable({ code, currency, reason }: Extract<InvoicePlan, { kind: 'unavailable' }>): ApiProblem {
  if (currency === undefined)
    return new ApiProblem(code, { param: 'asset', ...(reason === undefined ? {} : { message: reason }) })
  const message = `There is no trustworthy rate for ${currency} at the moment. Try again soon or give usd_amount.`
  return new ApiProblem(code, { param: 'price.currency', message })
}

/** The schema has made sure that exactly one of the three is there. */
function requestedAmount(body: z.output<typeof createInvoiceBody>): RequestedTotal {
  if (body.price !== undefined) return { kind: 'price', price: body.price }
  if (body.amount !== undefined) return { kind: 'coin', amount: body.amount }
  return { kind: 'usd', usdAmount: body.usd_amount ?? '' }
}
