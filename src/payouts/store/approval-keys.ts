import type { Queryable } from '../../postgres/pool.ts'
import type { Tx } from '../../postgres/transaction.ts'

/** Publishes the key that approvals are signed with; the first stays. */
export async function publishApprovalKey(tx: Tx, publicKey: Uint8Array, now: Date): Promise<void> {
  await tx.query(
    `insert into payout_approval_key (public_key, created_at) values ($1, $2) on conflict do nothing`,
    [Buffer.from(publicKey), now],
  )
}

/** The public key that stands as the API's; null before the first approval. */
export async function loadApprovalKey(db: Queryable): Promise<Buffer | null> {
  const { rows } = await db.query<{ public_key: Buffer }>('select public_key from payout_approval_key')
  return rows[0]?.public_key ?? null
}

/** Says by which key the signer knows approvals; null: by none. */
export async function savePinnedApprovalKey(db: Queryable, publicKey: Uint8Array | null): Promise<void> {
  await db.query(
    `insert into signer_approval_key (public_key) values ($1)
     on conflict (id) do update set public_key = excluded.public_key`,
    [publicKey === null ? null : Buffer.from(publicKey)],
  )
}

/** Says by which key the signer knows outcomes. */
export async function savePinnedOutcomeKey(db: Queryable, publicKey: Uint8Array): Promise<void> {
  await db.query(
    `insert into signer_approval_key (outcome_key) values ($1)
     on conflict (id) do update set outcome_key = excluded.outcome_key`,
    [Buffer.from(publicKey)],
  )
}

/** The key by which the signer knows outcomes; null where it knows none, or has not said so yet. */
export async function loadPinnedOutcomeKey(db: Queryable): Promise<Buffer | null> {
  const { rows } = await db.query<{ outcome_key: Buffer | null }>(
    'select outcome_key from signer_approval_key',
  )
  return rows[0]?.outcome_key ?? null
}

/** The key by which the signer knows approvals; null where it knows none, or has not said so yet. */
export async function loadPinnedApprovalKey(db: Queryable): Promise<Buffer | null> {
  const { rows } = await db.query<{ public_key: Buffer | null }>('select public_key from signer_approval_key')
  return rows[0]?.public_key ?? null
}

/** Whether the database names another key for approvals than the signer knows. */
export async function isApprovalKeyForeign(db: Queryable): Promise<boolean> {
  const { rows } = await db.query(
    'select from payout_approval_key k join signer_approval_key s on s.public_key <> k.public_key',
  )
  return rows.length > 0
}
