import { EVENT_FORMATS } from '../compat/event-formats.ts'
import type { CompatApiName } from '../config/config.ts'
import { createApiApp } from '../http/api/app.ts'
import type { ApiDeps } from '../http/api/deps.ts'
import type { HttpPart } from '../http/server.ts'

/** The merchants' API with its documentation: every path that no other part owns. */
export function openApi(deps: ApiDeps, compatApis: readonly CompatApiName[]): HttpPart {
  const webhookFormats = { known: EVENT_FORMATS, offered: compatApis }
  const app = createApiApp({ ...deps, webhookFormats })
  return { name: 'api', owns: () => true, fetch: (request) => app.fetch(request) }
}
