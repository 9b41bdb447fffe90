import { supportIn } from '../../../core/invoice/market.ts'
import { loadPaymentRules } from '../../../db/invoices/payment-rules.ts'
import { changePaymentRules } from '../../../flows/change-payment-rules.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { paymentRulesView, updatePaymentRulesBody } from '../../../wire/dashboard.ts'
import { paymentRulesViewOf } from '../../views/dashboard-views.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

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
