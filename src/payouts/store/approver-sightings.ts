import type { Queryable } from '../../postgres/pool.ts'
import type { ApproverCredential } from './approvers.ts'

type ApproverSighting = Pick<ApproverCredential, 'merchantId' | 'personId' | 'kind'> & {
  readonly fingerprint: string
  readonly countsFrom: Date
}

/**
 * Says which credentials the signer has seen, each once. Those of before it kept a list are not new and nobody is notified.
 * By primary key.
 */
export async function saveApproverSightings(
  db: Queryable,
  sightings: readonly (ApproverSighting & { readonly isNew: boolean })[],
): Promise<void> {
  await db.query(
    `insert into approver_sighting (fingerprint, merchant_id, livemode, person_id, kind, counts_from, told_at)
     select s.fingerprint, s.merchant_id, true, s.person_id, s.kind, s.counts_from, case when not s.is_news then now() end
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::boolean[])
       as s (fingerprint, merchant_id, person_id, kind, counts_from, is_news)
     on conflict do nothing`,
    [
      sightings.map(({ fingerprint }) => fingerprint),
      sightings.map(({ merchantId }) => merchantId),
      sightings.map(({ personId }) => personId),
      sightings.map(({ kind }) => kind),
      sightings.map(({ countsFrom }) => countsFrom),
      sightings.map(({ isNew }) => isNew),
    ],
  )
}

export type NewApprover = ApproverSighting & {
  /** Null where the person is gone. */
  readonly approverEmail: string | null
}

/**
 * Credentials that the signer has seen and nobody was notified of, one of each merchant first. Served by
 * approver_sighting_untold and person's key.
 */
export async function listUnnotifiedApprovers(db: Queryable, limit: number): Promise<NewApprover[]> {
  const { rows } = await db.query<NewApprover>(
    `select s.fingerprint, s.merchant_id as "merchantId", s.person_id as "personId", s.kind,
       s.counts_from as "countsFrom", p.email as "approverEmail"
     from approver_sighting s left join person p on p.id = s.person_id where s.told_at is null
     order by row_number() over (partition by s.merchant_id order by s.counts_from), s.counts_from limit $1`,
    [limit],
  )
  return rows
}

/** Keeps that a merchant was notified of a credential. By primary key. */
export async function markApproverNotified(db: Queryable, fingerprint: string): Promise<void> {
  await db.query('update approver_sighting set told_at = now() where fingerprint = $1', [fingerprint])
}
