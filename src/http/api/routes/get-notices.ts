import { withTransaction } from '../../../postgres/transaction.ts'
import { noticesView } from '../../../wire/dashboard.ts'
import { noticesViewOf } from '../../views/notices-view.ts'
import { defineRoute } from '../route.ts'

export const getNoticesRoute = defineRoute({
  method: 'get',
  path: '/notices',
  operationId: 'getNotices',
  tag: 'Dashboard',
  summary: 'Read which e-mails you get',
  description: 'E-mails about live mode, to owners and admins with a confirmed address.',
  scope: null,
  dashboardOnly: true,
  success: { status: 200, description: 'Your switches.', schema: noticesView },
  problems: [],

  handler: (deps, { tenant, callerId }) =>
    withTransaction(deps.pool, tenant, (tx) => noticesViewOf(tx, tenant.merchantId, callerId)),
})
