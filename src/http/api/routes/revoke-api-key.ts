import { apiKeyExists } from '../../../db/people/api-keys.ts'
import { revokeTenantKey } from '../../../flows/revoke-api-key.ts'
import { apiKeyView } from '../../../wire/dashboard.ts'
import { apiKeyViewOf } from '../../views/dashboard-views.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

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
