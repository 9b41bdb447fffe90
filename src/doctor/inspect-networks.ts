import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { z } from 'zod'
import { ChainHalted, type ChainProvider, ChainUnavailable } from '../chain/adapter.ts'
import { textOfAnswer } from '../chain/evm/contract-call.ts'
import { EvmAdapter } from '../chain/evm/evm-adapter.ts'
import { bytes } from '../chain/evm/evm-answers.ts'
import { EvmNode } from '../chain/evm/evm-node.ts'
import { SolanaAdapter } from '../chain/solana/solana-adapter.ts'
import { chainSchema } from '../chain/utxo/node-answers.ts'
import { publishedTopics } from '../chain/utxo/notifications.ts'
import { isEsploraUrl } from '../chain/utxo/open-provider.ts'
import { RpcClient } from '../chain/utxo/rpc-client.ts'
import { ASSETS } from '../core/assets.ts'
import { evmNetworkOf } from '../core/chain/evm-networks.ts'
import { type EvmToken, evmTokensOf } from '../core/chain/evm-parameters.ts'
import { realmOf } from '../core/chain/realm.ts'
import { formatCoinAmount } from '../core/money.ts'
import { loadNetworkStates, type NetworkState } from '../db/chain/network-state.ts'
import {
  type ChainNode,
  type EvmChainNode,
  FOLLOWED_CHAINS,
  isEvmNode,
  isSolanaNode,
  isUtxoNode,
  rpcSettingOf,
} from '../nodes/chain-nodes.ts'
import { openProviderOf, watchedOf } from '../nodes/open-providers.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import { isOtherChain } from '../watcher/find-checkpoint.ts'
import { type Finding, fault, notice, ok } from './finding.ts'
import { inspectMints } from './inspect-mints.ts'
import { inspectSweeper } from './inspect-sweeper.ts'

/** A watcher reads its network every few seconds; an older reading means that none is at work. */
const READ_AGE_MS_MAX = 60_000

/** Every network: its providers as they answer now, and how far the watcher has read it. */
export async function inspectNetworks(
  pool: Pool,
  nodes: readonly ChainNode[],
  clock: Clock,
): Promise<Finding[]> {
  const states = await loadNetworkStates(pool)
  const findings: Finding[] = []
  for (const node of nodes) {
    const state = states.find(({ network }) => network === node.network) ?? null
    findings.push(...(await inspectProviders(node, state, clock)), watchFinding(node, state, clock))
    if (isEvmNode(node)) findings.push(...(await sweeperFinding(pool, node)))
    findings.push(...payoutFinding(node, state))
  }
  findings.push(...missingSandboxes(nodes))
  for (const chain of FOLLOWED_CHAINS) {
    if (nodes.some(({ network }) => network === `${chain}-live`)) continue
    findings.push(notice(`${chain}-live: off; set ${rpcSettingOf(`${chain}-live`)} to take live payments`))
  }
  return findings
}

/** Test networks that have neither a node nor a sandbox chain. */
const missingSandboxes = (nodes: readonly ChainNode[]): Finding[] =>
  FOLLOWED_CHAINS.filter((chain) => !nodes.some(({ network }) => network === `${chain}-test`)).map((chain) =>
    notice(
      `${chain}-test: off; this machine lacks the program of its sandbox chain: start Paylink where the npm registry can be reached, or set ${rpcSettingOf(`${chain}-test`)}`,
    ),
  )

/** Which provider the watcher sent and followed payouts by when it last looked. */
function payoutFinding({ network }: ChainNode, state: NetworkState | null): Finding[] {
  if (state === null || (state.payoutProvider === null && state.payoutNotice === null)) return []
  const { payoutProvider: provider, payoutNotice: why } = state
  if (provider === null) return [fault(`${network}: payouts wait, no provider serves them: ${why}`)]
  const through = `${network}: payouts go through ${provider}`
  return [why === null ? ok(through) : notice(`${through}, ${why}`)]
}

function watchFinding({ network }: ChainNode, state: NetworkState | null, clock: Clock): Finding {
  if (state === null) return notice(`${network}: not watched yet; start the watcher role`)
  const position = `read to block ${state.height ?? 'none'} of ${state.tipHeight ?? 'unknown'}`
  if (state.status !== 'ok' && state.status !== 'starting') {
    return fault(`${network}: the watcher says ${state.status}: ${state.reason ?? 'no reason given'}`)
  }
  const ageMs = state.readAt === null ? null : clock().getTime() - state.readAt.getTime()
  if (ageMs === null || ageMs > READ_AGE_MS_MAX) {
    const since = state.readAt === null ? 'never in full' : `last at ${state.readAt.toISOString()}`
    return notice(`${network}: ${position}, ${since}; the watcher is not at work: start it`)
  }
  if (state.reason !== null) return fault(`${network}: ${position}; ${state.reason}`)
  return ok(`${network}: ${position}, ${Math.max(0, Math.round(ageMs / 1_000))} s ago`)
}

/** Litecoin Core 0.21.5.8: older nodes followed the wrong side of the reorganisation of April 2026. */
const LITECOIN_VERSION_MIN = 210_508
/** What `…_ZMQ_URL` is for: transactions, blocks, and only `sequence` reports blocks that are disconnected. */
const ZMQ_TOPICS = ['pubsequence', 'pubrawtx', 'pubhashblock'] as const

const networkSchema = z.object({ version: z.number(), subversion: z.string() })

/** The providers of one network as they answer now: the one that is followed, and those that confirm it. */
async function inspectProviders(
  node: ChainNode,
  state: NetworkState | null,
  clock: Clock,
): Promise<Finding[]> {
  const { network, sandbox } = node
  const findings: Finding[] = []
  for (const url of [node.rpcUrl, ...node.furtherUrls]) {
    const chain = openToInspect(node, url, clock)
    try {
      const { parameters, health } = await chain.connect()
      if (health.status !== 'ok') {
        findings.push(fault(`${network}: ${health.reason}`))
        continue
      }
      const { height } = await chain.tip()
      const who =
        sandbox === null ? `${describe(url)} answers, chain ${parameters}` : 'runs on the sandbox chain'
      findings.push(ok(`${network}: ${who}, height ${height}`))
      if (chain instanceof EvmAdapter) {
        findings.push(nativeFinding(node, url, chain))
        if (sandbox === null && isEvmNode(node)) findings.push(...(await inspectEvmProvider(node, url)))
      } else if (chain instanceof SolanaAdapter) {
        findings.push(await minimumFinding(node, chain))
        if (sandbox === null && isSolanaNode(node)) findings.push(...(await inspectMints(node, chain.rpc)))
      }
      if (sandbox === null && isUtxoNode(node) && !isEsploraUrl(url))
        findings.push(...(await inspectNode(node, url, state)))
      if (url === node.rpcUrl) findings.push(...(await otherChainFinding(node, parameters, chain, state)))
      if (url !== node.rpcUrl) findings.push(await agreementFinding(node, url, chain, state))
    } catch (error) {
      if (!isOutside(error)) throw error
      findings.push(fault(`${network}: ${error.message}`))
    } finally {
      await chain.close()
    }
  }
  return findings
}

export const isOutside = (error: unknown): error is ChainUnavailable | ChainHalted =>
  error instanceof ChainUnavailable || error instanceof ChainHalted

const describe = (url: string): string =>
  isEsploraUrl(url) ? `the Esplora server at ${new URL(url).host}` : `the node at ${new URL(url).host}`

/** One provider by itself, to see how it answers. */
export function openToInspect(node: ChainNode, url: string, clock: Clock): ChainProvider {
  return openProviderOf(node, { url, zmqUrl: null, watched: watchedOf(node) }, { clock })
}

/** Solana's own smallest amount, which falls in steps. */
async function minimumFinding({ network }: ChainNode, chain: SolanaAdapter): Promise<Finding> {
  const minimum = formatCoinAmount(await chain.minimumAmount(), ASSETS.SOL.decimals)
  return ok(`${network}: an invoice is at least ${minimum} SOL, what the chain lets a new address hold`)
}

/** What a node of Ethereum's kind can find. */
function nativeFinding({ network }: ChainNode, url: string, chain: EvmAdapter): Finding {
  if (chain.nativeMode === 'traces')
    return ok(`${network}: ${describe(url)} traces blocks: every payment has its transaction`)
  return notice(
    `${network}: ${describe(url)} does not trace blocks (debug_traceBlockByHash): what contracts pay is found by balances, for open checkouts only, and is named by its block`,
  )
}

/** What only a node reports about itself: version, kept blocks, notifications. */
async function inspectNode(node: ChainNode, url: string, state: NetworkState | null): Promise<Finding[]> {
  const rpc = new RpcClient(url, node.rpcSetting)
  try {
    const findings = [
      await versionFinding(node, url, rpc),
      await prunedFinding(node, url, rpc, state),
      url === node.rpcUrl ? await zmqFinding(node, rpc, state) : null,
    ]
    return findings.filter((finding) => finding !== null)
  } finally {
    await rpc.close()
  }
}

async function versionFinding(
  { network, chain, livemode }: ChainNode,
  url: string,
  rpc: RpcClient,
): Promise<Finding> {
  const { version, subversion } = await rpc.call('getnetworkinfo', [], networkSchema)
  if (chain !== 'litecoin' || version >= LITECOIN_VERSION_MIN)
    return ok(`${network}: ${describe(url)} is ${subversion}`)
  const text = `${network}: ${describe(url)} is ${subversion}, which is too old to be trusted with money: update it to 0.21.5.8 or later`
  return livemode ? fault(text) : notice(text)
}

async function prunedFinding(
  { network }: ChainNode,
  url: string,
  rpc: RpcClient,
  state: NetworkState | null,
): Promise<Finding | null> {
  const { pruned, pruneheight = 0 } = await rpc.call('getblockchaininfo', [], chainSchema)
  if (pruned !== true) return null
  const height = state?.height ?? null
  const keeps = `${network}: ${describe(url)} keeps its blocks from ${pruneheight} on`
  if (height === null || height + 1 >= pruneheight) {
    return notice(
      `${keeps}: Paylink must not stand still for longer than that, and paylink rescan reaches no further`,
    )
  }
  return fault(
    `${keeps}, and those from ${height + 1} on were not read yet: use a node that still has them, or raise prune= and sync again`,
  )
}

async function zmqFinding(
  { network, zmqUrl, rpcSetting }: ChainNode,
  rpc: RpcClient,
  state: NetworkState | null,
): Promise<Finding> {
  const setting = rpcSetting.replace('RPC', 'ZMQ')
  const published = await publishedTopics(rpc)
  if (zmqUrl === null) {
    const instead =
      published === null ? 'it was built without ZeroMQ' : `with ${setting} it would push notifications`
    return notice(`${network}: the node is asked in short intervals; ${instead}`)
  }
  if (published === null)
    return fault(`${network}: ${setting} is set and the node was built without ZeroMQ: leave it out`)
  const missing = ZMQ_TOPICS.filter((topic) => !published.includes(topic))
  const fix = `start it with ${missing.map((topic) => `-zmq${topic}=${zmqUrl}`).join(' ')}`
  if (missing.length === ZMQ_TOPICS.length)
    return fault(`${network}: ${setting} is set and the node publishes nothing there: ${fix}`)
  if (missing.length > 0) return notice(`${network}: the node does not publish ${missing.join(', ')}: ${fix}`)
  const silence = state?.notificationsSilent ?? null
  if (silence !== null) return fault(`${network}: ${silence}; correct ${setting}, or what stands between`)
  return ok(`${network}: the node publishes what is listened to on ${zmqUrl}`)
}

/** A test network that is pointed to another chain starts over there: nothing to fix, and good to know. */
async function otherChainFinding(
  { network, rpcSetting }: ChainNode,
  parameters: string,
  chain: ChainProvider,
  state: NetworkState | null,
): Promise<Finding[]> {
  if (state === null || !(await isOtherChain(chain, state, { parameters, chain: await chain.identity() })))
    return []
  return [
    notice(
      `${network}: it is another chain than the one read before: the watcher starts over at its tip, keeps what was final, and gives up payments that were not; to go back, change ${rpcSetting} to what it was`,
    ),
  ]
}

/** Whether a further provider has the block where the watcher stands. */
async function agreementFinding(
  { network }: ChainNode,
  url: string,
  chain: ChainProvider,
  state: NetworkState | null,
): Promise<Finding> {
  const name = `${network}: ${describe(url)}`
  if (state === null || state.height === null || state.hash === null)
    return notice(`${name} has nothing to confirm yet`)
  const theirs = await chain.hashAt(state.height)
  if (theirs === state.hash) return ok(`${name} confirms block ${state.height}`)
  if (theirs === null) {
    return fault(`${name} has not come to block ${state.height} yet: payments wait for it; see that it syncs`)
  }
  return fault(
    `${name} has another block at height ${state.height} than the watcher read: nothing is credited until the providers agree; find out which one is right`,
  )
}

/** Blocks between a chain's tip and what is safe; more says that the chain's consensus, or the node's, is ill. */
const SAFE_BEHIND_MAX = 200

/** A node that does not answer was reported before. */
async function sweeperFinding(pool: Pool, node: EvmChainNode): Promise<Finding[]> {
  try {
    return await inspectSweeper(pool, node)
  } catch (error) {
    if (error instanceof ChainUnavailable) return []
    throw error
  }
}

/** What a node of Ethereum's kind reports about itself: its version, chain and block tags. */
async function inspectEvmProvider(node: EvmChainNode, url: string): Promise<Finding[]> {
  const { network } = node
  const client = new EvmNode(url, node.rpcSetting)
  const who = `${network}: the node at ${client.rpc.where}`
  try {
    const version = await client.rpc.call('web3_clientVersion', [], z.string())
    const chainId = await client.chainId()
    const tip = await client.headerAt('latest')
    const safe = await client.headerAt(evmNetworkOf(node.chain).safeTag)
    const finalized = await client.headerAt('finalized')
    const findings = [ok(`${who} is ${version}, chain id ${chainId}`)]
    if (tip === null || safe === null || finalized === null) {
      findings.push(
        fault(`${who} reports no safe or finalized block, and nothing can become paid: use another node`),
      )
      return findings
    }
    const blockTags = `safe ${safe.number}, finalized ${finalized.number} of ${tip.number}`
    findings.push(
      tip.number - safe.number <= SAFE_BEHIND_MAX
        ? ok(`${who}: ${blockTags}`)
        : fault(
            `${who}: ${blockTags}; payments wait until the safe block follows: see that its consensus client is in sync`,
          ),
    )
    findings.push(...(await inspectTokens(node, client)))
    return findings
  } finally {
    await client.rpc.close()
  }
}

/** `symbol()`. */
const SYMBOL_CALL = '0x95d89b41'

/** What stands at the address of each token of a network: whether it is one, what it calls itself, and its code. */
async function inspectTokens(node: EvmChainNode, asked: EvmNode): Promise<Finding[]> {
  const tokens = evmTokensOf(node.network, realmOf(node), node.tokenContracts)
  return Promise.all(tokens.map((token) => inspectToken(node, asked, token)))
}

async function inspectToken({ network }: EvmChainNode, asked: EvmNode, token: EvmToken): Promise<Finding> {
  const { asset, contract, decimals } = token
  const where = `${network}: ${asset} at ${contract}`
  const code = await asked.rpc.call('eth_getCode', [contract, 'latest'], bytes)
  if (code === '0x') return notice(`${where}: no contract there, so it cannot be paid or paid out`)
  const found = await asked.decimalsOf(contract)
  const symbol = textOfAnswer(
    await asked.rpc.call('eth_call', [{ to: contract, data: SYMBOL_CALL }, 'latest'], bytes),
  )
  const hash = bytesToHex(keccak_256(hexToBytes(code.slice(2))))
  const said = `${where} calls itself ${symbol}, has ${found} decimals, and code 0x${hash}`
  if (symbol === ASSETS[asset].symbol && found === decimals) return ok(said)
  return fault(`${said}: it is another token than ${asset}; correct the contract, or use another node`)
}
