import { parseEvmAddress } from '../../../chain/evm/address.ts'
import { tokenTransfer } from '../../../chain/evm/contract-call.ts'
import { isToken } from '../../../core/assets.ts'
import { tenantOf } from '../../../core/tenant.ts'
import { loadFoundPayout } from '../../store/found-payouts.ts'
import { alert } from '../alert.ts'
import type { EvmEntry } from '../journal-lines.ts'
import type { SigningTask } from '../payout-signer.ts'
import type { SigningContext } from '../signing-context.ts'
import { evmEntryOf, readEvmTerms } from './evm-terms.ts'
import { signFromHotWallet } from './sign-evm.ts'

/**
 * A transaction of the payout that the watcher found in a block and that neither database nor journal knows, since both were
 * set back. That it was signed here its id proves: the same key signs the same terms with the same bytes. Null where there is
 * none, or it is not this payout's.
 */
export async function adoptFound(
  signer: SigningContext,
  { payout, digest }: SigningTask,
  last: EvmEntry,
): Promise<EvmEntry | null> {
  const found = await loadFoundPayout(signer.pool, tenantOf(payout), payout.id)
  if (found === null || signer.journal.entriesOf(payout.id).some(({ txid }) => txid === found.txid))
    return null
  const terms = await readEvmTerms(signer, payout)
  const to = parseEvmAddress(payout.destination)
  if (terms === null || to === null || found.price === null) return null
  const isOfToken = isToken(payout.asset)
  const networkFee = isOfToken ? 0n : payout.amount - found.value
  if (networkFee < 0n || networkFee > payout.networkFeeMax || (isOfToken && terms.token === null)) return null
  const { gas, maxFee, tip } = found.price
  const built = signFromHotWallet(terms.account, {
    to: terms.token !== null && isOfToken ? terms.token.contract : to,
    value: isOfToken ? 0n : found.value,
    data: isOfToken ? tokenTransfer(to, payout.amount) : new Uint8Array(),
    chainId: terms.chainId,
    nonce: BigInt(last.nonce),
    gas,
    maxFeePerGas: maxFee,
    maxPriorityFeePerGas: tip,
  })
  if (built.txid !== found.txid) return null
  alert(
    signer,
    payout,
    'a payout that database and journal had lost is written down again by its own signature',
  )
  return evmEntryOf({
    intentId: payout.id,
    number: last.number + 1,
    network: payout.network,
    digest,
    built,
    networkFee,
    sender: terms.hot,
    nonce: last.nonce,
    gas,
    price: { maxFee, tip },
    height: last.from_height,
    nowMs: signer.clock().getTime(),
  })
}
