import { parseEvmAddress } from '../../../chain/evm/address.ts'
import { tokenTransfer } from '../../../chain/evm/contract-call.ts'
import { type EvmTransaction, readTransaction } from '../../../chain/evm/transaction.ts'
import { isToken } from '../../../core/assets.ts'
import type { Payout } from '../../../core/payout/payout.ts'
import { tenantOf } from '../../../core/tenant.ts'
import { loadFoundPayout } from '../../store/found-payouts.ts'
import {
  listDoneSweeps,
  listSweepTransactions,
  type Sweep,
  type SweepTransaction,
} from '../../store/sweeps.ts'
import { alert } from '../alert.ts'
import type { EvmEntry } from '../journal-lines.ts'
import type { PayoutJournal } from '../payout-journal.ts'
import type { SigningTask } from '../payout-signer.ts'
import type { SigningContext } from '../signing-context.ts'
import { digestOf, intentOf, sweepCall } from './evm-sweeps.ts'
import { type EvmTerms, evmEntryOf, readEvmTerms } from './evm-terms.ts'
import { signFromHotWallet, signSweep } from './sign-evm.ts'
import { takesOwnDeposits } from './sweep-checks.ts'

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

/** Sweeps read in one query, and how often a merchant's are looked through. */
const BATCH_MAX = 500
const LOOK_EVERY_MS = 60_000
/** More than a place on Ethereum ever costs a sweep on Base, wei: 0.001 ether. */
const L1_FEE_MAX = 10n ** 15n

const lookedAtMs = new WeakMap<PayoutJournal, Map<string, number>>()

/**
 * Writes into the journal what of a merchant's was swept into the hot wallet and the journal does not know, since it was lost
 * or set back. That it was signed its own bytes prove, as the same key signs the same again; whose the deposits are, the
 * signer asks as it does before it signs.
 */
export async function adoptSweeps(signer: SigningContext, payout: Payout, terms: EvmTerms): Promise<void> {
  const { pool, journal, clock } = signer
  const { merchantId, livemode, network, asset } = payout
  const looked = lookedAtMs.get(journal) ?? new Map<string, number>()
  lookedAtMs.set(journal, looked)
  const place = [merchantId, network, asset].join(' ')
  const nowMs = clock().getTime()
  if (Math.abs(nowMs - (looked.get(place) ?? Number.NEGATIVE_INFINITY)) < LOOK_EVERY_MS) return
  looked.set(place, nowMs)
  for (let after: string | null = ''; after !== null; ) {
    const batch: Sweep[] = await listDoneSweeps(
      pool,
      { merchantId, livemode },
      { network, asset, after, limit: BATCH_MAX },
    )
    for (const sweep of batch)
      if (journal.entriesOf(sweep.id).length === 0) await adoptOne(signer, sweep, terms)
    after = batch.length === BATCH_MAX ? (batch.at(-1)?.id ?? null) : null
  }
}

async function adoptOne(signer: SigningContext, sweep: Sweep, terms: EvmTerms): Promise<void> {
  const stored = await listSweepTransactions(signer.pool, sweep, sweep.id)
  const entries = stored.flatMap((one) => entryOf(signer, { sweep, terms, one }) ?? [])
  if (entries.length === 0 || entries.length < stored.length) return
  if (!(await takesOwnDeposits(signer, sweep, terms))) return
  for (const entry of entries) await signer.journal.append({ ...entry, intent: intentOf(sweep) })
  alert(signer, sweep, 'a sweep that the journal had lost is written down again by its own signature')
}

type Claimed = { readonly sweep: Sweep; readonly terms: EvmTerms; readonly one: SweepTransaction }

/** Null where these bytes are not what this signer signs for such a sweep. */
function entryOf(signer: SigningContext, { sweep, terms, one }: Claimed): EvmEntry | null {
  const said = readTransaction(one.raw)
  if (said === null || said.chainId !== terms.chainId) return null
  const built = sweep.nonce === null ? tokenSweep(terms, sweep, said) : nativeSweep(terms, sweep, said)
  if (built === null || !built.raw.equals(one.raw) || built.txid !== one.txid) return null
  if (sweep.nonce !== null && sweep.amount - said.value !== one.cost) return null
  return evmEntryOf({
    intentId: sweep.id,
    number: one.number,
    network: sweep.network,
    digest: digestOf(sweep),
    built,
    networkFee: one.cost,
    sender: sweep.nonce === null ? terms.hot : sweep.address,
    nonce: Number(said.nonce),
    gas: said.gas,
    price: { maxFee: said.maxFeePerGas, tip: said.maxPriorityFeePerGas },
    height: 0,
    nowMs: signer.clock().getTime(),
  })
}

/** Its call has the deposit address and the amount in it, signed where the token takes signatures. */
function tokenSweep(terms: EvmTerms, sweep: Sweep, said: EvmTransaction) {
  const call = sweepCall(terms, sweep)
  if (call === null || said.value !== 0n) return null
  const { to, data, delegation } = call
  return signFromHotWallet(terms.account, { ...said, to, data, delegation })
}

/** It moves the amount, less what the gas and a place on Ethereum cost at most. */
function nativeSweep({ account }: EvmTerms, { keyIndex, amount }: Sweep, said: EvmTransaction) {
  const l1Fee = amount - said.value - said.gas * said.maxFeePerGas
  if (l1Fee < 0n || l1Fee > L1_FEE_MAX) return null
  const { to: _to, data: _data, ...rest } = said
  return signSweep(account, keyIndex, rest)
}
