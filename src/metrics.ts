import { createServer } from 'node:http'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { describeError, type Log } from './log.ts'

/** The figures of this process, in Prometheus' text format. */
export function createMetrics(roles: readonly string[]): Registry {
  const registry = new Registry()
  registry.setDefaultLabels({ roles: roles.join(',') })
  collectDefaultMetrics({ register: registry, prefix: 'paylink_' })
  return registry
}

/**
 * Serves `GET /metrics` on a port of its own, which is for operators and is never put on the internet: figures
 * tell how much a shop earns.
 */
export async function serveMetrics(options: {
  registry: Registry
  host: string
  port: number
  log: Log
}): Promise<{ stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('GET /metrics is served here\n')
      return
    }
    options.registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': options.registry.contentType }).end(text),
      (error) => {
        options.log.error({ err: error }, `metrics could not be read: ${describeError(error)}`)
        response.writeHead(500).end()
      },
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, resolve)
  })
  return {
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
