import { pageOfApiKeys } from '../../../db/people/api-keys.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { apiKeyList, listApiKeysQuery } from '../../../wire/dashboard.ts'
import { pageOf } from '../../../wire/list.ts'
import { apiKeyViewOf } from '../../views/dashboard-views.ts'
import { listView } from '../../views/list-view.ts'
import { defineRoute } from '../route.ts'

export const listApiKeysRoute = defineRoute({
  method: 'get',
  path: '/api-keys',
  operationId: 'listApiKeys',
  tag: 'Dashboard',
  summary: 'List API keys',
  description: 'Newest first, revoked ones included. The keys themselves are stored nowhere.',
  scope: null,
  dashboardOnly: true,
  query: listApiKeysQuery,
  success: { status: 200, description: 'A page of keys.', schema: apiKeyList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const { keys, hasMore } = await withTransaction(deps.pool, tenant, (tx) =>
      pageOfApiKeys(tx, tenant, pageOf(query)),
    )
    return listView('/api-keys', hasMore, keys.map(apiKeyViewOf))
  },
})
