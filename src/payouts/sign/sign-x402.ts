import { createHash } from 'node:crypto'
import { type KeyFamily, keyFamilyOfNetwork, NETWORKS } from '../../core/assets.ts'
import { isIdOf } from '../../core/ids.ts'
import { tenantOf } from '../../core/tenant.ts'
import { x402AssetOn } from '../../core/x402/x402-assets.ts'
import {
  countX402Signed,
  insertX402Transaction,
  listX402Transactions,
  listX402UnderWay,
  type X402Authorization,
} from '../../db/invoices/x402-authorizations.ts'
import { isConstraintViolation } from '../../postgres/constraint-violation.ts'
import { withTransaction } from '../../postgres/transaction.ts'
import { alert } from './alert.ts'
import { EVM_X402 } from './evm/evm-x402-signer.ts'
import { areSignedOver, type JournalEntry, UnreadableLine } from './journal-lines.ts'
import { networksSetBack } from './lost-payouts.ts'
import { isJournaled } from './payout-journal.ts'
import type { SigningContext } from './signing-context.ts'
import { SOLANA_X402 } from './solana/solana-x402-signer.ts'
import { unlessFailing } from './unless-failing.ts'
import type { X402Signer } from './x402-signer.ts'

/** How each family of chains carries what payers signed. */
const SIGNERS: { readonly [family in KeyFamily]?: X402Signer } = {
  evm: EVM_X402,
  solana: SOLANA_X402,
}

/** Authorizations of one network looked at in one turn, of those that a node says go through. */
const TURN_MAX = 100
const HOUR_MS = 3_600_000

/**
 * Signs what carries payers' signed transfers to the chain. Nobody's costs are paid but of who pays an address of the same
 * seed with the one token, and none of the signer's own money is sent.
 */
export async function signX402(signer: SigningContext): Promise<void> {
  const setBack = await networksSetBack(signer)
  for (const network of NETWORKS.filter((each) => x402AssetOn(each) !== null && !setBack.has(each))) {
    const how = SIGNERS[keyFamilyOfNetwork(network)]
    if (how === undefined) continue
    for (const authorization of await listX402UnderWay(signer.pool, network, ['checked'], TURN_MAX)) {
      try {
        await signOne(signer, how, authorization)
      } catch (error) {
        // One whose rows contradict each other, or say what no journal can hold, must not hold up the others.
        if (!isConstraintViolation(error) && !(error instanceof UnreadableLine)) throw error
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

/** Whoever hands one in may choose its id: with a payout's id its signature in the journal would block that payout. */
async function signOne(
  signer: SigningContext,
  how: X402Signer,
  authorization: X402Authorization,
): Promise<void> {
  const { journal, pool, clock } = signer
  if (!isIdOf('x402Authorization', authorization.id)) {
    alert(signer, authorization, 'an x402 authorization has the id of something else, and is not signed')
    return
  }
  const signed = journal.entriesOf(authorization.id)
  const digest = digestOf(authorization)
  if (!areSignedOver(signed, digest)) {
    alert(signer, authorization, 'an x402 authorization is not what it was, and is not signed')
    return
  }
  const stored = await listX402Transactions(pool, tenantOf(authorization), authorization.id)
  if (!isJournaled(signer, authorization, stored, signed)) return
  if (stored.length < signed.length) {
    for (const entry of signed.slice(stored.length)) await publish(signer, how, authorization, entry)
    return
  }
  const last = signed.at(-1)
  if (!how.isDue(authorization, last, clock().getTime())) return
  if (last === undefined && (await isOverLimit(signer, how, authorization))) return
  const build = () => how.build(signer, authorization, { last, digest })
  const made = await unlessFailing(signer, authorization, build, null)
  if (made === null) return
  await signer.reached?.('before_journal')
  await journal.append(made)
  await signer.reached?.('after_journal')
  await publish(signer, how, authorization, made)
  await signer.reached?.('after_commit')
}

/**
 * What was signed for everybody, for the merchant, and for the payer at that merchant counts together: a merchant gets no more
 * than are left to all others, and a payer no more than are left to the merchant's others.
 */
async function isOverLimit(
  signer: SigningContext,
  { perHourMax }: X402Signer,
  authorization: X402Authorization,
): Promise<boolean> {
  const since = new Date(signer.clock().getTime() - HOUR_MS)
  const { all, ofMerchant, ofPayer } = await countX402Signed(signer.pool, authorization, since)
  if (all + ofMerchant + ofPayer < perHourMax) return false
  const whose = all + ofMerchant < perHourMax ? 'this payer' : 'this merchant'
  const who = all < perHourMax ? `of ${whose} ` : ''
  alert(signer, authorization, `as many x402 payments ${who}were signed as an hour may have; this one waits`)
  return true
}

async function publish(
  { pool, clock }: SigningContext,
  how: X402Signer,
  authorization: X402Authorization,
  entry: JournalEntry,
): Promise<void> {
  const tenant = tenantOf(authorization)
  const { number, txid } = entry
  const creation = how.creationOf(entry)
  await withTransaction(pool, tenant, async (tx) => {
    const raw = Buffer.from(entry.raw, 'hex')
    const signed = { number, txid, raw, creation, now: clock() }
    if (await insertX402Transaction(tx, authorization, signed)) await how.publish(tx, authorization, entry)
  })
}
