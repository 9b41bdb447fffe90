import type { Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import { VAULT_SWEEPS } from './vault-sweeps.ts'

/** What the books say became of one of the signer's transactions. */
export type OutcomeClaim = {
  /** Null for a sweep into Solana's vault, which is nobody's alone. */
  readonly merchantId: string | null
  /** Of the sweep or payout. */
  readonly id: string
  readonly txid: string
  /** A sweep that is done by it; else a payout that failed although it was signed. */
  readonly isDone: boolean
  /** When it was signed, or asked for, where the database did not see it signed. */
  readonly at: Date
}

/** Transactions looked up on a chain in one audit, the newest of each kind. */
const OUTCOMES_MAX = 500

/** Sweeps of an account-based network that are done, and signed payouts that failed, the newest. */
export async function listOutcomeClaims(db: Queryable, network: Network): Promise<OutcomeClaim[]> {
  const { rows } = await db.query<OutcomeClaim>(
    `(select merchant_id as "merchantId", id, txid, true as "isDone", created_at as at from sweep
       where network = $1 and status = 'done' and txid is not null order by id desc limit ${OUTCOMES_MAX})
     union all
     (select null, id, txid, true, coalesce(signed_at, created_at) from ${VAULT_SWEEPS} c
       where network = $1 and landed and txid is not null order by id desc limit ${OUTCOMES_MAX})
     union all
     (select p.merchant_id, p.id, t.txid, false, t.created_at from payout p
       join payout_transaction t on t.merchant_id = p.merchant_id and t.payout_id = p.id
       where p.network = $1 and p.status = 'failed' order by p.id desc, t.number desc limit ${OUTCOMES_MAX})`,
    [network],
  )
  return rows
}
