import type { Log } from '../../runtime/log.ts'
import type { Plan } from '../plan.ts'
import { ChainTransaction } from './chain-transaction.ts'
import type { SandboxNode } from './sandbox-node.ts'

/** Takes the steps that scenarios had left when the chain stopped. One that cannot be taken any more is given up. */
export function resumePlans(node: SandboxNode, plans: readonly Plan[], log: Log): void {
  for (const plan of plans) {
    try {
      resume(node, plan)
    } catch (error) {
      log.warn({ err: error, txid: plan.txid }, 'a test payment that was interrupted could not be finished')
    }
    node.state.mempool.release(plan.txid)
    node.state.done(plan.txid)
    node.miner.wake()
  }
}

function resume(node: SandboxNode, { txid, hex }: Plan): void {
  if (hex !== null) {
    const verdict = node.submit(ChainTransaction.parse(Buffer.from(hex, 'hex')))
    if (verdict.kind === 'refused') throw new Error(verdict.reason)
    return
  }
  // Where no block holds it, its block was reorganised away before, and the next one takes it again.
  const height = node.state.heightOfRecent(txid)
  if (height !== null) node.state.reorganise(node.state.tip.height - height + 1, node.nowMs)
}
