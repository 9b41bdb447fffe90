import type { IssuedAddressCheck } from '../../core/address-batch.ts'
import { keyspaceOf } from '../../core/assets.ts'
import type { Invoice } from '../../core/invoice/types.ts'
import { findBatchOf } from '../../db/addresses/address-batches.ts'
import { listDepositAddresses } from '../../db/addresses/deposit-addresses.ts'
import { type InvoiceFilters, listInvoices } from '../../db/invoices/invoice-list.ts'
import { loadInvoice, type StoredInvoice } from '../../db/invoices/invoices.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

/** An invoice's address is not one that the signer signed and that was given to it: it is shown to nobody. */
export class AddressNotShown extends Error {
  override name = 'AddressNotShown'
}

/** `loadInvoice` for everybody who may be shown its address. Throws `AddressNotShown`. */
export async function loadShownInvoice(
  tx: Tx,
  tenant: Tenant,
  id: string,
  issued: IssuedAddressCheck,
  options: { forUpdate?: boolean } = {},
): Promise<StoredInvoice | null> {
  const stored = await loadInvoice(tx, tenant, id, options)
  if (stored !== null) await requireIssued(tx, tenant, [stored.invoice], issued)
  return stored
}

/** `listInvoices` for everybody who may be shown their addresses. Throws `AddressNotShown`. */
export async function listShownInvoices(
  tx: Tx,
  tenant: Tenant,
  filters: InvoiceFilters,
  issued: IssuedAddressCheck,
): Promise<{ invoices: Invoice[]; hasMore: boolean }> {
  const page = await listInvoices(tx, tenant, filters)
  await requireIssued(tx, tenant, page.invoices, issued)
  return page
}

/** Each address against the signed batch of its index. */
async function requireIssued(
  tx: Tx,
  tenant: Tenant,
  invoices: readonly Invoice[],
  issued: IssuedAddressCheck,
): Promise<void> {
  if (invoices.length === 0) return
  const given = await listDepositAddresses(
    tx,
    tenant,
    invoices.map(({ id }) => id),
  )
  for (const { id, asset, livemode, address } of invoices) {
    const keyspace = keyspaceOf(asset, livemode)
    const own = given.find(
      (one) => one.invoiceId === id && one.keyspace === keyspace && one.address === address,
    )
    const pooled = own ?? { idx: -1, program: new Uint8Array(), address }
    const loadBatch = () => findBatchOf(tx, keyspace, pooled.idx)
    if (!(await issued.isIssued(keyspace, pooled, loadBatch, id)))
      throw new AddressNotShown(`the address of invoice ${id} is not one that the signer signed for it`)
  }
}
