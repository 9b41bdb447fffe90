import { countActiveKeys, lockKeyCreation } from '../../../db/people/api-keys.ts'
import { addApiKey } from '../../../flows/create-api-key.ts'
import { createApiKeyBody, createdApiKeyView } from '../../../wire/dashboard.ts'
import { apiKeyViewOf } from '../../views/dashboard-views.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

/** Active keys of one merchant in one mode; the operator's command makes more. */
const ACTIVE_KEYS_MAX = 100

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
    await lockKeyCreation(tx, tenant)
    if ((await countActiveKeys(tx, tenant)) >= ACTIVE_KEYS_MAX) throw new ApiProblem('api_key_limit_reached')
    const now = deps.clock()
    const scopes = [...new Set(body.scopes)]
    const made = await addApiKey(tx, deps.seals, {
      tenant,
      scopes,
      name: body.name,
      createdBy: callerId,
      now,
    })
    const { key, ...row } = made
    const shown = {
      ...row,
      livemode: tenant.livemode,
      scopes,
      name: body.name,
      createdAt: now,
      revokedAt: null,
    }
    return { view: { ...apiKeyViewOf(shown), key } }
  },
})
