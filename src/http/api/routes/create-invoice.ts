import type { z } from 'zod'
import { priceIn, supportIn } from '../../../core/invoice/market.ts'
import { planInvoice } from '../../../core/invoice/plan.ts'
import type { AskedAmount } from '../../../core/invoice/quote.ts'
import { commitNewInvoice } from '../../../flows/steps/commit-new-invoice.ts'
import { createInvoiceBody, invoiceView } from '../../../wire/invoice.ts'
import { refuseReturnUrl } from '../../views/checkout-views.ts'
import { invoiceViewOf } from '../../views/invoice-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

/** The signer fills a pool within a second or two. */
const NO_ADDRESS_HEADERS = { 'retry-after': '1' }

export const createInvoiceRoute = defineRoute({
  method: 'post',
  path: '/invoices',
  operationId: 'createInvoice',
  tag: 'Invoices',
  summary: 'Create an invoice',
  description:
    'One call for each order. Give `usd_amount`, which is turned into coins at the current price, or `amount` in coins with `asset`. Store `id` with your order and send the buyer to `checkout_url`.',
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
      deps.openInvoices.isReached(tenant),
    ])
    const plan = planInvoice(
      { ...askedAmount(body), asset: body.asset ?? null },
      {
        livemode: tenant.livemode,
        rules,
        supportOf: supportIn(networks, tenant.livemode),
        priceOf: priceIn(deps.prices, tenant.livemode),
        nowMs: deps.clock().getTime(),
      },
    )
    return { plan, networks, isLimitReached }
  },

  refuse: (_deps, { body, tenant }, { plan }) => {
    refuseReturnUrl(body.return_url, tenant.livemode)
    if (plan.kind === 'refused') throw new ApiProblem(plan.code, { param: plan.param })
  },

  create: async (deps, request, tx, { plan, networks, isLimitReached }) => {
    refuseReturnUrl(request.body.return_url, request.tenant.livemode)
    if (plan.kind === 'refused') throw new ApiProblem(plan.code, { param: plan.param })
    if (isLimitReached) throw new ApiProblem('open_invoice_limit_reached')
    if (plan.kind === 'unavailable') throw new ApiProblem(plan.code, { param: 'asset' })
    const { body, tenant, requestId } = request
    const created = await commitNewInvoice(tx, {
      tenant,
      plan,
      details: {
        allowAssetSelection: body.allow_asset_selection ?? false,
        customerEmail: body.customer_email ?? null,
        externalReference: body.external_reference ?? null,
        metadata: body.metadata ?? null,
        returnUrl: body.return_url ?? null,
      },
      networkFacts: networks.networkFacts,
      issuedAddresses: deps.issuedAddresses,
      serviceFeeBps: deps.serviceFeeBps,
      requestId,
    })
    if (created.kind === 'no_address') {
      throw new ApiProblem('asset_unavailable', { param: 'asset', headers: NO_ADDRESS_HEADERS })
    }
    let deliveries = 0
    return {
      view: invoiceViewOf(deps, networks, created.invoice),
      written: created.written.then((queued) => {
        deliveries = queued.deliveries
      }),
      afterCommit: () => {
        deps.openInvoices.created(tenant)
        if (deliveries > 0) deps.notifier.deliveriesWaiting()
      },
    }
  },
})

/** The schema has made sure that exactly one of the two is there. */
function askedAmount(body: z.output<typeof createInvoiceBody>): AskedAmount {
  if (body.amount !== undefined) return { kind: 'coin', amount: body.amount }
  return { kind: 'usd', usdAmount: body.usd_amount ?? '' }
}
