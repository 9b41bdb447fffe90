import { parseEvmAddress } from '../../../chain/evm/address.ts'
import { tokenTransfer } from '../../../chain/evm/contract-call.ts'
import type { EvmTransaction } from '../../../chain/evm/transaction.ts'
import { isToken } from '../../../core/assets.ts'
import {
  affordablePrice,
  type GasPrice,
  gasCostOf,
  replacingPrice,
  TRANSFER_GAS,
  tokenTransferGasAt,
  transferCostOf,
  transferGasAt,
} from '../../../core/payout/gas.ts'
import type { Payout } from '../../../core/payout/payout.ts'
import { isWaitOver } from '../../../core/payout/payout-limits.ts'
import { tenantOf } from '../../../core/tenant.ts'
import { sumHotObligations } from '../../../db/addresses/hot-wallets.ts'
import type { Tenant, Tx } from '../../../postgres/transaction.ts'
import { areNoncesOfOthers, insertAccountNonce } from '../../store/account-nonces.ts'
import { loadPayoutGas } from '../../store/payout-transactions.ts'
import { findGasRisk } from '../../store/reverted-payouts.ts'
import { listSweepSources } from '../../store/sweep-sources.ts'
import { hasLostDeposit, listSweepsOf } from '../../store/sweeps.ts'
import { listUnmoved, loadSweptCredit } from '../../store/swept-credit.ts'
import { alert } from '../alert.ts'
import { type EvmEntry, isEvmEntry, type JournalEntry } from '../journal-lines.ts'
import { creditOf } from '../outcomes.ts'
import {
  isSignedFor,
  type PayoutSigner,
  type Signed,
  type SigningTask,
  type Unsigned,
  WAITS,
} from '../payout-signer.ts'
import type { SigningContext } from '../signing-context.ts'
import { adoptFound, adoptSweeps } from './adopt-signed.ts'
import { isForSweeper } from './delegated-sweeps.ts'
import { signSweepInTheWay, signSweeps } from './evm-sweeps.ts'
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
import { signFromHotWallet } from './sign-evm.ts'

/** The approved maximum fee is below the network's fee now. That may pass, but is not waited for without end. */
function tooDear(signer: SigningContext, payout: Payout): Unsigned {
  if (isWaitOver(payout, signer.clock().getTime())) return { kind: 'refused', code: 'fee_above_limit' }
  alert(signer, payout, 'the network takes more now than was approved; the payout waits')
  return WAITS
}

async function prepare(signer: SigningContext, task: SigningTask): Promise<'ready' | Unsigned> {
  const { payout } = task
  const sweeps = await listSweepsOf(signer.pool, tenantOf(payout), payout.id)
  const moving = sweeps.filter((sweep) => !isForSweeper(sweep))
  if (moving.some(({ status }) => status === 'failed')) return { kind: 'refused', code: 'sweep_failed' }
  // The sweeper may stand there already, by another payout's transaction: what the payout lacks says whether it waits.
  const isMoved = moving.every(({ status }) => status === 'done')
  if (isMoved && !sweeps.some(({ status }) => status === 'planned')) return 'ready'
  if (await hasLostDeposit(signer.pool, tenantOf(payout), payout.id))
    return { kind: 'refused', code: 'deposit_gone' }
  const terms = await readEvmTerms(signer, payout)
  if (terms === null) return WAITS
  const isAffordable = await signSweeps(signer, { payout, sweeps, terms })
  if (isMoved) return 'ready'
  return isAffordable ? WAITS : tooDear(signer, payout)
}

/** What a payout sends from the hot wallet, but for nonce and price. */
type Content = {
  readonly gas: bigint
  /** It takes more than an address without code does. */
  readonly runsCode: boolean
  readonly isToken: boolean
  /** What the sweeps for its sake took, in units of its asset: part of its fee. */
  readonly swept: bigint
  readonly build: (amount: bigint) => Pick<EvmTransaction, 'to' | 'value' | 'data'>
}

/**
 * Why there is nothing to send yet, or never, or what it is. `last`: what was signed for it before, which says it too where
 * the payout was brought back after a restore.
 */
async function readContent(
  signer: SigningContext,
  payout: Payout,
  terms: EvmTerms,
  last: EvmEntry | null,
): Promise<Content | Unsigned> {
  const to = parseEvmAddress(payout.destination)
  // What goes to the hot wallet itself would be booked as paid and stay.
  if (to === null || Buffer.from(to).equals(terms.hot))
    return { kind: 'refused', code: 'destination_invalid' }
  const tenant = tenantOf(payout)
  const wanted = wantedPrice(terms, last)
  const sweeps = await listSweepsOf(signer.pool, tenant, payout.id)
  const swept = sweeps.reduce((sum, { cost }) => sum + (cost ?? 0n), 0n)
  if (isToken(payout.asset)) {
    const { token } = terms
    if (token === null) return WAITS
    // Until the watcher has seen that the token's contract would let it happen.
    if (last === null && (await loadPayoutGas(signer.pool, tenant, payout.id)) === null) return WAITS
    const build = (amount: bigint) => ({ to: token.contract, value: 0n, data: tokenTransfer(to, amount) })
    return { gas: tokenTransferGasAt(wanted, terms.wallet), runsCode: false, isToken: true, swept, build }
  }
  const send = { isToken: false, build: (value: bigint) => ({ to, value, data: new Uint8Array() }) }
  const gas = await loadPayoutGas(signer.pool, tenant, payout.id)
  if (gas === null && last !== null) {
    const lastGas = BigInt(last.gas)
    // What was not the last one's own gas was its sweeps', of which the database may have forgotten some.
    const own = gasCostOf(lastGas, priceOfEntry(last), terms.wallet)
    const runsCode = lastGas > usualGas(terms)
    // Nobody says any more what of it was for code, and what for data, which may have grown dearer.
    const more = isTakenByBlocks(last, terms) ? 0n : transferGasAt(wanted, terms.wallet) - TRANSFER_GAS
    return { ...send, gas: lastGas + more, runsCode, swept: BigInt(last.network_fee) - own }
  }
  if (gas === null) return WAITS
  if (gas === 0n) return { kind: 'refused', code: 'destination_refuses' }
  return { ...send, gas: transferGasAt(wanted, terms.wallet, gas), runsCode: gas > usualGas(terms), swept }
}

/** The price at which a payout goes, within what was approved; null where that is less than `least`. */
function priceWithin(payout: Payout, content: Content, terms: EvmTerms, wanted: GasPrice, least: bigint) {
  // A token's payout takes nothing from its amount: the hot wallet's own ether pays.
  if (content.isToken) return wanted
  const costMax = payout.networkFeeMax - content.swept
  return affordablePrice(wanted, content.gas, { costMax, l1Fee: terms.wallet.l1Fee, least })
}

async function signFirst(signer: SigningContext, { payout, digest }: SigningTask): Promise<Signed<EvmEntry>> {
  const terms = await readEvmTerms(signer, payout)
  if (terms === null) return WAITS
  const content = await readContent(signer, payout, terms, null)
  if ('kind' in content) return content
  const of = { network: payout.network, asset: payout.asset, counts: 'done' } as const
  if ((await loadSweptCredit(signer.pool, tenantOf(payout), of)) < payout.amount)
    return (await lacksCrumbs(signer, payout, terms)) ? tooDear(signer, payout) : WAITS
  const unmoved = await listUnmoved(signer.pool, tenantOf(payout), of)
  if ((await creditOf(signer, payout, unmoved)).amount < payout.amount)
    await adoptSweeps(signer, payout, terms)
  if (!(await isSignedFor(signer, payout, unmoved))) return WAITS
  const risk = await riskOf(signer, payout, content, terms)
  if (risk === 'reverted') return { kind: 'refused', code: 'reverted_lately' }
  if (risk === 'under_way') return WAITS
  const price = priceWithin(payout, content, terms, wantedPrice(terms, null), terms.wallet.baseFee)
  if (price === null) return tooDear(signer, payout)
  const place = await nextHotNonce(signer, terms)
  if (place === null) return WAITS
  if (!(await isFunded(signer, payout, content, terms, { price, waiting: place.waiting }))) return WAITS
  if (!(await mayRevert(signer, payout, content, terms, { price, waiting: place.waiting })))
    return isWaitOver(payout, signer.clock().getTime()) ? { kind: 'refused', code: 'gas_not_covered' } : WAITS
  return sign(signer, { payout, digest, terms, content, price, nonce: place.nonce, number: 1 })
}

/** Whether all that is missing lies in deposits that are worth less now than it takes to move them. */
async function lacksCrumbs({ pool }: SigningContext, payout: Payout, { wallet }: EvmTerms): Promise<boolean> {
  const { network, asset } = payout
  if (isToken(asset)) return false
  const tenant = tenantOf(payout)
  const cost = transferCostOf(wallet)
  const credit = await loadSweptCredit(pool, tenant, { network, asset, counts: 'planned' })
  const { orphans, addresses, dust } = await listSweepSources(pool, tenant, { network, asset, cost })
  const missing = [...orphans, ...addresses].reduce(
    (left, { amount }) => left - amount,
    payout.amount - credit,
  )
  return missing > 0n && missing <= dust
}

/** A merchant whose payout reverted gets no other to a contract for so long: the gas was the shared hot wallet's. */
const REVERTED_MS = 24 * 3_600_000

/** What a payment to an address without code takes, new or not. */
const usualGas = ({ wallet }: EvmTerms): bigint =>
  wallet.newAccountGas > TRANSFER_GAS ? wallet.newAccountGas : TRANSFER_GAS

/** Its destination may burn the gas and revert, and have its amount back: once a day for a merchant, one payout at a time. */
function riskOf(
  { pool, clock }: SigningContext,
  payout: Payout,
  { runsCode, isToken }: Content,
  terms: EvmTerms,
) {
  // What a token runs is its own contract, which its issuer answers for.
  if (isToken) return null
  const since = new Date(clock().getTime() - REVERTED_MS)
  return findGasRisk(pool, payout, { since, runsCode, usual: usualGas(terms) })
}

/** Whether the hot wallet holds what the payout sends, and pays for it. */
async function isFunded(
  signer: SigningContext,
  payout: Payout,
  { gas, isToken, swept }: Content,
  terms: EvmTerms,
  { price, waiting }: { readonly price: GasPrice; readonly waiting: number },
): Promise<boolean> {
  const { wallet, token } = terms
  if (!isToken) return wallet.balance >= payout.amount - swept
  if (token === null || token.balance < payout.amount) return false
  return coversGas(signer, terms, { gas, price, waiting })
}

const LACKS_OWN_ETHER =
  'a payout to a contract waits: the hot wallet lacks coin of its own for the gas, should the contract refuse it; send it some (paylink doctor shows its address), or it fails after a day'

/** Whether a payment to a contract may revert: its gas is then the hot wallet's, and may not be what other merchants have there. */
async function mayRevert(
  signer: SigningContext,
  payout: Payout,
  { gas, runsCode, swept }: Content,
  terms: EvmTerms,
  { price, waiting }: { readonly price: GasPrice; readonly waiting: number },
): Promise<boolean> {
  if (!runsCode) return true
  if (await coversGas(signer, terms, { gas, price, waiting })) return true
  const of = { network: payout.network, asset: payout.asset }
  const owed = await sumHotObligations(signer.pool, { ...of, headNonce: terms.wallet.nonce })
  const own = await loadSweptCredit(signer.pool, tenantOf(payout), { ...of, counts: 'done' })
  if (owed <= own - swept) return true
  alert(signer, payout, LACKS_OWN_ETHER)
  return false
}

function sign(
  signer: SigningContext,
  parts: {
    readonly payout: Payout
    readonly digest: Buffer
    readonly terms: EvmTerms
    readonly content: Content
    readonly price: GasPrice
    readonly nonce: number
    readonly number: number
  },
): Signed<EvmEntry> {
  const { payout, terms, content, price, nonce } = parts
  const { gas, swept, isToken } = content
  const cost = swept + gasCostOf(gas, price, terms.wallet)
  // What is above the highest fee that was approved is not the payout's.
  const within = cost < payout.networkFeeMax ? cost : payout.networkFeeMax
  const networkFee = isToken ? 0n : within
  const built = signFromHotWallet(terms.account, {
    ...content.build(payout.amount - networkFee),
    chainId: terms.chainId,
    nonce: BigInt(nonce),
    gas,
    maxFeePerGas: price.maxFee,
    maxPriorityFeePerGas: price.tip,
  })
  const { network } = payout
  const intent = { intentId: payout.id, number: parts.number, network, digest: parts.digest }
  const how = { sender: terms.hot, nonce, gas, price, networkFee, height: terms.wallet.height }
  const entry = evmEntryOf({ ...intent, ...how, built, nowMs: signer.clock().getTime() })
  return { kind: 'signed', entry }
}

/**
 * The hot wallet's next transaction, where it has waited too long, is signed again with its nonce for a higher fee. Where no
 * block takes what was approved for it, and other merchants wait behind it, the hot wallet's own ether pays the rest.
 */
async function signReplacement(
  signer: SigningContext,
  { payout, digest }: SigningTask,
  signed: readonly JournalEntry[],
): Promise<Signed<EvmEntry>> {
  const last = signed.filter(isEvmEntry).at(-1)
  const found = last === undefined ? null : await adoptFound(signer, { payout, digest }, last)
  if (found !== null) return { kind: 'signed', entry: found }
  if (last === undefined || !isReplacementDue(last, signer.clock().getTime())) return WAITS
  const terms = await readEvmTerms(signer, payout)
  // A transaction in a block needs no replacement, and one behind another waits for that one.
  if (terms === null || terms.wallet.nonce !== last.nonce) return WAITS
  const content = await readContent(signer, payout, terms, last)
  if ('kind' in content) return WAITS
  const least = replacingPrice(priceOfEntry(last), { ...terms.wallet, baseFee: 0n, tip: 0n })
  const wanted = wantedPrice(terms, last)
  const within = priceWithin(payout, content, terms, wanted, least.maxFee)
  const price = within ?? ((await isInTheWay(signer, payout, last, terms)) ? wanted : null)
  if (price === null) return WAITS
  const isHelped = content.isToken || within === null
  if (isHelped && !(await coversGas(signer, terms, { gas: content.gas, price, waiting: 0 }))) return WAITS
  return sign(signer, { payout, digest, terms, content, price, nonce: last.nonce, number: last.number + 1 })
}

/**
 * Whether blocks, or its data in them, cost more than a transaction pays, and what other merchants have in the hot wallet's
 * line waits for it. The merchant's own is no reason: it would have its gas paid by asking for two payouts at a time.
 */
function isInTheWay(
  { pool }: SigningContext,
  { merchantId }: Payout,
  last: EvmEntry,
  terms: EvmTerms,
): Promise<boolean> | boolean {
  if (isTakenByBlocks(last, terms)) return false
  const { network, hot } = terms
  return areNoncesOfOthers(pool, { network, sender: hot, from: last.nonce + 1, merchantId })
}

async function publish(tx: Tx, tenant: Tenant, entry: JournalEntry): Promise<void> {
  if (!isEvmEntry(entry)) throw new Error(`what was signed for ${entry.payout_id} has no nonce`)
  const { payout_id: intentId, network, nonce } = entry
  await insertAccountNonce(tx, tenant, { network, sender: Buffer.from(entry.sender, 'hex'), nonce, intentId })
}

/** Payouts of accounts (Ethereum, Base): all transactions of one have one nonce of the hot wallet. */
export const EVM_PAYOUTS: PayoutSigner = {
  maintain: signSweepInTheWay,
  prepare,
  signFirst,
  signReplacement,
  publish,
}
