import { listAuditEntries } from '../../../db/people/audit-log.ts'
import { listRequests } from '../../../db/requests/request-log.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import {
  auditEntryList,
  listAuditEntriesQuery,
  listRequestLogsQuery,
  requestLogList,
} from '../../../wire/dashboard.ts'
import { pageOf } from '../../../wire/list.ts'
import { auditEntryViewOf, requestLogViewOf } from '../../views/dashboard-views.ts'
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

export const listRequestLogsRoute = defineRoute({
  method: 'get',
  path: '/request-logs',
  operationId: 'listRequestLogs',
  tag: 'Dashboard',
  summary: 'List requests',
  description: 'Newest first, of the last 30 days. Bodies and keys are not kept.',
  scope: null,
  dashboardOnly: true,
  query: listRequestLogsQuery,
  success: { status: 200, description: 'A page of requests.', schema: requestLogList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const { requests, hasMore } = await withTransaction(deps.pool, tenant, (tx) =>
      listRequests(tx, tenant, { ...pageOf(query), failedOnly: query.outcome === 'failed' }),
    )
    return listView('/request-logs', hasMore, requests.map(requestLogViewOf))
  },
})
