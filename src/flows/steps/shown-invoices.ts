import type { IssuedAddressCheck } from '../../core/address-batch.ts'
import { keyspaceOf } from '../../core/assets.ts'
import { addressOf } from '../../core/invoice/address-of.ts'
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
  if (stored !== null && (await listRefused(tx, tenant, [stored.invoice], issued)).has(id))
    throw new AddressNotShown(`the address of invoice ${id} is not one that the signer signed for it`)
  return stored
}

/** `listInvoices` with each address that may be shown, and an empty one in place of any other. */
export async function listShownInvoices(
  tx: Tx,
  tenant: Tenant,
  filters: InvoiceFilters,
  issued: IssuedAddressCheck,
): Promise<{ invoices: Invoice[]; hasMore: boolean }> {
  const page = await listInvoices(tx, tenant, filters)
  const refused = await listRefused(tx, tenant, page.invoices, issued)
  const invoices = page.invoices.map((invoice) =>
    refused.has(invoice.id) ? { ...invoice, address: '', addressesBeside: {} } : invoice,
  )
  return { ...page, invoices }
}

/** The invoices of which an address is not the one that the signed batch of its index has. */
async function listRefused(
  tx: Tx,
  tenant: Tenant,
  invoices: readonly Invoice[],
  issued: IssuedAddressCheck,
): Promise<ReadonlySet<string>> {
  const refused = new Set<string>()
  if (invoices.length === 0) return refused
  const given = await listDepositAddresses(
    tx,
    tenant,
    invoices.map(({ id }) => id),
  )
  for (const invoice of invoices) {
    const { id, asset, alsoAccepts, livemode } = invoice
    const shown = new Map(
      [asset, ...alsoAccepts].map((each) => [keyspaceOf(each, livemode), addressOf(invoice, each)]),
    )
    for (const [keyspace, address] of shown) {
      const own = given.find(
        (one) => one.invoiceId === id && one.keyspace === keyspace && one.address === address,
      )
      const pooled = own ?? { idx: -1, addressBytes: new Uint8Array(), address }
      const loadBatch = () => findBatchOf(tx, keyspace, pooled.idx)
      if (!(await issued.isIssued(keyspace, pooled, loadBatch, id))) refused.add(id)
    }
  }
  return refused
}
