import type { Keyspace } from '../../core/assets.ts'
import type { DepositPlan } from '../../core/invoice/plan.ts'
import type { Queryable } from '../../postgres/pool.ts'
import { Rows } from '../../postgres/rows.ts'
import type { Tx } from '../../postgres/transaction.ts'
import type { ClaimedAddress } from '../invoices/invoices.ts'

/**
 * Keeps so many addresses of the pool for a caller, until they are taken or `seconds` have passed; none where fewer than
 * `toLeave` would be left to others. In their order; the same ones that `claimAddress` would take, by the same index.
 */
export async function leaseAddresses(
  db: Queryable,
  { network, keyspace, form }: DepositPlan,
  lease: { readonly count: number; readonly toLeave: number; readonly seconds: number },
): Promise<ClaimedAddress[]> {
  const { rows } = await db.query<ClaimedAddress>(
    `with watched as (
       select case when bool_or(network = $4) then min(through) end as through
       from network_watch where keyspace = $1),
     free as (
       select keyspace, idx from address
       where keyspace = $1 and parameters = $2 and assigned_at is null and idx <= (select through from watched)
         and (leased_until is null or leased_until < now())
         and exists (
           select from address
           where keyspace = $1 and parameters = $2 and assigned_at is null and idx <= (select through from watched)
             and (leased_until is null or leased_until < now())
           order by assigned_at, idx offset $5 limit 1)
       order by assigned_at, idx limit $3 for update skip locked)
     update address set leased_until = now() + $6 * interval '1 second'
     from free where address.keyspace = free.keyspace and address.idx = free.idx
     returning address.idx, program as "addressBytes", address`,
    [keyspace, form, lease.count, network, lease.count + lease.toLeave, lease.seconds],
  )
  return rows.toSorted((one, other) => one.idx - other.idx)
}

/** Gives leased addresses back before their time. By primary key. */
export async function endLeases(
  db: Queryable,
  keyspace: Keyspace,
  indexes: readonly number[],
): Promise<void> {
  await db.query('update address set leased_until = null where keyspace = $1 and idx = any($2)', [
    keyspace,
    indexes,
  ])
}

/** Takes an address that was leased. Fails as `isRefusal(…, 'addressTaken')` where it is not in the pool any more. */
export async function takeLeasedAddress(
  tx: Tx,
  { network, keyspace, form }: DepositPlan,
  index: number,
  now: Date,
): Promise<void> {
  await tx.query(
    `select take_leased_address($1, $2, $3, idx, taken_at)
     from json_to_recordset($4) as row (idx bigint, taken_at timestamptz)`,
    [keyspace, form, network, new Rows([{ idx: index, taken_at: now }])],
  )
}
