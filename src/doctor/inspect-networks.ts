import { loadNetworkStates, type NetworkState } from '../db/chain/network-state.ts'
import { type ChainNode, FOLLOWED_CHAINS, rpcSettingOf } from '../nodes/chain-nodes.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import { type Finding, fault, notice, ok } from './finding.ts'
import { inspectProviders } from './inspect-providers.ts'

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
