import type { Currency } from '../../core/rates/currencies.ts'
import { NO_SELLER, type Seller } from '../../core/receipt/seller.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tx } from '../../postgres/transaction.ts'

type StoredLogo = { readonly digest: string; readonly width: number; readonly height: number }
export type StoredBranding = {
  readonly colour: string | null
  readonly logo: StoredLogo | null
  readonly seller: Seller
}

type BrandingRow = Seller & {
  colour: string | null
  logo_digest: string | null
  logo_width: number | null
  logo_height: number | null
}

/** How the merchant's pages look, and who sells; without the picture's bytes. Read by the primary key. */
export async function loadBranding(db: Queryable, merchantId: string): Promise<StoredBranding> {
  const { rows } = await db.query<BrandingRow>(
    `select colour, logo_digest, logo_width, logo_height, legal_name as "legalName",
       postal_address as "postalAddress", tax_number as "taxNumber"
     from branding where merchant_id = $1`,
    [merchantId],
  )
  const [row] = rows
  if (row === undefined) return { colour: null, logo: null, seller: NO_SELLER }
  const { colour, logo_digest: digest, logo_width: width, logo_height: height, ...seller } = row
  const logo = digest === null || width === null || height === null ? null : { digest, width, height }
  return { colour, logo, seller }
}

/** Who sells, alone: delivery workers read no more of it. By the primary key. */
export async function loadSeller(db: Queryable, merchantId: string): Promise<Seller> {
  const { rows } = await db.query<Seller>(
    `select legal_name as "legalName", postal_address as "postalAddress", tax_number as "taxNumber"
     from branding where merchant_id = $1`,
    [merchantId],
  )
  return rows[0] ?? NO_SELLER
}

/** The logo or till's picture of that digest; null where the merchant has none such by now. Read by the primary keys. */
export async function loadLogo(
  db: Queryable,
  merchantId: string,
  digest: string,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const { rows } = await db.query<{ logo: Buffer<ArrayBuffer> }>(
    `select logo from branding where merchant_id = $1 and logo_digest = $2
     union all
     select picture from till_picture where merchant_id = $1 and livemode in (true, false) and digest = $2
     limit 1`,
    [merchantId, digest],
  )
  return rows[0]?.logo ?? null
}

/** What is to change; what is absent stays, and null goes back to the default. */
export type BrandingChange = {
  readonly name?: string | null
  readonly colour?: string | null
  readonly logo?: (StoredLogo & { readonly bytes: Uint8Array }) | null
  /** Null: US dollars. */
  readonly homeCurrency?: Currency | null
} & Partial<Seller>

/** Writes what the change names and leaves the rest. By the primary key. */
export async function upsertBranding(
  tx: Tx,
  merchantId: string,
  change: BrandingChange,
  now: Date,
): Promise<void> {
  const { name, colour, logo, legalName, postalAddress, taxNumber, homeCurrency } = change
  await tx.query(
    `insert into branding
       (merchant_id, name, colour, logo, logo_digest, logo_width, logo_height, updated_at,
        legal_name, postal_address, tax_number, home_currency)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $12, $13, $14, $18)
     on conflict (merchant_id) do update set
       name = case when $9 then excluded.name else branding.name end,
       colour = case when $10 then excluded.colour else branding.colour end,
       logo = case when $11 then excluded.logo else branding.logo end,
       logo_digest = case when $11 then excluded.logo_digest else branding.logo_digest end,
       logo_width = case when $11 then excluded.logo_width else branding.logo_width end,
       logo_height = case when $11 then excluded.logo_height else branding.logo_height end,
       legal_name = case when $15 then excluded.legal_name else branding.legal_name end,
       postal_address = case when $16 then excluded.postal_address else branding.postal_address end,
       tax_number = case when $17 then excluded.tax_number else branding.tax_number end,
       home_currency = case when $19 then excluded.home_currency else branding.home_currency end,
       updated_at = excluded.updated_at`,
    [
      merchantId,
      name ?? null,
      colour ?? null,
      logo?.bytes ?? null,
      logo?.digest ?? null,
      logo?.width ?? null,
      logo?.height ?? null,
      now,
      name !== undefined,
      colour !== undefined,
      logo !== undefined,
      legalName ?? null,
      postalAddress ?? null,
      taxNumber ?? null,
      legalName !== undefined,
      postalAddress !== undefined,
      taxNumber !== undefined,
      homeCurrency ?? null,
      homeCurrency !== undefined,
    ],
  )
}
