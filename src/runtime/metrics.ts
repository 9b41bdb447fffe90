import { createServer } from 'node:http'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Log } from './log.ts'
import { StartRefused } from './start-refused.ts'

/** This process's metrics, in Prometheus' text format. */
export type Metrics = {
  readonly registry: Registry
  /** Labels part, method and status; seconds. */
  readonly httpRequests: Histogram<'part' | 'method' | 'status'>
  /** Label code, of the bounded list of delivery outcomes. */
  readonly deliveryAttempts: Counter<'code'>
  /** Label end: what becomes of the delivery. */
  readonly deliveriesUnrecorded: Counter<'end'>
  /** Labels kind and outcome: `sent`, or why not, both of bounded lists. */
  readonly buyerEmails: Counter<'kind' | 'outcome'>
  /** A value that is read at each scrape; without a label if there is only one. */
  gauge(name: string, help: string, read: () => Promise<readonly GaugeValue[]>): void
}

export type GaugeValue = { readonly label?: string; readonly value: number }

const HTTP_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** A timer that wakes the process. The library's own, ten milliseconds, was a third of what a process used at rest. */
const EVENT_LOOP_LOOK_MS = 100

export function createMetrics(log: Log): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({
    register: registry,
    prefix: 'paylink_',
    eventLoopMonitoringPrecision: EVENT_LOOP_LOOK_MS,
  })
  return {
    registry,
    httpRequests: new Histogram({
      name: 'paylink_http_request_seconds',
      help: 'Time until a response began, by part of the site, method and status',
      labelNames: ['part', 'method', 'status'],
      buckets: HTTP_BUCKETS_SECONDS,
      registers: [registry],
    }),
    deliveryAttempts: new Counter({
      name: 'paylink_delivery_attempts_total',
      help: 'Webhook attempts by outcome',
      labelNames: ['code'],
      registers: [registry],
    }),
    deliveriesUnrecorded: new Counter({
      name: 'paylink_delivery_unrecorded_total',
      help: 'Webhook attempts whose outcome the database refused, by what becomes of the delivery',
      labelNames: ['end'],
      registers: [registry],
    }),
    buyerEmails: new Counter({
      name: 'paylink_buyer_emails_total',
      help: 'Emails to buyers by kind, handed to the mail server or refused',
      labelNames: ['kind', 'outcome'],
      registers: [registry],
    }),
    gauge: (name, help, read) => {
      const gauge = new Gauge({
        name,
        help,
        labelNames: ['name'],
        registers: [registry],
        // A metric that cannot be read is left out; the others are still worth having.
        collect: async () => {
          try {
            for (const { label, value } of await read()) {
              if (label === undefined) gauge.set(value)
              else gauge.set({ name: label }, value)
            }
          } catch (error) {
            log.warn({ err: error, metric: name }, 'a metric could not be read')
          }
        },
      })
    },
  }
}

/**
 * Serves `GET /metrics` on a port of its own, which is for operators and is never put on the internet: metrics
 * reveal how much a shop earns. Throws `StartRefused` where the port is taken.
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
      (error: unknown) => {
        options.log.error({ err: error }, 'the metrics could not be read')
        response.writeHead(500).end()
      },
    )
  })
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(options.port, options.host, resolve)
    })
  } catch (error) {
    const fix = 'set OPERATOR_PORT to another, or end the program that has it'
    throw new StartRefused(
      `OPERATOR_PORT ${options.port} cannot be listened on at OPERATOR_HOST ${options.host}: ${fix}`,
      { cause: error },
    )
  }
  return {
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
