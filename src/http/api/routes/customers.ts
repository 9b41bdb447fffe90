import { listCustomers } from '../../../db/invoices/customers.ts'
import { planByIndexes } from '../../../db/invoices/invoice-list.ts'
import { withReadTransaction } from '../../../postgres/standby.ts'
import { customerList, listCustomersQuery } from '../../../wire/dashboard.ts'
import { pageOf } from '../../../wire/list.ts'
import { customerViewOf } from '../../views/dashboard-views.ts'
import { listView } from '../../views/list-view.ts'
import { defineRoute } from '../route.ts'

export const listCustomersRoute = defineRoute({
  method: 'get',
  path: '/customers',
  operationId: 'listCustomers',
  tag: 'Dashboard',
  summary: 'List customers',
  description:
    'Who the newest 10,000 invoices were for, by email address, else by reference; the latest first. `q` finds older ones.',
  scope: 'invoices:read',
  dashboardOnly: true,
  query: listCustomersQuery,
  success: { status: 200, description: 'The customers.', schema: customerList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const { limit } = pageOf(query)
    const [, page] = await withReadTransaction(deps, tenant, (tx) =>
      Promise.all([planByIndexes(tx), listCustomers(tx, tenant, { search: query.q ?? null, limit })]),
    )
    return listView(
      '/customers',
      page.hasMore,
      page.customers.map((one) => customerViewOf(tenant, one)),
    )
  },
})
