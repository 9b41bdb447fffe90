import { bucketOf, deriveStatus, wasSettled } from '../core/invoice/status.ts'
import type { Invoice } from '../core/invoice/types.ts'
import {
  type AuditedInvoiceRow,
  countInvoices,
  type Finding,
  listInvoicesForAudit,
} from '../db/queries/audit.ts'
import { invoiceFromRow } from '../db/queries/invoices.ts'
import { loadPaymentsOf } from '../db/queries/transfers.ts'
import type { Tx } from '../db/transaction.ts'

const PAGE = 500

/** Every invoice by the core's own rules: what is stored is what the facts give. */
export async function auditInvoices(
  tx: Tx,
  limit: number,
  onProgress: (share: number) => void = () => {},
): Promise<Finding[]> {
  const findings: Finding[] = []
  const total = await countInvoices(tx)
  let seen = 0
  let after = { merchantId: '', id: '' }
  while (findings.length < limit) {
    const rows = await listInvoicesForAudit(tx, after, PAGE)
    for (const group of byTenant(rows)) findings.push(...(await auditGroup(tx, group)))
    seen += rows.length
    onProgress(total === 0 ? 1 : Math.min(1, seen / total))
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) break
    after = { merchantId: last.merchant_id, id: last.id }
  }
  return findings.slice(0, limit)
}

/** Rows of one merchant and mode, as payments are loaded. */
function byTenant(rows: readonly AuditedInvoiceRow[]): AuditedInvoiceRow[][] {
  const groups = new Map<string, AuditedInvoiceRow[]>()
  for (const row of rows) {
    const key = `${row.merchant_id} ${row.livemode}`
    groups.set(key, [...(groups.get(key) ?? []), row])
  }
  return [...groups.values()]
}

async function auditGroup(tx: Tx, rows: readonly AuditedInvoiceRow[]): Promise<Finding[]> {
  const [first] = rows
  if (first === undefined) return []
  const tenant = { merchantId: first.merchant_id, livemode: first.livemode }
  const payments = await loadPaymentsOf(
    tx,
    tenant,
    rows.map((row) => row.id),
  )
  return rows.flatMap((row) => {
    const invoice = invoiceFromRow(row, payments.get(row.id) ?? [])
    return disagreements(invoice, row.status).map(({ subject, detail }) => ({
      merchantId: row.merchant_id,
      subject,
      detail,
    }))
  })
}

function disagreements(invoice: Invoice, storedStatus: string): { subject: string; detail: string }[] {
  const found: { subject: string; detail: string }[] = []
  const derived = deriveStatus(invoice)
  if (derived !== storedStatus) {
    found.push({ subject: invoice.id, detail: `is stored as ${storedStatus} and its facts give ${derived}` })
  }
  if (wasSettled(invoice) !== (invoice.paidAtMs !== null)) {
    const detail =
      invoice.paidAtMs === null ? 'was settled and has no paid_at' : 'has paid_at and was never settled'
    found.push({ subject: invoice.id, detail })
  }
  for (const payment of invoice.payments) {
    const bucket = bucketOf(payment)
    if (bucket === payment.bucket) continue
    found.push({ subject: payment.id, detail: `stands in ${payment.bucket} and its facts give ${bucket}` })
  }
  return found
}
