import { invoiceExists } from '../../../db/invoices/invoice-list.ts'
import { type InvoiceNote, loadInvoiceNote, putInvoiceNote } from '../../../db/invoices/invoice-notes.ts'
import { type Tenant, type Tx, withTransaction } from '../../../postgres/transaction.ts'
import { invoiceNoteView, updateInvoiceNoteBody } from '../../../wire/dashboard.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const getInvoiceNoteRoute = defineRoute({
  method: 'get',
  path: '/invoices/:id/note',
  operationId: 'getInvoiceNote',
  tag: 'Dashboard',
  summary: 'Get the note of an invoice',
  description: 'For your own people. Buyers, webhooks and API keys never see it.',
  scope: 'invoices:read',
  dashboardOnly: true,
  success: {
    status: 200,
    description: 'The note; all of it is null where there is none.',
    schema: invoiceNoteView,
  },
  problems: [],
  exists: invoiceExists,

  handler: (deps, { tenant, id }) =>
    withTransaction(deps.pool, tenant, async (tx) => {
      await requireInvoice(tx, tenant, id)
      return viewOf(await loadInvoiceNote(tx, tenant, id))
    }),
})

export const updateInvoiceNoteRoute = defineRoute({
  method: 'patch',
  path: '/invoices/:id/note',
  operationId: 'updateInvoiceNote',
  tag: 'Dashboard',
  summary: 'Write the note of an invoice',
  description: 'In place of what was there. An empty text removes it.',
  scope: 'invoices:write',
  dashboardOnly: true,
  body: updateInvoiceNoteBody,
  example: { text: 'Asked for a printed bill on Monday.' },
  success: { status: 200, description: 'The note as it is now.', schema: invoiceNoteView },
  problems: [],
  exists: invoiceExists,

  handler: (deps, { tenant, id, body, callerId }) =>
    withTransaction(deps.pool, tenant, async (tx) => {
      await requireInvoice(tx, tenant, id)
      const text = body.text.trim()
      const note = text === '' ? null : { text, updatedBy: callerId, updatedAt: deps.clock() }
      await putInvoiceNote(tx, tenant, id, note)
      return viewOf(note)
    }),
})

async function requireInvoice(tx: Tx, tenant: Tenant, id: string): Promise<void> {
  if (!(await invoiceExists(tx, tenant, id))) throw new ApiProblem('not_found')
}

const viewOf = (note: InvoiceNote | null) => ({
  object: 'invoice_note' as const,
  text: note?.text ?? null,
  updated_by: note?.updatedBy ?? null,
  updated_at: note?.updatedAt.toISOString() ?? null,
})
