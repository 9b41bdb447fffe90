import type { PastInvoice } from '../../src/core/import/past-invoices.ts'
import { importInvoices } from '../../src/flows/import-invoices.ts'
import type { TestDatabase } from './database.ts'

/** An invoice of the past in a shop's test mode, as `paylink import` writes it; by BTCPay unless told otherwise. */
export async function importPastInvoice(
  database: TestDatabase,
  merchantId: string,
  changes: Partial<PastInvoice> & { readonly source?: string } = {},
): Promise<void> {
  const { source = 'btcpay', ...invoice } = changes
  await importInvoices(
    { pool: database.owner, clock: () => new Date() },
    {
      tenant: { merchantId, livemode: false },
      source,
      invoices: [
        {
          sourceId: 'Kx7TpoQ2',
          status: 'Settled',
          amount: '49.99',
          currency: 'USD',
          orderReference: 'order-412',
          customerEmail: 'buyer@example.com',
          createdAtMs: Date.UTC(2025, 2, 14),
          payments: [{ id: 'tx-1', coin: 'BTC', amount: '0.0005', received_at: null }],
          ...invoice,
        },
      ],
    },
  )
}
