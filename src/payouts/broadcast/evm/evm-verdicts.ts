import { isSweptByDelegation, type Network } from '../../../core/assets.ts'
import type { EvmToken } from '../../../core/chain/evm-parameters.ts'
import type { Sweep } from '../../store/sweeps.ts'
import type { PayoutProviders } from '../payout-providers.ts'
import type { EvmPayoutChain } from './evm-broadcaster-parts.ts'
import { broughtBy, type EvmReceiptFound } from './evm-receipt.ts'
import type { SweeperState } from './sweeper-state.ts'

type Providers = PayoutProviders<EvmPayoutChain>

/**
 * How far a hot wallet's sweeper has come, where another provider says so too, and else `settling`: by one's word alone it would
 * be created, or called, for gas that is lost. That it cannot be there is believed after a day of one's word, too.
 */
export async function agreedSweeper(
  providers: Providers,
  network: Network,
  hot: Uint8Array,
): Promise<SweeperState> {
  const about = `the sweeper of ${network}`
  const state = await providers.current.sweeperOf(hot)
  const saysSo = async (chain: EvmPayoutChain) => (await chain.sweeperOf(hot)).kind === state.kind
  if (state.kind !== 'problem') providers.isNotRefused(about)
  const isAgreed =
    state.kind === 'problem'
      ? await providers.isRefusedForGood(about, saysSo)
      : state.kind === 'settling' || (await providers.anotherSays(about, saysSo))
  return isAgreed ? state : { kind: 'settling' }
}

/** Whether no provider denies that a deposit address is delegated: once too often does no harm, once too seldom a sweep reverts. */
export async function isDelegatedForSure(
  providers: Providers,
  deposit: Uint8Array,
  hot: Uint8Array,
): Promise<boolean> {
  const saysSo = (chain: EvmPayoutChain) => chain.isDelegated(deposit, hot)
  return (await saysSo(providers.current)) && (await providers.fromOthers(saysSo)) !== false
}

/** Whether this block is final, and has this transaction with this outcome. */
export async function isFinalWith(
  chain: EvmPayoutChain,
  txid: string,
  { hash, succeeded }: EvmReceiptFound,
): Promise<boolean> {
  const receipt = await finalReceiptOf(chain, txid)
  return receipt?.hash === hash && receipt.succeeded === succeeded
}

/** A sweep, and what its network's hot wallet and tokens are. */
type SweepIn = Pick<Sweep, 'asset' | 'amount'> & {
  readonly tokens: readonly EvmToken[]
  readonly hot: Uint8Array
}

/**
 * Whether less came to the hot wallet than a sweep moved: what its token kept on the way would be paid from what other
 * merchants have there. With a sweep by delegation the sweeper itself sees to that.
 */
export function isShort(
  { succeeded, logs }: EvmReceiptFound,
  { asset, amount, tokens, hot: account }: SweepIn,
): boolean {
  const contract = tokens.find((token) => token.asset === asset)?.contract
  if (!succeeded || contract === undefined || isSweptByDelegation(asset)) return false
  return broughtBy({ logs }, { account, contract }) < amount
}

/** Whether a final block has this transaction, and it brought less than the sweep moved. */
export async function isShortForGood(chain: EvmPayoutChain, txid: string, sweep: SweepIn): Promise<boolean> {
  const receipt = await finalReceiptOf(chain, txid)
  return receipt !== null && isShort(receipt, sweep)
}

/** Whether a final block has this transaction, and it did nothing there but use up its nonce. */
export async function isRevertedForGood(chain: EvmPayoutChain, txid: string): Promise<boolean> {
  return (await finalReceiptOf(chain, txid))?.succeeded === false
}

async function finalReceiptOf(chain: EvmPayoutChain, txid: string): Promise<EvmReceiptFound | null> {
  const finalized = await chain.finalizedHeight()
  const receipt = await chain.receiptOf(txid)
  return receipt !== null && finalized !== null && receipt.height <= finalized ? receipt : null
}

type Place = { readonly sender: Uint8Array; readonly nonce: number }

/** A search goes so far below where a transaction was signed: a reorganisation may have put it lower. */
const BELOW_SIGNING = 2_000

/**
 * Whether no block will ever have one of these transactions: a final block has another one with their nonce, and that one is
 * found (`elsewhere`). That a node has none of their receipts proves nothing: it may have dropped them, or be one of several behind one
 * URL, of which the next one has them. `unseen`: the nonce is gone, and no block shows what used it up. `fromHeight`: where
 * the chain was when the first was signed; null where nobody knows, and every block counts.
 */
export async function findNonceUser(
  chain: EvmPayoutChain,
  place: Place,
  of: { readonly txids: () => Promise<readonly string[]>; readonly fromHeight: number | null },
): Promise<{ readonly elsewhere: string } | 'open' | 'unseen'> {
  if ((await chain.nonceOf(place.sender, 'finalized')) <= place.nonce) return 'open'
  for (const txid of await of.txids()) if ((await chain.receiptOf(txid)) !== null) return 'open'
  const lowest = Math.max(0, (of.fromHeight ?? 0) - BELOW_SIGNING)
  const user = await chain.nonceUser(place, lowest)
  if (user === 'unseen') return 'unseen'
  // Asked after the search: what was signed meanwhile is listed.
  return user === 'searching' || (await of.txids()).includes(user) ? 'open' : { elsewhere: user }
}
