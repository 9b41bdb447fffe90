import { createHash } from 'node:crypto'
import { isSignedByPayer, payerTransferCall } from '../../../chain/evm/payer-authorization.ts'
import { NETWORKS } from '../../../core/assets.ts'
import { gasPriceOf, replacingPrice, tokenSweepGasAt } from '../../../core/payout/gas.ts'
import { SETTLE_SECONDS_MIN } from '../../../core/x402/judge-authorization.ts'
import { x402AssetOn } from '../../../core/x402/x402-assets.ts'
import {
  countX402Signed,
  insertX402Transaction,
  listX402Transactions,
  listX402UnderWay,
  type X402Authorization,
} from '../../../db/invoices/x402-authorizations.ts'
import { isConstraintViolation } from '../../../postgres/constraint-violation.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { insertAccountNonce } from '../../store/account-nonces.ts'
import { alert } from '../alert.ts'
import { areSignedOver, type EvmEntry, isEvmEntry } from '../journal-lines.ts'
import { networksSetBack } from '../lost-payouts.ts'
import { isJournaled } from '../payout-journal.ts'
import type { SigningContext } from '../signing-context.ts'
import {
  coversGas,
  type EvmTerms,
  evmEntryOf,
  isReplacementDue,
  nextHotNonce,
  priceOfEntry,
  readEvmTerms,
} from './evm-terms.ts'
import { depositAddress, signFromHotWallet } from './sign-evm.ts'

/** Authorizations of one network looked at in one turn, of those that a node says go through. */
const TURN_MAX = 100
/**
 * First signatures in an hour on one network: each may cost gas, and a payer who makes it fail pays nothing. What was signed
 * for everybody, for the merchant, and for the payer at that merchant counts together: a merchant gets no more than are left
 * to all others, and a payer no more than are left to the merchant's others.
 */
const X402_PER_HOUR_MAX = 1_000
const HOUR_MS = 3_600_000

/**
 * Signs transactions of the hot wallet that carry what payers have signed to the chain. It pays gas for nobody but who
 * pays an address of the same seed with the one token, and sends no money of its own.
 */
export async function signX402(signer: SigningContext): Promise<void> {
  const setBack = await networksSetBack(signer)
  for (const network of NETWORKS.filter((each) => x402AssetOn(each) !== null && !setBack.has(each))) {
    for (const authorization of await listX402UnderWay(signer.pool, network, ['checked'], TURN_MAX)) {
      try {
        await signOne(signer, authorization)
      } catch (error) {
        // One whose rows contradict each other must not hold up the others.
        if (!isConstraintViolation(error)) throw error
        alert(signer, authorization, 'an x402 authorization contradicts what the database holds', error)
      }
    }
  }
}

/** What its signatures are bound to. */
const digestOf = (of: X402Authorization): Buffer =>
  createHash('sha256')
    .update(
      [
        'paylink x402 1',
        `merchant ${of.merchantId}`,
        `mode ${of.livemode ? 'live' : 'test'}`,
        `authorization ${of.id}`,
        `network ${of.network}`,
        `payer ${of.payer.toString('hex')}`,
        `recipient ${of.recipient.toString('hex')}`,
        `value ${of.value}`,
        `nonce ${of.nonce.toString('hex')}`,
      ].join('\n'),
    )
    .digest()

async function signOne(signer: SigningContext, authorization: X402Authorization): Promise<void> {
  const { journal, pool, clock } = signer
  const tenant = { merchantId: authorization.merchantId, livemode: authorization.livemode }
  const signed = journal.entriesOf(authorization.id).filter(isEvmEntry)
  const digest = digestOf(authorization)
  if (!areSignedOver(signed, digest)) {
    alert(signer, authorization, 'an x402 authorization is not what it was, and is not signed')
    return
  }
  const stored = await listX402Transactions(pool, tenant, authorization.id)
  if (!isJournaled(signer, authorization, stored, signed)) return
  if (stored.length < signed.length) {
    for (const entry of signed.slice(stored.length)) await publish(signer, authorization, entry)
    return
  }
  const last = signed.at(-1)
  const nowMs = clock().getTime()
  if (last === undefined ? !hasTime(authorization, nowMs) : !isReplacementDue(last, nowMs)) return
  if (last === undefined && (await isOverLimit(signer, authorization))) return
  const asset = x402AssetOn(authorization.network)
  const terms = asset === null ? null : await readEvmTerms(signer, { ...authorization, asset })
  if (terms === null || !isOurs(signer, authorization, terms)) return
  const made = await build(signer, terms, authorization, { last, digest })
  if (made === null) return
  await signer.reached?.('before_journal')
  await journal.append(made)
  await signer.reached?.('after_journal')
  await publish(signer, authorization, made)
  await signer.reached?.('after_commit')
}

const hasTime = ({ validBefore }: X402Authorization, nowMs: number): boolean =>
  validBefore >= BigInt(Math.floor(nowMs / 1_000)) + SETTLE_SECONDS_MIN

async function isOverLimit(signer: SigningContext, authorization: X402Authorization): Promise<boolean> {
  const since = new Date(signer.clock().getTime() - HOUR_MS)
  const { all, ofMerchant, ofPayer } = await countX402Signed(signer.pool, authorization, since)
  if (all + ofMerchant + ofPayer < X402_PER_HOUR_MAX) return false
  const whose = all + ofMerchant < X402_PER_HOUR_MAX ? 'this payer' : 'this merchant'
  const who = all < X402_PER_HOUR_MAX ? `of ${whose} ` : ''
  alert(signer, authorization, `as many x402 payments ${who}were signed as an hour may have; this one waits`)
  return true
}

/** Whether it was signed by who pays and pays an address of this seed: the database alone is not believed. */
function isOurs(
  signer: SigningContext,
  authorization: X402Authorization,
  { account, token }: EvmTerms,
): boolean {
  if (token?.domain == null) return false
  const { payer, recipient, keyIndex } = authorization
  const isGood =
    recipient.equals(depositAddress(account, keyIndex)) &&
    isSignedByPayer({ ...authorization, from: payer, to: recipient }, token.domain)
  if (!isGood) alert(signer, authorization, 'an x402 authorization pays nobody here, and is not signed')
  return isGood
}

/** Null while it has to wait. */
async function build(
  signer: SigningContext,
  terms: EvmTerms,
  authorization: X402Authorization,
  { last, digest }: { readonly last: EvmEntry | undefined; readonly digest: Buffer },
): Promise<EvmEntry | null> {
  const { wallet, chainId, account, network, token, hot } = terms
  const place = last === undefined ? await nextHotNonce(signer, terms) : { nonce: last.nonce, waiting: 0 }
  // Of what waits only the hot wallet's next transaction is replaced.
  if (token === null || place === null || (last !== undefined && wallet.nonce !== last.nonce)) return null
  const price = last === undefined ? gasPriceOf(wallet) : replacingPrice(priceOfEntry(last), wallet)
  const gas = tokenSweepGasAt(price, wallet)
  if (!(await coversGas(signer, terms, { gas, price, waiting: place.waiting }))) return null
  const { payer: from, recipient: to } = authorization
  const built = signFromHotWallet(account, {
    chainId,
    nonce: BigInt(place.nonce),
    gas,
    maxFeePerGas: price.maxFee,
    maxPriorityFeePerGas: price.tip,
    to: token.contract,
    value: 0n,
    data: payerTransferCall({ ...authorization, from, to }),
  })
  const intent = { intentId: authorization.id, number: (last?.number ?? 0) + 1, network, digest }
  const how = { sender: hot, nonce: place.nonce, gas, price, networkFee: 0n, height: wallet.height }
  return evmEntryOf({ ...intent, ...how, built, nowMs: signer.clock().getTime() })
}

async function publish(
  { pool, clock }: SigningContext,
  authorization: X402Authorization,
  entry: EvmEntry,
): Promise<void> {
  const { merchantId, livemode, id: intentId } = authorization
  const tenant = { merchantId, livemode }
  const { number, txid, network, nonce } = entry
  await withTransaction(pool, tenant, async (tx) => {
    const raw = Buffer.from(entry.raw, 'hex')
    if (!(await insertX402Transaction(tx, authorization, { number, txid, raw, now: clock() }))) return
    const sender = Buffer.from(entry.sender, 'hex')
    await insertAccountNonce(tx, tenant, { network, sender, nonce, intentId })
  })
}
