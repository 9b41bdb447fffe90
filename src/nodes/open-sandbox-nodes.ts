import type { Config } from '../config/config.ts'
import { EVM_CHAINS, type EvmChain } from '../core/chain/evm-networks.ts'
import type { UtxoChain } from '../core/chain/utxo-parameters.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { AnvilMissing } from '../sandbox/evm/anvil-program.ts'
import { startEvmChain } from '../sandbox/evm/start-evm-chain.ts'
import { type SandboxPlace, THIS_MACHINE } from '../sandbox/own-port.ts'
import { SvmMissing } from '../sandbox/solana/load-svm.ts'
import { SANDBOX_MINTS } from '../sandbox/solana/sandbox-mints.ts'
import { startSolanaChain } from '../sandbox/solana/start-solana-chain.ts'
import { startUtxoChain, utxoControls } from '../sandbox/utxo/start-utxo-chain.ts'
import { type ChainNode, rpcSettingOf, UTXO_CHAINS } from './chain-nodes.ts'

/** Time between the sandbox chains' blocks while something happens. */
const SANDBOX_BLOCK_INTERVAL_MS = 1_000

const runsOnSandbox = (config: Config, chain: UtxoChain | EvmChain): boolean =>
  config.networks[`${chain}-test`] === undefined

/** `SANDBOX_HOST` leaves the chains to the processes with the role of that name: they listen where `HOST` says. */
const placeOf = ({ sandboxHost, host }: Config, serves: boolean): SandboxPlace => {
  if (sandboxHost === null) return THIS_MACHINE
  return serves ? { kind: 'here', host } : { kind: 'elsewhere', host: sandboxHost }
}

/**
 * Serves, or finds served by another process, the sandbox chain of every test network without a node. Where this
 * machine has no anvil, and may not or cannot fetch one, the EVM networks are left out and the log says what to do.
 */
export async function openSandboxNodes(
  config: Config,
  tools: { clock: Clock; log: Log; hasSandboxRole?: boolean; mayFetch?: boolean },
): Promise<ChainNode[]> {
  const { clock, log, hasSandboxRole = false, mayFetch = false } = tools
  const place = placeOf(config, hasSandboxRole)
  const deps: Deps = { clock, log, place, mayFetch: mayFetch && place.kind === 'here' }
  const opening = [
    ...UTXO_CHAINS.filter((chain) => runsOnSandbox(config, chain)).map((chain) =>
      openUtxoSandbox(config, chain, deps),
    ),
    openSolanaSandbox(config, deps),
    ...EVM_CHAINS.filter((chain) => runsOnSandbox(config, chain)).map((chain) =>
      openEvmSandbox(config, chain, deps),
    ),
  ]
  const opened = await Promise.allSettled(opening)
  const nodes = opened.flatMap((each) =>
    each.status === 'fulfilled' && each.value !== null ? [each.value] : [],
  )
  const faults = opened.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
  const missing = faults.find((fault) => fault instanceof AnvilMissing)
  if (missing instanceof AnvilMissing) deps.log.warn(missing.message)
  const [fault] = faults.filter((each) => !(each instanceof AnvilMissing))
  if (fault === undefined) return nodes
  for (const { sandbox } of nodes) await sandbox?.stop()
  throw fault
}

type Deps = {
  readonly clock: Clock
  readonly log: Log
  readonly place: SandboxPlace
  readonly mayFetch: boolean
}

/** What all sandbox nodes have in common. */
const sandboxNode = <Chain extends UtxoChain | EvmChain>(chain: Chain, rpcUrl: string) => ({
  network: `${chain}-test` as const,
  chain,
  livemode: false,
  rpcUrl,
  furtherUrls: [],
  rpcSetting: rpcSettingOf(`${chain}-test`),
  zmqUrl: null,
})

async function openUtxoSandbox({ dataDir }: Config, chain: UtxoChain, deps: Deps): Promise<ChainNode> {
  const blockIntervalMs = SANDBOX_BLOCK_INTERVAL_MS
  const sandbox = await startUtxoChain({ ...deps, chain, dataDir, blockIntervalMs })
  return {
    ...sandboxNode(chain, sandbox.rpcUrl),
    tokenContracts: {},
    sandbox: {
      controls: utxoControls(sandbox.client),
      subscribe: (wake) => sandbox.client.subscribe(wake),
      stop: () => sandbox.stop(),
    },
  }
}

async function openEvmSandbox(config: Config, chain: EvmChain, deps: Deps): Promise<ChainNode> {
  const { dataDir } = config
  const tokenContracts = config.testTokenContracts[chain] ?? {}
  const blockIntervalMs = SANDBOX_BLOCK_INTERVAL_MS
  const sandbox = await startEvmChain({ ...deps, chain, dataDir, blockIntervalMs, tokenContracts })
  return {
    ...sandboxNode(chain, sandbox.rpcUrl),
    tokenContracts: sandbox.tokenContracts,
    sandbox: {
      controls: sandbox.client,
      chainId: sandbox.chainId,
      subscribe: (wake) => sandbox.client.subscribe(wake),
      stop: () => sandbox.stop(),
    },
  }
}

/** Null where a node is configured, and where this machine has no virtual machine: then the log says what to do. */
async function openSolanaSandbox(config: Config, deps: Deps): Promise<ChainNode | null> {
  if (config.networks['solana-test'] !== undefined) return null
  try {
    const sandbox = await startSolanaChain({ ...deps, dataDir: config.dataDir })
    return {
      network: 'solana-test',
      chain: 'solana',
      livemode: false,
      rpcUrl: sandbox.rpcUrl,
      furtherUrls: [],
      rpcSetting: rpcSettingOf('solana-test'),
      zmqUrl: null,
      tokenContracts: { ...SANDBOX_MINTS, ...config.testTokenContracts.solana },
      sandbox: {
        controls: sandbox.client,
        subscribe: (wake) => sandbox.client.subscribe(wake),
        stop: () => sandbox.stop(),
      },
    }
  } catch (error) {
    if (!(error instanceof SvmMissing)) throw error
    deps.log.warn(error.message)
    return null
  }
}
