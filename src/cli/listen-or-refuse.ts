import type { Config } from '../config/config.ts'
import { type HttpPart, startHttpServer } from '../http/server.ts'
import type { Notifier } from '../postgres/notify.ts'
import type { RoleContext } from '../roles/role.ts'
import { hasCode } from '../runtime/data-dir.ts'
import type { Log } from '../runtime/log.ts'
import { StartRefused } from '../runtime/start-refused.ts'

const READING_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Opens the site's port. Throws `StartRefused` where the operator can fix what is in the way. */
export async function listenOrRefuse(site: {
  config: Config
  parts: readonly HttpPart[]
  log: Log
  metrics: RoleContext['metrics']
  notifier: Pick<Notifier, 'activity'>
}) {
  const { host, port } = site.config
  try {
    return await startHttpServer({
      host,
      port,
      parts: site.parts,
      log: site.log,
      staging: site.config.staging,
      isHttps: site.config.baseUrl.startsWith('https:'),
      onRequest: (part, method, status, seconds) => {
        site.metrics.httpRequests.observe({ part, method, status }, seconds)
        // What was changed may be work for any background loop, in this process or another.
        if (!READING_METHODS.has(method)) site.notifier.activity()
      },
    })
  } catch (error) {
    if (hasCode(error, 'EADDRINUSE')) {
      throw new StartRefused(
        `PORT ${port} is taken on ${host}: set PORT to another, or end the program that has it`,
      )
    }
    if (hasCode(error, 'EACCES')) {
      throw new StartRefused(`PORT ${port} needs more rights than this user has: set PORT to one above 1023`)
    }
    if (hasCode(error, 'EADDRNOTAVAIL') || hasCode(error, 'ENOTFOUND')) {
      throw new StartRefused(`HOST ${host} is no address of this machine: set HOST to 127.0.0.1 or 0.0.0.0`)
    }
    throw error
  }
}
