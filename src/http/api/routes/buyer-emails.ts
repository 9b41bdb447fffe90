import { listBuyerEmails, type StoredBuyerEmail } from '../../../db/checkout/buyer-emails.ts'
import { invoiceExists } from '../../../db/invoices/invoice-list.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { buyerEmailsView } from '../../../wire/dashboard.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const listBuyerEmailsRoute = defineRoute({
  method: 'get',
  path: '/invoices/:id/buyer-emails',
  operationId: 'listBuyerEmails',
  tag: 'Dashboard',
  summary: 'List the emails to the buyer of an invoice',
  description: 'What was sent, what waits, and why one was not sent. Kept for a week.',
  scope: 'invoices:read',
  dashboardOnly: true,
  success: { status: 200, description: 'One of each kind at most.', schema: buyerEmailsView },
  problems: [],
  exists: invoiceExists,

  handler: (deps, { tenant, id }) =>
    withTransaction(deps.pool, tenant, async (tx) => {
      if (!(await invoiceExists(tx, tenant, id))) throw new ApiProblem('not_found')
      return { object: 'buyer_emails' as const, data: (await listBuyerEmails(tx, tenant, id)).map(viewOf) }
    }),
})

const STATUSES = { sent: 'sent', refused: 'not_sent' } as const

const viewOf = ({ kind, outcome, reason, endedAt, dueAt }: StoredBuyerEmail) => ({
  kind,
  status: outcome === null ? ('waiting' as const) : STATUSES[outcome],
  reason,
  at: (endedAt ?? dueAt)?.toISOString() ?? null,
})
