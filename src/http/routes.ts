import type { Route } from './route.ts'
import { createInvoiceRoute } from './routes/create-invoice.ts'

/**
 * Every route of the API. The server, the OpenAPI document and the tests' matrix of credentials all read this
 * table: what is not in it does not exist.
 */
export const ROUTES: readonly Route[] = [createInvoiceRoute]
