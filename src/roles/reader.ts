import { isEsploraUrl } from '../chain/utxo/open-provider.ts'
import type { Config } from '../config/config.ts'
import { type ChainNode, configuredNodes, isUtxoNode } from '../nodes/chain-nodes.ts'
import { followNotifications } from '../reader/follow-notifications.ts'
import { type Provider, startGateway } from '../reader/gateway.ts'
import { ProviderCalls } from '../reader/provider-calls.ts'
import { type AskedCache, createAskedCache, SharedAnswers } from '../reader/shared-answers.ts'
import { momentMsOf } from '../reader/shared-methods.ts'
import { hasCode } from '../runtime/data-dir.ts'
import { DeduplicatedLog, withoutNumbers } from '../runtime/deduplicated-log.ts'
import type { Log } from '../runtime/log.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import type { RoleContext, RunningRole } from './role.ts'

/** As many as a node of Bitcoin's family queues (-rpcworkqueue). */
const UTXO_CONNECTIONS_MAX = 16
/**
 * Eight for each cell, as without a reader. A call that waits for a free one looks to its cell as if it were too much for the
 * node, and the block is then read without it.
 */
const CONNECTIONS_MAX = 512

const LOOPBACK = /^(?:localhost|127\.[0-9.]+|::1)$/

/** Stands between the cells of one site and their nodes. Throws `StartRefused`. */
export async function startReaderRole(
  context: Pick<RoleContext, 'config' | 'log' | 'metrics'>,
): Promise<RunningRole> {
  const { config, log, metrics } = context
  const { host, token, cacheBytes } = config.reader
  if (token === null && !LOOPBACK.test(host)) {
    throw new StartRefused(
      `READER_HOST ${host} lets others in, who could use your nodes as you: set READER_TOKEN, or READER_HOST to 127.0.0.1`,
    )
  }
  const cache = createAskedCache(cacheBytes)
  const nodes = configuredNodes(config)
  const providers = new Map(nodes.flatMap((node) => [...openProviders(node, cache, log)]))
  if (providers.size === 0)
    throw new StartRefused('the reader has no node: set LIVE_…_RPC_URL or TEST_…_RPC_URL, as for a watcher')
  const stops = nodes.flatMap((node) => {
    const first = providers.get(pathOf(node, 0))
    if (node.zmqUrl === null || first === undefined) return []
    return [followNotifications(node.zmqUrl, first.shared.forgetMoments)]
  })
  const values = (read: (provider: Provider) => number) => async () =>
    [...providers].map(([label, provider]) => ({ label, value: read(provider) }))
  metrics.gauge(
    'paylink_reader_node_calls',
    'Calls that a node was sent since the start, by path',
    values(({ calls }) => calls.count),
  )
  metrics.gauge(
    'paylink_reader_shared_answers',
    'Calls answered without the node since the start, by path',
    values(({ shared }) => shared.shared),
  )
  metrics.gauge('paylink_reader_cache_bytes', 'Size of the answers that are kept', async () => [
    { value: cache.calculatedSize },
  ])
  const gateway = await listenOrRefuse(config, { host, port: config.reader.port, token, providers, log })
  return {
    stop: async () => {
      for (const stop of stops) stop()
      await gateway.stop()
      await Promise.all([...providers.values()].map(({ calls }) => calls.close()))
    },
  }
}

const pathOf = ({ network }: ChainNode, index: number): string => `/${network}/${index}`

/** An Esplora server speaks no JSON-RPC: cells ask it themselves. */
function openProviders(node: ChainNode, cache: AskedCache, log: Log): Map<string, Provider> {
  const { network, rpcUrl, furtherUrls, rpcSetting } = node
  const alerts = new DeduplicatedLog()
  const opened = new Map<string, Provider>()
  for (const [index, url] of [rpcUrl, ...furtherUrls].entries()) {
    if (isUtxoNode(node) && isEsploraUrl(url)) continue
    const path = pathOf(node, index)
    const hasZmq = index === 0 && node.zmqUrl !== null
    const calls = new ProviderCalls(url, {
      setting: rpcSetting,
      connections: isUtxoNode(node) ? UTXO_CONNECTIONS_MAX : CONNECTIONS_MAX,
      onFailure: (error) => {
        if (alerts.isNew(path, withoutNumbers(error.message)))
          log.warn({ err: error, path }, 'a node did not answer')
      },
    })
    const shared = new SharedAnswers({
      calls,
      cache,
      prefix: `${path} `,
      momentMs: momentMsOf(network, hasZmq),
    })
    opened.set(path, { network, calls, shared })
  }
  return opened
}

async function listenOrRefuse(config: Config, options: Parameters<typeof startGateway>[0]) {
  const { host, port } = config.reader
  try {
    return await startGateway(options)
  } catch (error) {
    const isTheirs = ['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL', 'ENOTFOUND'].some((code) =>
      hasCode(error, code),
    )
    if (!isTheirs) throw error
    throw new StartRefused(
      `the reader cannot listen on port ${port} of ${host}: set READER_PORT and READER_HOST to what this machine has free`,
      { cause: error },
    )
  }
}
