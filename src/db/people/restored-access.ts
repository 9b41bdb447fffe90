import type { Queryable } from '../../postgres/pool.ts'

/** Of each kind of access: how many there are, and some of them by name. None of them is a secret. */
export type RestoredAccess = {
  readonly apiKeys: AccessList
  readonly managers: AccessList
  readonly invitations: AccessList
  readonly destinations: AccessList
  readonly endpoints: AccessList
}
export type AccessList = { readonly count: number; readonly first: readonly string[] }

const NONE: AccessList = { count: 0, first: [] }
export const NO_ACCESS: RestoredAccess = {
  apiKeys: NONE,
  managers: NONE,
  invitations: NONE,
  destinations: NONE,
  endpoints: NONE,
}

const LISTED_MAX = 20

/**
 * After a restore: sign-ins and links of emails that ended since the backup would be good again. People sign in anew.
 * Returns how many sign-ins ended.
 */
export async function endAllSignIns(db: Queryable): Promise<number> {
  await db.query('delete from person_verification')
  const { rowCount } = await db.query('delete from person_session')
  return rowCount ?? 0
}

/** After a restore, for the operator: who and what may do something, of all merchants. Scans, once. */
export async function listRestoredAccess(db: Queryable): Promise<RestoredAccess> {
  const list = async (sql: string): Promise<AccessList> => {
    const { rows } = await db.query<{ count: number; name: string }>(
      `select (count(*) over ())::int as count, name from (${sql}) access (name) order by name limit ${LISTED_MAX}`,
    )
    return { count: rows[0]?.count ?? 0, first: rows.map(({ name }) => name) }
  }
  return {
    apiKeys: await list(
      `select concat_ws(' ', id, case when livemode then 'live' else 'test' end, 'of', merchant_id, name)
       from api_key where revoked_at is null`,
    ),
    managers: await list(
      `select concat_ws(' ', person.email, role, 'of', organization_id)
       from organization_member join person on person.id = user_id where role in ('owner', 'admin')`,
    ),
    invitations: await list(
      `select concat_ws(' ', email, role, 'of', organization_id)
       from organization_invitation where status = 'pending' and expires_at > now()`,
    ),
    destinations: await list(
      `select concat_ws(' ', id, asset, address, 'of', merchant_id, name)
       from payout_destination where livemode and removed_at is null`,
    ),
    // Where it is, and not its path, which may be a secret of the receiver's.
    endpoints: await list(
      `select concat_ws(' ', id, substring(url from '^[^:]+://[^/?#]+'), 'of', merchant_id)
       from webhook_endpoint where livemode and removed_at is null`,
    ),
  }
}
