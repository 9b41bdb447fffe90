import type { Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant } from '../../postgres/transaction.ts'

/** What a transaction in the place of a payout's says that was not settled at the request. */
export type FoundTerms = {
  /** What the destination got, base units; of a token 0. */
  readonly value: bigint
  /** On chains of accounts; wei. */
  readonly price: { readonly gas: bigint; readonly maxFee: bigint; readonly tip: bigint } | null
}

/** Of accounts with 0x. */
type Found = FoundTerms & { readonly txid: string }

/** Keeps what was found for a payout, in place of what was found before. */
export async function saveFoundPayout(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  { payoutId, txid, price, value, now }: Found & { readonly payoutId: string; readonly now: Date },
): Promise<void> {
  await db.query(
    `insert into found_payout as f (merchant_id, payout_id, livemode, txid, gas, max_fee, tip, value, found_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     on conflict (merchant_id, payout_id) do update set txid = excluded.txid, gas = excluded.gas,
       max_fee = excluded.max_fee, tip = excluded.tip, value = excluded.value, found_at = excluded.found_at
     where (f.txid, f.gas, f.max_fee, f.tip, f.value)
       is distinct from (excluded.txid, excluded.gas, excluded.max_fee, excluded.tip, excluded.value)`,
    [merchantId, payoutId, livemode, txid, price?.gas, price?.maxFee, price?.tip, value, now],
  )
}

/** What was found for a payout; null where nothing was. By primary key. */
export async function loadFoundPayout(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  payoutId: string,
): Promise<Found | null> {
  const { rows } = await db.query<{
    txid: string
    value: bigint
    gas: bigint | null
    max_fee: bigint | null
    tip: bigint | null
  }>(
    `select txid, value, gas, max_fee, tip from found_payout
     where merchant_id = $1 and payout_id = $2 and livemode = $3`,
    [merchantId, payoutId, livemode],
  )
  const [row] = rows
  if (row === undefined) return null
  const { txid, value, gas, max_fee: maxFee, tip } = row
  const hasPrice = gas !== null && maxFee !== null && tip !== null
  return { txid, value, price: hasPrice ? { gas, maxFee, tip } : null }
}

/** Whether the books have this transaction, for whatever payout. Served by payout_transaction_by_txid. */
export async function isKnownTransaction(db: Queryable, network: Network, txid: string): Promise<boolean> {
  const { rowCount } = await db.query('select from payout_transaction where network = $1 and txid = $2', [
    network,
    txid,
  ])
  return rowCount !== 0
}
