import type { Route } from './route.ts'
import { cancelInvoiceRoute } from './routes/cancel-invoice.ts'
import { createInvoiceRoute } from './routes/create-invoice.ts'
import { getInvoiceRoute } from './routes/get-invoice.ts'
import { listAssetsRoute } from './routes/list-assets.ts'
import { listBalancesRoute } from './routes/list-balances.ts'
import { listInvoicesRoute } from './routes/list-invoices.ts'
import { listRatesRoute } from './routes/list-rates.ts'
import { resolveInvoiceRoute } from './routes/resolve-invoice.ts'

/**
 * Every route of the API. The server, the OpenAPI document and the tests' matrix of credentials all read this
 * table: what is not in it does not exist.
 */
export const ROUTES: readonly Route[] = [
  createInvoiceRoute,
  listInvoicesRoute,
  getInvoiceRoute,
  cancelInvoiceRoute,
  resolveInvoiceRoute,
  listAssetsRoute,
  listRatesRoute,
  listBalancesRoute,
]
