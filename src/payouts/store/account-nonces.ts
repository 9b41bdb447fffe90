import type { Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

/** Nonces of an account from `from` on that belong to a payout or a sweep. Served by the primary key. */
export async function listTakenNonces(
  db: Queryable,
  of: { readonly network: Network; readonly sender: Uint8Array; readonly from: number },
): Promise<Set<number>> {
  const { rows } = await db.query<{ nonce: number }>(
    'select nonce from account_nonce where network = $1 and sender = $2 and nonce >= $3',
    [of.network, Buffer.from(of.sender), of.from],
  )
  return new Set(rows.map(({ nonce }) => nonce))
}

/** The nonce after the highest of an account that belongs to a payout or a sweep; 0 where none does. Served by the primary key. */
export async function loadNextNonce(
  db: Queryable,
  of: { readonly network: Network; readonly sender: Uint8Array },
): Promise<number> {
  const { rows } = await db.query<{ next: number }>(
    'select coalesce(max(nonce) + 1, 0) as next from account_nonce where network = $1 and sender = $2',
    [of.network, Buffer.from(of.sender)],
  )
  return rows[0]?.next ?? 0
}

/** Whether nonces of an account from `from` on belong to other merchants than this one. Served by the primary key. */
export async function areNoncesOfOthers(
  db: Queryable,
  of: {
    readonly network: Network
    readonly sender: Uint8Array
    readonly from: number
    readonly merchantId: string
  },
): Promise<boolean> {
  const { rows } = await db.query<{ are: boolean }>(
    `select exists (select from account_nonce
       where network = $1 and sender = $2 and nonce >= $3 and merchant_id <> $4) as are`,
    [of.network, Buffer.from(of.sender), of.from, of.merchantId],
  )
  return rows[0]?.are === true
}

/** Gives a nonce to a payout or sweep. The same again changes nothing; a nonce of another's is an error. */
export async function insertAccountNonce(
  tx: Tx,
  { merchantId, livemode }: Tenant,
  taken: {
    readonly network: string
    readonly sender: Buffer
    readonly nonce: number
    readonly intentId: string
  },
): Promise<void> {
  await tx.query(
    `insert into account_nonce (network, sender, nonce, merchant_id, livemode, intent_id)
     select $1, $2, $3, $4, $5, $6 where not exists (
       select from account_nonce where network = $1 and sender = $2 and nonce = $3 and intent_id = $6)`,
    [taken.network, taken.sender, taken.nonce, merchantId, livemode, taken.intentId],
  )
}

/** The account and nonce of a payout or sweep; null where nothing was signed for it. Served by account_nonce_by_intent. */
export async function loadIntentNonce(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  intentId: string,
): Promise<{ readonly sender: Buffer; readonly nonce: number } | null> {
  const { rows } = await db.query<{ sender: Buffer; nonce: number }>(
    'select sender, nonce from account_nonce where merchant_id = $1 and intent_id = $2 and livemode = $3',
    [merchantId, intentId, livemode],
  )
  return rows[0] ?? null
}

/**
 * Which of these payouts, sweeps and x402 authorizations the database knows, and neither they nor the payout that a sweep
 * is for failed. By primary keys.
 */
export async function listLiveIntents(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await db.query<{ id: string }>(
    `select id from payout where id = any($1) and status <> 'failed'
     union all select s.id from sweep s join payout p on p.merchant_id = s.merchant_id and p.id = s.payout_id
       where s.id = any($1) and s.status <> 'failed' and p.status <> 'failed'
     union all select id from x402_authorization where id = any($1) and status <> 'refused'`,
    [ids],
  )
  return new Set(rows.map(({ id }) => id))
}
