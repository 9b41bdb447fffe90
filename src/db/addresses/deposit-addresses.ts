import type { Keyspace } from '../../core/assets.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import type { ClaimedAddress } from '../invoices/invoices.ts'

/** The address that an invoice has in a keyspace, or null. Served by deposit_address_by_invoice. */
export async function findDepositAddress(
  tx: Tx,
  tenant: Tenant,
  invoiceId: string,
  keyspace: Keyspace,
): Promise<string | null> {
  const { rows } = await tx.query<{ address: string }>(
    `select address from deposit_address
     where merchant_id = $1 and invoice_id = $2 and keyspace = $3 and livemode = $4`,
    [tenant.merchantId, invoiceId, keyspace, tenant.livemode],
  )
  return rows[0]?.address ?? null
}

/** Every address that was given to these invoices. Served by deposit_address_by_invoice. */
export async function listDepositAddresses(
  tx: Tx,
  tenant: Tenant,
  invoiceIds: readonly string[],
): Promise<(ClaimedAddress & { readonly keyspace: Keyspace; readonly invoiceId: string })[]> {
  const { rows } = await tx.query<ClaimedAddress & { keyspace: Keyspace; invoiceId: string }>(
    `select invoice_id as "invoiceId", keyspace, idx, program as "addressBytes", address from deposit_address
     where merchant_id = $1 and invoice_id = any($2) and livemode = $3`,
    [tenant.merchantId, invoiceIds, tenant.livemode],
  )
  return rows
}

/** Gives an invoice one more address, in a keyspace where it has none. */
export async function addDepositAddress(
  tx: Tx,
  tenant: Tenant,
  deposit: ClaimedAddress & { readonly keyspace: Keyspace; readonly invoiceId: string; readonly now: Date },
): Promise<void> {
  await tx.query(
    `insert into deposit_address (merchant_id, keyspace, idx, livemode, invoice_id, program, address, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      tenant.merchantId,
      deposit.keyspace,
      deposit.idx,
      tenant.livemode,
      deposit.invoiceId,
      deposit.addressBytes,
      deposit.address,
      deposit.now,
    ],
  )
}
