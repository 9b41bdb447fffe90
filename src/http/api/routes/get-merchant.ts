import { merchantView } from '../../../wire/dashboard.ts'
import { merchantViewOf } from '../../views/merchant-view.ts'
import { defineRoute } from '../route.ts'

export const getMerchantRoute = defineRoute({
  method: 'get',
  path: '/merchant',
  operationId: 'getMerchant',
  tag: 'Dashboard',
  summary: 'Read the shop',
  description: 'Its name and look, and your role in it.',
  scope: null,
  dashboardOnly: true,
  success: { status: 200, description: 'The shop.', schema: merchantView },
  problems: [],

  handler: (deps, request) => merchantViewOf(deps, request),
})
