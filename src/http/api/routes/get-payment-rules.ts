import { loadPaymentRules } from '../../../db/invoices/payment-rules.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { paymentRulesView } from '../../../wire/dashboard.ts'
import { paymentRulesViewOf } from '../../views/dashboard-views.ts'
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
