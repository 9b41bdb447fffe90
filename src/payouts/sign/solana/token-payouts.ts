import { keyspaceOfNetwork } from '../../../core/assets.ts'
import {
  TOKEN_ACCOUNT_UNIT_LIMIT,
  TOKEN_UNIT_LIMIT,
  tokenAccountRent,
  tokenFee,
  UNIT_PRICE_MAX,
} from '../../../core/payout/solana-fee.ts'
import type { SolanaReading } from '../../store/solana-accounts.ts'
import { sumSignedPayouts } from '../../store/solana-accounts.ts'
import { listUnmoved } from '../../store/swept-credit.ts'
import { listUnlandedSweeps, loadVaultCredit } from '../../store/vault-sweeps.ts'
import { alert } from '../alert.ts'
import { isSignedFor, type Signed, type SigningTask, WAITS } from '../payout-signer.ts'
import type { SigningContext } from '../signing-context.ts'
import { LONGEST_WINDOW_MS } from '../signing-limits.ts'
import { findFreeNonce, payoutEntryOf } from './payout-nonces.ts'
import { type SolanaSignerAccountKeys, signWithNonce } from './solana-accounts.ts'
import { accountOf, createAccount, readTokenTerms, transfer } from './token-instructions.ts'

/**
 * Token accounts that the fee payer creates for one merchant's payouts in a day. Who owns one may close it and keep what it
 * held, and have it created again by the next payout.
 */
const ACCOUNTS_PER_DAY = 25
const DAY_MS = 24 * 3_600_000

const TOO_MANY_ACCOUNTS =
  'as many token accounts were created for the merchant’s payouts as a day may have; it waits'
const LACKS_SOL =
  'the fee payer has too little SOL for a payout of tokens, which waits: send it some (paylink doctor shows its address)'

/** Tokens out of the vault, over a durable nonce as SOL goes; the fee payer pays what the chain takes, and is not paid back. */
export async function signTokenPayout(
  signer: SigningContext,
  { payout, digest }: SigningTask,
  of: { readonly keys: SolanaSignerAccountKeys; readonly reading: SolanaReading; readonly gas: bigint },
): Promise<Signed> {
  const { pool } = signer
  const { keys, reading, gas } = of
  const { network, asset, amount, destination } = payout
  const token = await readTokenTerms(signer, network, asset)
  if (token === null) return WAITS
  if (destination === accountOf(keys.vault.address, token))
    return { kind: 'refused', code: 'destination_invalid' }
  const creates = gas > BigInt(TOKEN_UNIT_LIMIT)
  if (creates && !mayCreate(signer, payout)) {
    alert(signer, payout, TOO_MANY_ACCOUNTS)
    return WAITS
  }
  const tenant = { merchantId: payout.merchantId, livemode: payout.livemode }
  const credit = await loadVaultCredit(pool, tenant, { network, keyspace: keyspaceOfNetwork(network), asset })
  // A sweep brings what is missing.
  if (credit < amount) return WAITS
  const { failed } = await listUnmoved(pool, tenant, payout)
  const unlanded = await listUnlandedSweeps(pool, { network, asset })
  if (!(await isSignedFor(signer, payout, { unlanded, failed }))) return WAITS
  const leaving = await sumSignedPayouts(pool, { network, asset }, token.held.readAt)
  if (token.held.amount - leaving < amount) return WAITS
  const units = creates ? TOKEN_ACCOUNT_UNIT_LIMIT : TOKEN_UNIT_LIMIT
  // Nobody approves what the fee payer pays, so that no more is believed than there can be.
  const price = Math.min(reading.unitPrice, UNIT_PRICE_MAX)
  const costs = tokenFee(units, price) + (creates ? tokenAccountRent(reading.rentExempt) : 0n)
  if (reading.feePayerLamports - reading.rentExempt < costs) {
    alert(signer, payout, LACKS_SOL)
    return WAITS
  }
  const nonce = await findFreeNonce(signer, network, keys)
  if (nonce === null) return WAITS
  const moves = [
    ...(creates ? [createAccount(keys.feePayer, destination, token)] : []),
    transfer(token, { from: keys.vault, to: destination, amount }),
  ]
  const signed = await signWithNonce(keys.feePayer, moves, nonce, { units, price })
  const entry = payoutEntryOf({
    payout,
    digest,
    signed,
    nonce,
    networkFee: 0n,
    nowMs: signer.clock().getTime(),
  })
  return { kind: 'signed', entry: creates ? { ...entry, creates_account: true } : entry }
}

/** By the signer's own journal. */
function mayCreate(
  { journal, clock }: SigningContext,
  { merchantId, livemode }: SigningTask['payout'],
): boolean {
  const nowMs = clock().getTime()
  const created = journal
    .firstSignedWithin(LONGEST_WINDOW_MS, nowMs, livemode)
    .filter((first) => first.createsAccount && first.merchantId === merchantId && first.atMs > nowMs - DAY_MS)
  return created.length < ACCOUNTS_PER_DAY
}
