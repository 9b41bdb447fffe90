import type { AssetId } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'

/** An invoice of whose payments some stand in suspense after the merchant's decision. */
export type DecidedInvoice = {
  readonly merchantId: string
  readonly livemode: boolean
  readonly invoiceId: string
}

/** Some of them, of payments in these assets, `except` these. Served by transfer_decided_in_suspense. */
export async function listDecidedInSuspense(
  db: Queryable,
  { assets, except, limit }: { assets: readonly AssetId[]; except: readonly string[]; limit: number },
): Promise<DecidedInvoice[]> {
  const { rows } = await db.query<DecidedInvoice>(
    `select distinct merchant_id as "merchantId", livemode, invoice_id as "invoiceId" from transfer
     where ledger_bucket = 'suspense' and resolution is not null and asset = any($1) and invoice_id <> all($2)
     limit $3`,
    [assets, except, limit],
  )
  return rows
}
