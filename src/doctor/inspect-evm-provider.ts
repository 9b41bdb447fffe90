import { z } from 'zod'
import { EvmNode } from '../chain/evm/evm-node.ts'
import type { EvmChainNode } from '../nodes/chain-nodes.ts'
import { type Finding, fault, ok } from './finding.ts'

/** Blocks between a chain's tip and what is safe; more says that the chain's consensus, or the node's, is ill. */
const SAFE_BEHIND_MAX = 200

/** What a node of Ethereum's kind tells of itself: its version, chain and marks. */
export async function inspectEvmProvider(node: EvmChainNode, url: string): Promise<Finding[]> {
  const { network } = node
  const asked = new EvmNode(url, node.rpcSetting)
  const who = `${network}: the node at ${asked.rpc.where}`
  try {
    const version = await asked.rpc.call('web3_clientVersion', [], z.string())
    const chainId = await asked.chainId()
    const tip = await asked.headerAt('latest')
    const safe = await asked.headerAt('safe')
    const finalized = await asked.headerAt('finalized')
    const findings = [ok(`${who} is ${version}, chain id ${chainId}`)]
    if (tip === null || safe === null || finalized === null) {
      findings.push(
        fault(`${who} tells of no safe or finalized block, and nothing can become paid: use another node`),
      )
      return findings
    }
    const marks = `safe ${safe.number}, finalized ${finalized.number} of ${tip.number}`
    findings.push(
      tip.number - safe.number <= SAFE_BEHIND_MAX
        ? ok(`${who}: ${marks}`)
        : fault(
            `${who}: ${marks}; payments wait until the safe block follows: see that its consensus client is in sync`,
          ),
    )
    return findings
  } finally {
    await asked.rpc.close()
  }
}
