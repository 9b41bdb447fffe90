import { NOTICE_KINDS, setNotice } from '../../../db/people/notices.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { noticesView, updateNoticesBody } from '../../../wire/dashboard.ts'
import { noticesViewOf } from '../../views/notices-view.ts'
import { defineRoute } from '../route.ts'

export const updateNoticesRoute = defineRoute({
  method: 'patch',
  path: '/notices',
  operationId: 'updateNotices',
  tag: 'Dashboard',
  summary: 'Choose which e-mails you get',
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
