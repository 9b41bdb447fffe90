import { listAuditEntries } from '../../../db/people/audit-log.ts'
import { findRequest, listRequests } from '../../../db/requests/request-log.ts'
import { withReadTransaction } from '../../../postgres/standby.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import {
  auditEntryList,
  listAuditEntriesQuery,
  listRequestLogsQuery,
  requestLogList,
  requestLogView,
} from '../../../wire/dashboard.ts'
import { pageOf } from '../../../wire/list.ts'
import { auditEntryViewOf, requestLogViewOf } from '../../views/dashboard-views.ts'
import { listView } from '../../views/list-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const listAuditEntriesRoute = defineRoute({
  method: 'get',
  path: '/audit-log',
  operationId: 'listAuditEntries',
  tag: 'Dashboard',
  summary: 'List audit log entries',
  description:
    'Newest first, one entry for each act: how it ended, or `begun` where it has not. `paylink audit-log verify` reads all entries and proves that none was changed or taken out.',
  scope: null,
  dashboardOnly: true,
  managers: true,
  query: listAuditEntriesQuery,
  success: { status: 200, description: 'A page of entries.', schema: auditEntryList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const { entries, hasMore } = await withReadTransaction(deps, tenant, (tx) =>
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
  description:
    'Newest first, of the last 30 days. Bodies and keys are not kept. Filters look through the newest 50,000 of a range.',
  scope: null,
  dashboardOnly: true,
  query: listRequestLogsQuery,
  success: { status: 200, description: 'A page of requests.', schema: requestLogList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const { requests, hasMore } = await withReadTransaction(deps, tenant, (tx) =>
      listRequests(tx, tenant, {
        ...pageOf(query),
        failedOnly: query.outcome === 'failed',
        path: query.path ?? null,
        caller: query.caller ?? null,
        createdAfterMs: query.created_after === undefined ? undefined : Date.parse(query.created_after),
        createdBeforeMs: query.created_before === undefined ? undefined : Date.parse(query.created_before),
      }),
    )
    return listView('/request-logs', hasMore, requests.map(requestLogViewOf))
  },
})

export const getRequestLogRoute = defineRoute({
  method: 'get',
  path: '/request-logs/:id',
  operationId: 'getRequestLog',
  tag: 'Dashboard',
  summary: 'Get a request',
  description: 'Its body and its key are not kept.',
  scope: null,
  dashboardOnly: true,
  success: { status: 200, description: 'The request.', schema: requestLogView },
  problems: [],
  exists: async (tx, tenant, id) => (await findRequest(tx, tenant, id)) !== null,

  handler: async (deps, { tenant, id }) => {
    const request = await withTransaction(deps.pool, tenant, (tx) => findRequest(tx, tenant, id))
    if (request === null) throw new ApiProblem('not_found')
    return requestLogViewOf(request)
  },
})
