import { addApiKey } from '../../../flows/create-api-key.ts'
import { createApiKeyBody, createdApiKeyView } from '../../../wire/dashboard.ts'
import { apiKeyViewOf } from '../../views/dashboard-views.ts'
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
    const made = await addApiKey(tx, deps.seals, {
      tenant,
      scopes,
      name: body.name,
      createdBy: callerId,
      now,
    })
    if (made.kind === 'limit_reached') throw new ApiProblem('api_key_limit_reached')
    const { key, id, lastCharacters } = made
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
