import { listAuditEntries } from '../../../db/people/audit-log.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { auditEntryList, listAuditEntriesQuery } from '../../../wire/dashboard.ts'
import { pageOf } from '../../../wire/list.ts'
import { auditEntryViewOf } from '../../views/dashboard-views.ts'
import { listView } from '../../views/list-view.ts'
import { defineRoute } from '../route.ts'

export const listAuditEntriesRoute = defineRoute({
  method: 'get',
  path: '/audit-log',
  operationId: 'listAuditEntries',
  tag: 'Dashboard',
  summary: 'List audit log entries',
  description:
    'Newest first. Every act has two entries, `begun` and how it ended; `paylink audit-log verify` proves that none was changed or taken out.',
  scope: null,
  dashboardOnly: true,
  managers: true,
  query: listAuditEntriesQuery,
  success: { status: 200, description: 'A page of entries.', schema: auditEntryList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const { entries, hasMore } = await withTransaction(deps.pool, tenant, (tx) =>
      listAuditEntries(tx, tenant, pageOf(query)),
    )
    return listView('/audit-log', hasMore, entries.map(auditEntryViewOf))
  },
})
