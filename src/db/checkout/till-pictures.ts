import type { Tenant, Tx } from '../../postgres/transaction.ts'

/** Most that a merchant keeps in one mode. */
const PICTURES_MAX = 100

/** Who names a picture and who makes room for another wait for each other. */
const lockPictures = (tx: Tx, { merchantId }: Tenant) =>
  tx.query(`select pg_advisory_xact_lock(hashtextextended('till_picture/' || $1, 0))`, [merchantId])

/** Whether the tenant has all of these pictures; they stay until the transaction ends. By the primary key. */
export async function hasPictures(tx: Tx, tenant: Tenant, digests: readonly string[]): Promise<boolean> {
  if (digests.length === 0) return true
  await lockPictures(tx, tenant)
  const { rowCount } = await tx.query(
    'select from till_picture where merchant_id = $1 and livemode = $2 and digest = any ($3)',
    [tenant.merchantId, tenant.livemode, digests],
  )
  return rowCount === new Set(digests).size
}

/** Keeps a picture; those that no till shows make room for it. False where tills show all. By the primary key. */
export async function keepPicture(
  tx: Tx,
  tenant: Tenant,
  picture: { readonly digest: string; readonly bytes: Uint8Array },
  now: Date,
): Promise<boolean> {
  if (await hasPictures(tx, tenant, [picture.digest])) return true
  const { merchantId, livemode } = tenant
  const { rows } = await tx.query<{ count: number }>(
    'select count(*)::int as count from till_picture where merchant_id = $1 and livemode = $2',
    [merchantId, livemode],
  )
  const count = rows[0]?.count ?? 0
  if (count >= PICTURES_MAX && (await removeUnused(tx, tenant)) === 0) return false
  await tx.query(
    'insert into till_picture (merchant_id, livemode, digest, picture, created_at) values ($1, $2, $3, $4, $5)',
    [merchantId, livemode, picture.digest, picture.bytes, now],
  )
  return true
}

/** Removes the pictures that no till names, and says how many. Reads the tenant's links by payment_link_by_mode. */
async function removeUnused(tx: Tx, { merchantId, livemode }: Tenant): Promise<number> {
  const { rowCount } = await tx.query(
    `delete from till_picture p where merchant_id = $1 and livemode = $2 and not exists (
       select from payment_link l where l.merchant_id = $1 and l.livemode = $2 and l.till is not null
         and strpos(l.till::text, p.digest) > 0)`,
    [merchantId, livemode],
  )
  return rowCount ?? 0
}
