import { createApiApp } from '../http/app.ts'
import type { ApiDeps } from '../http/deps.ts'
import type { HttpPart } from '../http/server.ts'

/** The merchants' API with its documentation: every path that no other part owns. */
export function openApi(deps: ApiDeps): HttpPart {
  const app = createApiApp(deps)
  return { name: 'api', owns: () => true, fetch: (request) => app.fetch(request) }
}
