import type { z } from 'zod'
import { listShownInvoices } from '../../../flows/steps/shown-invoices.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { invoiceList, listInvoicesQuery } from '../../../wire/invoice.ts'
import { pageOf } from '../../../wire/list.ts'
import { invoiceViewOf } from '../../views/invoice-view.ts'
import { listView } from '../../views/list-view.ts'
import { programOfAddress } from '../deposit-program.ts'
import { defineRoute } from '../route.ts'

export const listInvoicesRoute = defineRoute({
  method: 'get',
  path: '/invoices',
  operationId: 'listInvoices',
  tag: 'Invoices',
  summary: 'List invoices',
  description: 'Newest first. Filters are combined; `created_after` and `created_before` are exclusive.',
  scope: 'invoices:read',
  query: listInvoicesQuery,
  success: { status: 200, description: 'A page of invoices.', schema: invoiceList },
  problems: ['address_unverified'],

  handler: async (deps, { tenant, query }) => {
    const networks = await deps.networks.read()
    const page = await withTransaction(deps.pool, tenant, (tx) =>
      listShownInvoices(tx, tenant, filtersOf(query), deps.issuedAddresses),
    )
    const data = page.invoices.map((invoice) => invoiceViewOf(deps, networks, invoice))
    return listView('/invoices', page.hasMore, data)
  },
})

const millisecondsOf = (instant: string | undefined): number | undefined =>
  instant === undefined ? undefined : Date.parse(instant)

const filtersOf = (query: z.output<typeof listInvoicesQuery>) => ({
  ...pageOf(query),
  status: query.status,
  asset: query.asset,
  isWaiting: query.attention === 'open',
  externalReference: query.external_reference,
  orderReference: query.order_reference,
  createdAfterMs: millisecondsOf(query.created_after),
  createdBeforeMs: millisecondsOf(query.created_before),
  search: query.q === undefined ? undefined : { text: query.q, program: programOfAddress(query.q) },
})
