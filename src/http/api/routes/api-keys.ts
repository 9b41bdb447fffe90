import { apiKeyExists, pageOfApiKeys } from '../../../db/people/api-keys.ts'
import { addApiKey } from '../../../flows/create-api-key.ts'
import { revokeTenantKey } from '../../../flows/revoke-api-key.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import {
  apiKeyList,
  apiKeyView,
  createApiKeyBody,
  createdApiKeyView,
  listApiKeysQuery,
} from '../../../wire/dashboard.ts'
import { pageOf } from '../../../wire/list.ts'
import { apiKeyViewOf } from '../../views/dashboard-views.ts'
import { listView } from '../../views/list-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const createApiKeyRoute = defineRoute({
  method: 'post',
  path: '/api-keys',
  operationId: 'createApiKey',
  tag: 'Dashboard',
  summary: 'Create an API key',
  description: 'Store `key`: it is shown here only.',
  scope: null,
  dashboardOnly: true,
  managers: true,
  live: 'session',
  body: createApiKeyBody,
  example: { name: 'Shop server', scopes: ['invoices:read', 'invoices:write'] },
  success: { status: 201, description: 'The key.', schema: createdApiKeyView },
  problems: ['api_key_limit_reached'],

  create: async (deps, { tenant, body, callerId }, tx) => {
    const now = deps.clock()
    const scopes = [...new Set(body.scopes)]
    const created = await addApiKey(tx, deps.seals, {
      tenant,
      scopes,
      name: body.name,
      createdBy: callerId,
      now,
    })
    if (created.kind === 'limit_reached') throw new ApiProblem('api_key_limit_reached')
    const { key, id, lastCharacters } = created
    const shown = {
      id,
      lastCharacters,
      livemode: tenant.livemode,
      scopes,
      name: body.name,
      createdAt: now,
      revokedAt: null,
    }
    return { view: { ...apiKeyViewOf(shown), key } }
  },
})

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
      pageOfApiKeys(tx, tenant, pageOf(query), query.q),
    )
    return listView('/api-keys', hasMore, keys.map(apiKeyViewOf))
  },
})

export const revokeApiKeyRoute = defineRoute({
  method: 'post',
  path: '/api-keys/:id/revoke',
  operationId: 'revokeApiKey',
  tag: 'Dashboard',
  summary: 'Revoke an API key',
  description: 'Within a second no server accepts it. Revoking it again changes nothing.',
  scope: null,
  dashboardOnly: true,
  managers: true,
  success: { status: 200, description: 'The key, revoked.', schema: apiKeyView },
  problems: [],
  exists: apiKeyExists,

  handler: async (deps, { tenant, id }) => {
    const key = await revokeTenantKey(deps, tenant, id)
    if (key === null) throw new ApiProblem('not_found')
    return apiKeyViewOf(key)
  },
})
