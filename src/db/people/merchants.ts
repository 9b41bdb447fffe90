import type { Currency } from '../../core/rates/currencies.ts'
import type { Seller } from '../../core/receipt/seller.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tx } from '../../postgres/transaction.ts'

/** Whether a merchant exists. */
export async function merchantExists(db: Queryable, merchantId: string): Promise<boolean> {
  const { rowCount } = await db.query('select from merchant where id = $1', [merchantId])
  return rowCount === 1
}

/** Writes a new merchant. */
export async function insertMerchant(
  tx: Tx,
  merchant: { id: string; name: string; email: string; createdAt: Date },
): Promise<void> {
  await tx.query(`insert into merchant (id, name, email, created_at) values ($1, $2, $3, $4)`, [
    merchant.id,
    merchant.name,
    merchant.email,
    merchant.createdAt,
  ])
}

/** The first merchant with this name and address; null where there is none. A scan, for a command. */
export async function findMerchant(
  db: Queryable,
  { name, email }: { name: string; email: string },
): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>(
    'select id from merchant where name = $1 and email = $2 order by id limit 1',
    [name, email],
  )
  return rows[0]?.id ?? null
}

/** The name that buyers see; null where there is no such merchant. Read by primary keys. */
export async function loadMerchantName(db: Queryable, merchantId: string): Promise<string | null> {
  const { rows } = await db.query<{ name: string }>(
    `select coalesce(branding.name, merchant.name) as name
     from merchant left join branding on branding.merchant_id = merchant.id
     where merchant.id = $1`,
    [merchantId],
  )
  return rows[0]?.name ?? null
}

type MerchantProfile = Seller & {
  readonly name: string
  readonly email: string
  readonly brandName: string | null
  readonly brandColour: string | null
  readonly logoDigest: string | null
  /** Null: US dollars. */
  readonly homeCurrency: Currency | null
  readonly createdAt: Date
}

/** A merchant with the look of its pages and what its receipts say of it. By primary keys. */
export async function loadMerchantProfile(
  db: Queryable,
  merchantId: string,
): Promise<MerchantProfile | null> {
  const { rows } = await db.query<{
    name: string
    email: string
    brand_name: string | null
    colour: string | null
    logo_digest: string | null
    created_at: Date
    legal_name: string | null
    postal_address: string | null
    tax_number: string | null
    home_currency: Currency | null
  }>(
    `select merchant.name, merchant.email, branding.name as brand_name, colour, logo_digest, merchant.created_at,
       legal_name, postal_address, tax_number, home_currency
     from merchant left join branding on branding.merchant_id = merchant.id where merchant.id = $1`,
    [merchantId],
  )
  const row = rows[0]
  if (row === undefined) return null
  return {
    name: row.name,
    email: row.email,
    brandName: row.brand_name,
    brandColour: row.colour,
    logoDigest: row.logo_digest,
    createdAt: row.created_at,
    legalName: row.legal_name,
    postalAddress: row.postal_address,
    taxNumber: row.tax_number,
    homeCurrency: row.home_currency,
  }
}
