import type { DurableNonce } from '../../../chain/solana/durable-nonce.ts'
import type { Network } from '../../../core/assets.ts'
import type { Payout } from '../../../core/payout/payout.ts'
import { listSolanaNonces } from '../../store/solana-accounts.ts'
import { durableNonceClaim, type SolanaEntry } from '../journal-lines.ts'
import type { SigningContext } from '../signing-context.ts'
import type { SolanaSigned, SolanaSignerAccountKeys } from './solana-accounts.ts'

/** A durable nonce of the signer's own over whose value nothing was ever signed; null while none is free. */
export async function findFreeNonce(
  { pool, journal }: SigningContext,
  network: Network,
  { nonceAccounts }: SolanaSignerAccountKeys,
): Promise<DurableNonce | null> {
  const ours: readonly string[] = nonceAccounts
  const isFree = (nonce: DurableNonce) =>
    ours.includes(nonce.account) && journal.spendersOf(durableNonceClaim(network, nonce)).length === 0
  return (await listSolanaNonces(pool, network)).find(isFree) ?? null
}

/** The line of the journal about a payout that is signed over a durable nonce. */
export function payoutEntryOf(of: {
  readonly payout: Payout
  readonly digest: Buffer
  readonly signed: SolanaSigned
  readonly nonce: DurableNonce
  /** What the payout itself pays, base units. */
  readonly networkFee: bigint
  readonly nowMs: number
}): SolanaEntry {
  const { payout, signed, nonce } = of
  return {
    payout_id: payout.id,
    number: 1,
    network: payout.network,
    digest: of.digest.toString('hex'),
    txid: signed.txid,
    raw: signed.raw.toString('hex'),
    network_fee: of.networkFee.toString(),
    from_height: 0,
    durable_nonce: { account: nonce.account, value: nonce.value },
    signed_at: of.nowMs,
  }
}
