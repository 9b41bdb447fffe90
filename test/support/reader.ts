import pino from 'pino'
import { loadConfig } from '../../src/config/config.ts'
import type { Network } from '../../src/core/assets.ts'
import { rpcSettingOf } from '../../src/nodes/chain-nodes.ts'
import { startReaderRole } from '../../src/roles/reader.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { freePort } from './free-port.ts'

const TOKEN = 'a-token-of-cells-4711'

export type TestReader = {
  /** Where a cell of this name finds the reader's n-th provider. */
  url(cell: string, index?: number): string
  /** A metric by path, or the only value. */
  metric(name: string, index?: number): Promise<number>
  readonly port: number
  /** Starts it again where it was, with nothing in its memory. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** The role `reader` before providers of one network. */
export async function startReader(
  network: Network,
  urls: readonly string[],
  settings: { readonly [name: string]: string } = {},
): Promise<TestReader> {
  const port = await freePort()
  const config = loadConfig({
    READER_PORT: String(port),
    READER_TOKEN: TOKEN,
    [rpcSettingOf(network)]: urls.join(','),
    ...settings,
  })
  const log = pino({ level: process.env.LOG_LEVEL ?? 'silent' })
  const metrics = createMetrics(log)
  let role = await startReaderRole({ config, log, metrics })
  return {
    port,
    url: (cell, index = 0) => `http://${cell}:${TOKEN}@127.0.0.1:${port}/${network}/${index}`,
    metric: async (name, index = 0) => {
      const found = await metrics.registry.getSingleMetric(name)?.get()
      const value = found?.values.find(
        ({ labels }) => (labels.name ?? `/${network}/${index}`) === `/${network}/${index}`,
      )
      if (value === undefined) throw new Error(`there is no metric ${name}`)
      return value.value
    },
    start: async () => {
      role = await startReaderRole({ config, log, metrics: createMetrics(log) })
    },
    stop: () => role.stop(),
  }
}
