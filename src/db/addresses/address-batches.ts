import { addressLengthOf, type SignedBatch } from '../../core/address-batch.ts'
import type { Keyspace } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { DerivedAddress } from './address-pool.ts'

/**
 * Takes the indexes of a batch for good and leaves it for the watchers, both or neither; false where its first index
 * is not the next one any more.
 */
export async function issueBatch(
  db: Queryable,
  batch: SignedBatch,
  count: number,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `with taken as (
       update account_key set next_index = next_index + $3 where keyspace = $1 and next_index = $2 returning keyspace)
     insert into address_batch (keyspace, first, programs, signature, created_at)
     select keyspace, $2, $4, $5, $6 from taken`,
    [batch.keyspace, batch.first, count, Buffer.from(batch.addresses), Buffer.from(batch.signature), now],
  )
  return rowCount === 1
}

/** Keeps a batch of addresses that are in the pool or given out already. One that is there already stays. */
export async function insertTakenBatch(db: Queryable, batch: SignedBatch, now: Date): Promise<void> {
  await db.query(
    `insert into address_batch (keyspace, first, programs, signature, created_at, taken_at)
     values ($1, $2, $3, $4, $5, $5) on conflict (keyspace, first) do nothing`,
    [batch.keyspace, batch.first, Buffer.from(batch.addresses), Buffer.from(batch.signature), now],
  )
}

/** The lowest index from `from` on that has an address; null where there is none. By primary key. */
export async function nextAddressIndex(
  db: Queryable,
  keyspace: Keyspace,
  from: number,
): Promise<number | null> {
  const { rows } = await db.query<{ idx: number }>(
    'select idx from address where keyspace = $1 and idx >= $2 order by idx limit 1',
    [keyspace, from],
  )
  return rows[0]?.idx ?? null
}

/**
 * Addresses of a keyspace that nobody has yet: in the pool, and in batches on their way there. Leased ones are free for
 * one process alone, until their time is over. Served by address_pool, address_batch_waiting.
 */
export async function countUnassigned(
  db: Queryable,
  keyspace: Keyspace,
  { withLeased = true } = {},
): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select (select count(*) from address
         where keyspace = $1 and assigned_at is null and ($3 or leased_until is null or leased_until < now()))
       + coalesce((select sum(octet_length(programs) / $2::int) from address_batch
           where keyspace = $1 and taken_at is null and refused_at is null), 0)::bigint as count`,
    [keyspace, addressLengthOf(keyspace), withLeased],
  )
  return Number(rows[0]?.count ?? 0)
}

/** The oldest batch that waits, with the key that must have signed it; null where none does. Served by address_batch_waiting. */
export async function nextBatch(
  db: Queryable,
  keyspace: Keyspace,
): Promise<(SignedBatch & { readonly batchKey: Uint8Array | null }) | null> {
  const { rows } = await db.query<{
    first: number
    addresses: Buffer
    signature: Buffer
    batch_key: Buffer | null
  }>(
    `select first, programs as addresses, signature, batch_key from address_batch join account_key using (keyspace)
     where keyspace = $1 and taken_at is null and refused_at is null order by first limit 1`,
    [keyspace],
  )
  const row = rows[0]
  if (row === undefined) return null
  const { first, addresses, signature, batch_key: batchKey } = row
  return { keyspace, first, addresses, signature, batchKey }
}

/** The batch that holds an index, if any does: one step down the primary key. */
export async function findBatchOf(
  db: Queryable,
  keyspace: Keyspace,
  index: number,
): Promise<SignedBatch | null> {
  const { rows } = await db.query<{ first: number; addresses: Buffer; signature: Buffer }>(
    `select first, programs as addresses, signature from address_batch where keyspace = $1 and first <= $2
     order by first desc limit 1`,
    [keyspace, index],
  )
  const row = rows[0]
  return row === undefined ? null : { keyspace, ...row }
}

/** The batches that hold any index from `from` to `to`, in their order. By primary key. */
export async function listBatches(
  db: Queryable,
  keyspace: Keyspace,
  range: { readonly from: number; readonly to: number },
): Promise<SignedBatch[]> {
  const { rows } = await db.query<{ first: number; addresses: Buffer; signature: Buffer }>(
    `select first, programs as addresses, signature from address_batch
     where keyspace = $1 and first <= $3 and first >= coalesce(
       (select max(first) from address_batch where keyspace = $1 and first <= $2), 0)
     order by first`,
    [keyspace, range.from, range.to],
  )
  return rows.map((row) => ({ keyspace, ...row }))
}

/**
 * Puts a checked batch into the pool, unless somebody else did. None passes over a batch that waits or is being put
 * there, so that addresses become visible in the order of their indexes.
 */
export async function takeBatch(
  db: Queryable,
  batch: { readonly keyspace: Keyspace; readonly form: string; readonly first: number },
  addresses: readonly DerivedAddress[],
  now: Date,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `with taken as (
       update address_batch set taken_at = $4
       where keyspace = $1 and first = $2 and taken_at is null and refused_at is null returning keyspace)
     insert into address (keyspace, idx, program, address, parameters, created_at)
     select taken.keyspace, $2 + place - 1, program, address, $3, $4
     from taken, unnest($5::bytea[], $6::text[]) with ordinality as derived (program, address, place)`,
    [
      batch.keyspace,
      batch.first,
      batch.form,
      now,
      addresses.map(({ addressBytes }) => Buffer.from(addressBytes)),
      addresses.map(({ address }) => address),
    ],
  )
  return rowCount !== 0
}

/** Puts a batch aside for good: its signature is not the signer's, or its addresses are there already. */
export async function refuseBatch(
  db: Queryable,
  keyspace: Keyspace,
  first: number,
  now: Date,
): Promise<void> {
  await db.query(
    'update address_batch set refused_at = $3 where keyspace = $1 and first = $2 and taken_at is null',
    [keyspace, first, now],
  )
}

/** Batches that were refused, ever. */
export async function countRefusedBatches(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*) as count from address_batch where refused_at is not null',
  )
  return Number(rows[0]?.count ?? 0)
}

/** After a restored backup nobody knows which of these were given out since. */
export async function deleteWaitingBatches(db: Queryable, keyspace: string): Promise<number> {
  const { rowCount } = await db.query('delete from address_batch where keyspace = $1 and taken_at is null', [
    keyspace,
  ])
  return rowCount ?? 0
}
