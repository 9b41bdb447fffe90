import { createHash } from 'node:crypto'
import { isSweptByDelegation, isToken, type Network } from '../../../core/assets.ts'
import {
  affordablePrice,
  gasCostOf,
  replacingPrice,
  TRANSFER_GAS,
  tokenSweepGasAt,
  transferCostOf,
  transferGasAt,
} from '../../../core/payout/gas.ts'
import type { Payout } from '../../../core/payout/payout.ts'
import { type Tx, withTransaction } from '../../../postgres/transaction.ts'
import { insertAccountNonce } from '../../store/account-nonces.ts'
import {
  insertSweepTransaction,
  listSweepTransactions,
  loadNextSweep,
  type Sweep,
} from '../../store/sweeps.ts'
import { alert } from '../alert.ts'
import {
  areSignedOver,
  type EvmEntry,
  isEvmEntry,
  type JournalEntry,
  type SignedIntent,
} from '../journal-lines.ts'
import { isJournaled } from '../payout-journal.ts'
import type { SigningContext } from '../signing-context.ts'
import {
  delegatedSweepCall,
  isFormOf,
  isForSweeper,
  mayCreateSweeper,
  type SweepCall,
} from './delegated-sweeps.ts'
import {
  coversGas,
  type EvmTerms,
  evmEntryOf,
  isReplacementDue,
  isTakenByBlocks,
  nextHotNonce,
  priceOfEntry,
  readEvmTerms,
  wantedPrice,
} from './evm-terms.ts'
import { depositAddress, signFromHotWallet, signSweep, tokenSweepCall } from './sign-evm.ts'
import { isOverLost, leavesNoGap, takesOwnDeposits } from './sweep-checks.ts'

type Task = {
  /** What the sweeps are for. */
  readonly payout: Pick<Payout, 'asset' | 'network' | 'networkFeeMax'>
  readonly sweeps: readonly Sweep[]
  readonly terms: EvmTerms
}

/**
 * Signs the sweeps for an approved payout's sake that are in no block yet: each moves deposits of that merchant to the hot
 * wallet of the same seed and nowhere else. False where what was approved as the highest fee does not pay for one.
 */
export async function signSweeps(signer: SigningContext, task: Task): Promise<boolean> {
  let isAffordable = true
  // What is moved by the sweeper is planned once that is there.
  const hasSweeper = task.sweeps.some((sweep) => !isForSweeper(sweep))
  for (const sweep of task.sweeps) {
    if (sweep.status !== 'planned') continue
    if (hasSweeper && isForSweeper(sweep) && signer.journal.entriesOf(sweep.id).length === 0) continue
    if (!(await signOne(signer, task, sweep))) isAffordable = false
  }
  return isAffordable
}

/**
 * Signs the hot wallet's next transaction again if it is a sweep that has waited too long, whatever the outcome of the
 * payout that it was signed for: all later transactions wait for it.
 */
export async function signSweepInTheWay(signer: SigningContext, network: Network): Promise<void> {
  const sweep = await loadNextSweep(signer.pool, network)
  if (sweep === null || signer.journal.entriesOf(sweep.id).length === 0) return
  const terms = await readEvmTerms(signer, sweep)
  // A token's sweep takes nothing of a payout's fee.
  const payout = { asset: sweep.asset, network, networkFeeMax: 0n }
  if (terms !== null) await signOne(signer, { payout, sweeps: [sweep], terms }, sweep)
}

/** What a sweep's signatures are bound to: all transactions signed under its id conflict with each other. */
export const digestOf = (sweep: Sweep): Buffer =>
  createHash('sha256')
    .update(
      [
        'paylink sweep 1',
        `merchant ${sweep.merchantId}`,
        `mode ${sweep.livemode ? 'live' : 'test'}`,
        `sweep ${sweep.id}`,
        `asset ${sweep.asset}`,
        `network ${sweep.network}`,
        `address ${sweep.address.toString('hex')}`,
        `amount ${sweep.amount}`,
        `nonce ${sweep.nonce ?? 'none'}`,
        ...(sweep.delegationNonce === null ? [] : [`delegation nonce ${sweep.delegationNonce}`]),
      ].join('\n'),
    )
    .digest()

async function signOne(signer: SigningContext, task: Task, sweep: Sweep): Promise<boolean> {
  const { journal, pool } = signer
  const { payout, terms } = task
  const signed = journal.entriesOf(sweep.id).filter(isEvmEntry)
  const digest = digestOf(sweep)
  const isSame =
    areSignedOver(signed, digest) &&
    sweep.asset === payout.asset &&
    sweep.network === payout.network &&
    (sweep.nonce === null) === isToken(payout.asset) &&
    isFormOf(sweep) &&
    sweep.address.equals(depositAddress(terms.account, sweep.keyIndex))
  if (!isSame) {
    alert(signer, sweep, 'a sweep is not what it was, or none of the payout’s, and is not signed')
    return true
  }
  const tenant = { merchantId: sweep.merchantId, livemode: sweep.livemode }
  const stored = await listSweepTransactions(pool, tenant, sweep.id)
  if (!isJournaled(signer, sweep, stored, signed)) return true
  if (stored.length < signed.length) {
    for (const entry of signed.slice(stored.length)) await publishSweep(signer, sweep, entry)
    return true
  }
  const last = signed.at(-1)
  if (
    last === undefined &&
    !((await takesOwnDeposits(signer, sweep, terms)) && (await leavesNoGap(signer, sweep)))
  )
    return true
  if (last !== undefined && !isReplacementDue(last, signer.clock().getTime())) return true
  const made = await build(signer, task, sweep, { last, digest })
  if (made === 'too_dear') return last !== undefined && isStillTaken(last, terms)
  if (made === 'waits') return true
  await signer.reached?.('before_journal')
  await journal.append({ ...made, intent: intentOf(sweep) })
  await signer.reached?.('after_journal')
  await publishSweep(signer, sweep, made)
  await signer.reached?.('after_commit')
  return true
}

/** What was signed may still be taken at its price, as long as blocks, and the place on Ethereum, cost no more than it left for them. */
const isStillTaken = (last: EvmEntry, terms: EvmTerms): boolean =>
  isTakenByBlocks(last, terms) &&
  BigInt(last.network_fee) >= gasCostOf(TRANSFER_GAS + terms.wallet.dataGas, priceOfEntry(last), terms.wallet)

export const intentOf = (sweep: Sweep): SignedIntent => ({
  kind: 'sweep',
  merchant_id: sweep.merchantId,
  asset: sweep.asset,
  amount: sweep.amount.toString(),
  payout_id: sweep.payoutId,
  address: sweep.address.toString('hex'),
  key_index: sweep.keyIndex,
  nonce: sweep.nonce,
  ...(sweep.delegationNonce === null ? {} : { delegation_nonce: sweep.delegationNonce }),
})

type Signature = { readonly last: EvmEntry | undefined; readonly digest: Buffer }

/** Signs a sweep, or signs it again with the same nonce for a higher fee. */
function build(
  signer: SigningContext,
  task: Task,
  sweep: Sweep,
  signature: Signature,
): Promise<EvmEntry | 'waits' | 'too_dear'> {
  const { nonce } = sweep
  return nonce === null
    ? buildTokenSweep(signer, task.terms, sweep, signature)
    : Promise.resolve(buildNativeSweep(signer, task, { ...sweep, nonce }, signature))
}

/** Native coin pays for itself, out of what was approved as the payout's highest fee. */
function buildNativeSweep(
  signer: SigningContext,
  { payout, sweeps, terms }: Task,
  sweep: Sweep & { readonly nonce: number },
  { last, digest }: Signature,
): EvmEntry | 'too_dear' {
  const { wallet, chainId, account, network } = terms
  const each = transferCostOf(wallet)
  // The other sweeps and the payout itself have to be paid for as well.
  const own = transferCostOf(wallet, wallet.newAccountGas)
  const others = sweeps.filter(({ id }) => id !== sweep.id)
  const kept = others.reduce((sum, other) => sum + (other.cost ?? lastCostOf(signer, other) ?? each), own)
  const costMax = payout.networkFeeMax - kept
  const least =
    last === undefined
      ? wallet.baseFee
      : replacingPrice(priceOfEntry(last), { ...wallet, baseFee: 0n, tip: 0n }).maxFee
  const limits = { costMax, l1Fee: wallet.l1Fee, least }
  const wanted = wantedPrice(terms, last ?? null)
  const gas = transferGasAt(wanted, wallet)
  const price = affordablePrice(wanted, gas, limits)
  const cost = price === null ? 0n : gasCostOf(gas, price, wallet)
  if (price === null || cost >= sweep.amount) return 'too_dear'
  const { nonce, keyIndex } = sweep
  const built = signSweep(account, keyIndex, {
    chainId,
    nonce: BigInt(nonce),
    gas,
    maxFeePerGas: price.maxFee,
    maxPriorityFeePerGas: price.tip,
    value: sweep.amount - cost,
  })
  const intent = { intentId: sweep.id, number: (last?.number ?? 0) + 1, network, digest }
  const how = {
    sender: sweep.address,
    nonce,
    gas,
    price,
    networkFee: cost,
    height: wallet.height,
  }
  return evmEntryOf({ ...intent, ...how, built, nowMs: signer.clock().getTime() })
}

function lastCostOf({ journal }: SigningContext, { id }: Sweep): bigint | null {
  const last = journal.entriesOf(id).at(-1)
  return last === undefined ? null : BigInt(last.network_fee)
}

/** What the hot wallet calls to fetch a token; null while the token is not known. */
export function sweepCall(terms: EvmTerms, sweep: Sweep): SweepCall | null {
  if (isSweptByDelegation(sweep.asset)) return delegatedSweepCall(terms, sweep)
  const { account, wallet, token } = terms
  if (token?.domain == null) return null
  const call = { id: sweep.id, index: sweep.keyIndex, value: sweep.amount }
  return {
    to: token.contract,
    data: tokenSweepCall(account, call, token.domain),
    gasAt: (price) => tokenSweepGasAt(price, wallet),
  }
}

/** A token is fetched by the hot wallet, whose own ether pays for it. */
async function buildTokenSweep(
  signer: SigningContext,
  terms: EvmTerms,
  sweep: Sweep,
  { last, digest }: Signature,
): Promise<EvmEntry | 'waits'> {
  const { wallet, chainId, account, network, hot } = terms
  const place = last === undefined ? await nextHotNonce(signer, terms) : { nonce: last.nonce, waiting: 0 }
  const call = sweepCall(terms, sweep)
  // Of what waits only the hot wallet's next transaction is replaced.
  if (call === null || place === null || (last !== undefined && wallet.nonce !== last.nonce)) return 'waits'
  const price = wantedPrice(terms, last ?? null)
  const { to, data, delegation } = call
  const gas = call.gasAt(price)
  if (!(await coversGas(signer, terms, { gas, price, waiting: place.waiting }))) return 'waits'
  if (last === undefined && (await isOverLost(signer, sweep))) return 'waits'
  if (isForSweeper(sweep) && last === undefined && !(await mayCreateSweeper(signer, network))) return 'waits'
  const built = signFromHotWallet(account, {
    chainId,
    nonce: BigInt(place.nonce),
    gas,
    maxFeePerGas: price.maxFee,
    maxPriorityFeePerGas: price.tip,
    to,
    value: 0n,
    data,
    delegation,
  })
  const intent = { intentId: sweep.id, number: (last?.number ?? 0) + 1, network, digest }
  const how = { sender: hot, nonce: place.nonce, gas, price, networkFee: 0n, height: wallet.height }
  return evmEntryOf({ ...intent, ...how, built, nowMs: signer.clock().getTime() })
}

type Published = Pick<Sweep, 'merchantId' | 'livemode' | 'id' | 'network'>

/** Writes a sweep's signature into the database; one that is there already stays as it is. */
export async function publishSweep(
  { pool, clock }: SigningContext,
  sweep: Published,
  entry: JournalEntry,
): Promise<void> {
  const tenant = { merchantId: sweep.merchantId, livemode: sweep.livemode }
  await withTransaction(pool, tenant, (tx) => writeSweepSignature(tx, sweep, entry, clock()))
}

/** The same in the caller's transaction. */
export async function writeSweepSignature(
  tx: Tx,
  sweep: Published,
  entry: JournalEntry,
  now: Date,
): Promise<void> {
  if (!isEvmEntry(entry)) throw new Error(`what was signed for ${entry.payout_id} has no nonce`)
  const tenant = { merchantId: sweep.merchantId, livemode: sweep.livemode }
  const { number, txid, network, nonce } = entry
  const transaction = { number, txid, raw: Buffer.from(entry.raw, 'hex'), cost: BigInt(entry.network_fee) }
  await insertSweepTransaction(tx, sweep, { ...transaction, now })
  const sender = Buffer.from(entry.sender, 'hex')
  await insertAccountNonce(tx, tenant, { network, sender, nonce, intentId: sweep.id })
}
