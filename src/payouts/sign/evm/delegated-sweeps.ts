import { CREATE2_DEPLOYER, collectCall, sweeperDeployment, sweeperOf } from '../../../chain/evm/sweeper.ts'
import type { EvmTransaction } from '../../../chain/evm/transaction.ts'
import { isSweptByDelegation, type Network } from '../../../core/assets.ts'
import { delegatedSweepGasAt, type GasPrice, sweeperGasAt } from '../../../core/payout/gas.ts'
import { isDue } from '../../../runtime/clock.ts'
import { isSweeperComing, type Sweep } from '../../store/sweeps.ts'
import { sealedOf } from '../outcomes.ts'
import type { SigningContext } from '../signing-context.ts'
import type { EvmTerms } from './evm-terms.ts'
import { signSweeperDelegation } from './sign-evm.ts'

/** What the hot wallet calls for a sweep, and how much gas it buys. */
export type SweepCall = Pick<EvmTransaction, 'to' | 'data' | 'delegation'> & {
  readonly gasAt: (price: GasPrice) => bigint
}

/** Whether a sweep moves nothing, but puts the sweeper on its network. */
export const isForSweeper = ({ amount }: Pick<Sweep, 'amount'>): boolean => amount === 0n

/** Whether a sweep's form is one that its asset has: those of other assets delegate nothing, and move something. */
export const isFormOf = ({ asset, amount, delegationNonce }: Sweep): boolean =>
  isSweptByDelegation(asset) || (amount > 0n && delegationNonce === null)

/**
 * How a token without signatures is swept: the hot wallet's own sweeper is called, at the address that follows from the hot
 * wallet's, and a deposit address is delegated to nothing else. A sweep of nothing creates it there.
 */
export function delegatedSweepCall(
  { account, chainId, hot, wallet, token }: EvmTerms,
  { amount, keyIndex, address, delegationNonce }: Sweep,
): SweepCall | null {
  if (token === null) return null
  if (amount === 0n)
    return {
      to: CREATE2_DEPLOYER,
      data: sweeperDeployment(hot),
      gasAt: (price) => sweeperGasAt(price, wallet),
    }
  const delegation =
    delegationNonce === null
      ? undefined
      : signSweeperDelegation(account, keyIndex, { chainId, nonce: BigInt(delegationNonce) })
  return {
    to: sweeperOf(hot),
    data: collectCall(token.contract, address, amount),
    delegation,
    gasAt: (price) => delegatedSweepGasAt(price, wallet),
  }
}

/** The sweeper is created once; what the database asks for again costs the hot wallet gas. */
const CREATE_EVERY_MS = 60 * 60_000
/** The same where the watcher has sealed that it was created: for a chain that was made anew under this journal. */
const CREATE_AGAIN_MS = 24 * 60 * 60_000

/** Whether a sweeper may be created now, by what the signer's own journal knows, and none waits for a block. */
export async function mayCreateSweeper(signer: SigningContext, network: Network): Promise<boolean> {
  const signed = signer.journal.sweepersSigned(network)
  const lastMs = Math.max(...signed.map(({ signed_at: atMs }) => atMs))
  const outcomes = signed.map(({ txid }) => ({ kind: 'landed', network, txid }) as const)
  const everyMs = outcomes.some(await sealedOf(signer, network, outcomes)) ? CREATE_AGAIN_MS : CREATE_EVERY_MS
  if (!isDue(lastMs, everyMs, signer.clock().getTime())) return false
  return !(await isSweeperComing(signer.pool, network))
}
