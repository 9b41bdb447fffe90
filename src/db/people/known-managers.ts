import type { Queryable } from '../../postgres/pool.ts'

/** Whether a row of known_manager is still true: its person is an owner or admin of the shop at this address. */
const IS_MANAGER = `exists (
  select from organization_member m join person p on p.id = m.user_id
  where m.organization_id = k.merchant_id and m.user_id = k.person_id and m.role in ('owner', 'admin') and p.email = k.email)`

/** Notes at which addresses the owners and admins of shops are, as far as that is new. Reads organization_member. */
export async function noteManagers(db: Queryable, limit: number): Promise<void> {
  await db.query(
    `insert into known_manager (merchant_id, person_id, email)
     select m.organization_id, m.user_id, p.email from organization_member m join person p on p.id = m.user_id
     where m.role in ('owner', 'admin') and length(p.email) <= 320 and not exists (
       select from known_manager k
       where k.merchant_id = m.organization_id and k.person_id = m.user_id and k.email = p.email)
     limit $1
     on conflict do nothing`,
    [limit],
  )
  await db.query(`update known_manager k set left_at = null where left_at is not null and ${IS_MANAGER}`)
}

type FormerAddress = { readonly merchantId: string; readonly personId: string; readonly email: string }

/** Managers who are none any more at the address where they were, and were not told so. Reads known_manager, by its key. */
export async function listLeavingManagers(db: Queryable, limit: number): Promise<FormerAddress[]> {
  const { rows } = await db.query<FormerAddress>(
    `select merchant_id as "merchantId", person_id as "personId", email from known_manager k
     where left_at is null and not ${IS_MANAGER} limit $1`,
    [limit],
  )
  return rows
}

/** Keeps that a former manager was told. By primary key. */
export async function markManagerLeft(
  db: Queryable,
  { merchantId, personId, email }: FormerAddress,
): Promise<void> {
  await db.query(
    'update known_manager set left_at = now() where merchant_id = $1 and person_id = $2 and email = $3',
    [merchantId, personId, email],
  )
}

/** Forgets who left so many days ago. Served by known_manager_left. */
export async function forgetFormerManagers(db: Queryable, days: number): Promise<void> {
  await db.query('delete from known_manager where left_at < now() - make_interval(days => $1)', [days])
}

/** Where the managers of a shop were until lately, and are no more. By the key. */
export async function listFormerAddresses(db: Queryable, merchantId: string): Promise<string[]> {
  const { rows } = await db.query<{ email: string }>(
    `select distinct email from known_manager k where merchant_id = $1 and not ${IS_MANAGER} order by email limit 100`,
    [merchantId],
  )
  return rows.map(({ email }) => email)
}
