import { z } from 'zod'
import { ChainHalted, ChainUnavailable } from '../chain/adapter.ts'
import { RpcClient } from '../chain/utxo/rpc-client.ts'
import { UtxoAdapter } from '../chain/utxo/utxo-adapter.ts'
import { type ChainNode, FOLLOWED_CHAINS, rpcSettingOf } from '../chain-nodes.ts'
import type { Clock } from '../clock.ts'
import type { Pool } from '../db/pool.ts'
import { loadNetworkStates, type NetworkState } from '../db/queries/network-state.ts'
import { type Finding, fault, notice, ok } from './finding.ts'

/** A watcher reads its network every few seconds; an older reading means that none is at work. */
const READ_AGE_MS_MAX = 60_000
/** Litecoin Core 0.21.5.8: older nodes followed the wrong side of the reorganisation of April 2026. */
const LITECOIN_VERSION_MIN = 210_508

/** Every network: its node as it answers now, and how far the watcher has read it. */
export async function inspectNetworks(
  pool: Pool,
  nodes: readonly ChainNode[],
  clock: Clock,
): Promise<Finding[]> {
  const states = await loadNetworkStates(pool)
  const findings: Finding[] = []
  for (const node of nodes) {
    const state = states.find(({ network }) => network === node.network) ?? null
    findings.push(await nodeFinding(node, clock), watchFinding(node, state, clock))
  }
  for (const chain of FOLLOWED_CHAINS) {
    if (nodes.some(({ network }) => network === `${chain}-live`)) continue
    findings.push(notice(`${chain}-live: off; set ${rpcSettingOf(`${chain}-live`)} to take live payments`))
  }
  return findings
}

async function nodeFinding(node: ChainNode, clock: Clock): Promise<Finding> {
  const { network, sandbox } = node
  const adapter = new UtxoAdapter({ ...node, clock })
  try {
    const { parameters, health } = await adapter.connect()
    if (health.status !== 'ok') return fault(`${network}: ${health.reason}`)
    const tip = await adapter.tip()
    const what = sandbox === null ? `the node answers, chain ${parameters}` : 'runs on the sandbox chain'
    return (await oldNodeFinding(node)) ?? ok(`${network}: ${what}, height ${tip.height}`)
  } catch (error) {
    if (!(error instanceof ChainUnavailable || error instanceof ChainHalted)) throw error
    return fault(`${network}: ${error.message}`)
  } finally {
    await adapter.close()
  }
}

async function oldNodeFinding(node: ChainNode): Promise<Finding | null> {
  if (node.chain !== 'litecoin' || !node.livemode) return null
  const rpc = new RpcClient(node.rpcUrl, node.rpcSetting)
  try {
    const { version } = await rpc.call('getnetworkinfo', [], z.object({ version: z.number() }))
    if (version >= LITECOIN_VERSION_MIN) return null
    return fault(
      `${node.network}: the node's version ${version} is too old to be trusted: update it to 0.21.5.8 or later`,
    )
  } finally {
    await rpc.close()
  }
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
  return ok(`${network}: ${position}, ${Math.max(0, Math.round(ageMs / 1_000))} s ago`)
}
