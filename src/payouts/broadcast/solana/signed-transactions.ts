import { SolanaCallFailed, type SolanaRpc, type TransactionStatus } from '../../../chain/solana/solana-rpc.ts'
import type { Log } from '../../../runtime/log.ts'
import type { SignedRequest } from '../../store/solana-requests.ts'
import type { BroadcastVerdict } from '../broadcaster.ts'
import type { PayoutProviders } from '../payout-providers.ts'
import { sendTo } from './send-to.ts'

type Parts = { readonly log: Log; readonly providers: PayoutProviders<SolanaRpc> }

/**
 * Sends what is signed over a block's hash, until it is final or its hash is too old: then `end` gets whether it
 * happened.
 */
export async function sendUntilFinal<Signed extends SignedRequest & { readonly id: string }>(
  { log, providers }: Parts,
  signed: readonly Signed[],
  end: (one: Signed, landed: boolean) => Promise<void>,
): Promise<void> {
  if (signed.length === 0) return
  const rpc = providers.current
  const height = await rpc.blockHeight('finalized')
  const statuses = await rpc.statuses(signed.map(({ txid }) => txid))
  for (const one of signed) {
    const status = statuses.get(one.txid)
    if (status?.isFinal === true) {
      const saysSo = (other: SolanaRpc) => isFinalWith(other, one.txid, status)
      if (await providers.anotherSays(one.id, saysSo)) await end(one, !status.failed)
    } else if (status === undefined && height > one.lastValidHeight) {
      if (await isDropped(providers, one)) await end(one, false)
    } else if (status === undefined) await offer({ log, providers }, one)
  }
}

async function offer(
  { log, providers }: Parts,
  { id, txid, raw }: SignedRequest & { readonly id: string },
): Promise<void> {
  const send = async (rpc: SolanaRpc): Promise<BroadcastVerdict> => {
    try {
      return await sendTo(rpc, raw)
    } catch (error) {
      if (!(error instanceof SolanaCallFailed)) throw error
      return { kind: 'refused', reason: error.message }
    }
  }
  const verdict = await providers.broadcast(txid, send)
  // It is sent again until its blockhash is too old, and then requested again.
  if (verdict.kind !== 'known')
    log.debug({ ...verdict, maintenance: id }, 'a node does not take what keeps payouts going')
}

/** Whether no provider has this transaction in a block, and none can get it any more. */
export const isDropped = (
  providers: PayoutProviders<SolanaRpc>,
  { id, txid, lastValidHeight }: SignedRequest & { readonly id: string },
): Promise<boolean> =>
  providers.allSay(id, async (rpc) => {
    // Before the status: what is in no final block by then, and is too old for any later one, is in none.
    if ((await rpc.blockHeight('finalized')) <= lastValidHeight) return false
    return !(await rpc.statuses([txid])).has(txid)
  })

/** Whether the node has this transaction in this slot for good, with this outcome. */
export async function isFinalWith(
  rpc: SolanaRpc,
  txid: string,
  { slot, failed }: TransactionStatus,
): Promise<boolean> {
  const found = (await rpc.statuses([txid])).get(txid)
  return found?.isFinal === true && found.slot === slot && found.failed === failed
}
