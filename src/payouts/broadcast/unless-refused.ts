import { EvmRpcError } from '../../chain/evm/evm-rpc.ts'
import { SOLANA_CODES, SolanaCallFailed } from '../../chain/solana/solana-rpc.ts'
import { RPC_CODES, RpcError } from '../../chain/utxo/rpc-client.ts'
import { type DeduplicatedLog, withoutNumbers } from '../../runtime/deduplicated-log.ts'
import type { Log } from '../../runtime/log.ts'

type Parts = { readonly providers: { readonly isLast: boolean }; readonly log: Log }

const MESSAGE = 'the node refuses a question about one payout, sweep, deposit or payment: it waits alone'

/**
 * The result of the work; undefined if the node refuses a question about this one thing, for which others need not wait.
 * If another provider is left to ask, the pass continues with that one. `about`: an id, or an address.
 */
export async function unlessRefused<Result>(
  { providers, log }: Parts,
  { about, alerts }: { readonly about: string; readonly alerts: DeduplicatedLog },
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Error) || !isRefused(error) || !providers.isLast) throw error
    const reason = error.message
    if (alerts.isNew(about, `${MESSAGE} ${withoutNumbers(reason)}`)) log.error({ about, reason }, MESSAGE)
    return undefined
  }
}

/** Whether the node is there and serves, and says no to this question. */
export const isRefused = (error: Error): boolean =>
  (error instanceof EvmRpcError && error.kind === 'other') ||
  (error instanceof SolanaCallFailed && error.code !== SOLANA_CODES.nodeUnhealthy) ||
  (error instanceof RpcError && error.code !== RPC_CODES.warmingUp)
