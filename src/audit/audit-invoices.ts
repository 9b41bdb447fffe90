import { DatabaseError } from 'pg'
import { bucketOf, deriveStatus, wasSettled } from '../core/invoice/status.ts'
import type { Invoice } from '../core/invoice/types.ts'
import { invoiceFromRow } from '../db/invoices/invoice-row.ts'
import {
  type AuditedInvoiceRow,
  type Finding,
  type InvoiceKey,
  listInvoiceKinds,
  listInvoicesOfKind,
  listInvoicesPaidSeverally,
  loadInvoicesForAudit,
} from '../db/ledger/audit.ts'
import { loadReceived } from '../db/ledger/received.ts'
import { isDatabaseAway } from '../postgres/database-away.ts'
import type { Tx } from '../postgres/transaction.ts'
import { describeError } from '../runtime/log.ts'

const PAGE = 500
/** A shop has some dozens; they are made of a few states and comparisons. */
const KINDS_MAX = 10_000

/**
 * Every invoice by the core's own rules: what is stored is what the facts give. Invoices with at most one payment that
 * are alike in all that the rules read are judged by one of them; all others by themselves, page by page.
 */
export async function auditInvoices(tx: Tx, limit: number): Promise<Finding[]> {
  const findings: Finding[] = []
  const kinds = await listInvoiceKinds(tx, KINDS_MAX)
  for (const { kind, example } of kinds) {
    if (findings.length >= limit) return findings.slice(0, limit)
    if ((await judge(tx, [example])).length === 0) continue
    findings.push(...(await judge(tx, await listInvoicesOfKind(tx, kind, limit))))
  }
  if (kinds.length === KINDS_MAX) throw new Error(`invoices are of more than ${KINDS_MAX} kinds`)
  for (let after: InvoiceKey | undefined = { merchantId: '', id: '' }; after && findings.length < limit; ) {
    const page: InvoiceKey[] = await listInvoicesPaidSeverally(tx, after, PAGE)
    findings.push(...(await judge(tx, page)))
    after = page.length === PAGE ? page.at(-1) : undefined
  }
  return findings.slice(0, limit)
}

/** One that cannot even be read is a finding, and keeps no other one from being judged. */
async function judge(tx: Tx, keys: readonly InvoiceKey[]): Promise<Finding[]> {
  try {
    return await judgeTogether(tx, keys)
  } catch (error) {
    // After a statement that the database refused, none of the transaction is answered.
    if (!(error instanceof Error) || error instanceof DatabaseError || isDatabaseAway(error)) throw error
    const [key, ...others] = keys
    if (key === undefined) throw error
    if (others.length === 0)
      return [
        { merchantId: key.merchantId, subject: key.id, detail: `cannot be read: ${describeError(error)}` },
      ]
    const findings: Finding[] = []
    for (const each of keys) findings.push(...(await judge(tx, [each])))
    return findings
  }
}

async function judgeTogether(tx: Tx, keys: readonly InvoiceKey[]): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const group of byTenant(await loadInvoicesForAudit(tx, keys))) {
    findings.push(...(await judgeGroup(tx, group)))
  }
  return findings
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

async function judgeGroup(tx: Tx, rows: readonly AuditedInvoiceRow[]): Promise<Finding[]> {
  const [first] = rows
  if (first === undefined) return []
  const tenant = { merchantId: first.merchant_id, livemode: first.livemode }
  const received = await loadReceived(
    tx,
    tenant,
    rows.map((row) => row.id),
  )
  return rows.flatMap((row) => {
    const invoice = invoiceFromRow(row, received.get(row.id))
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
  for (const payment of [...invoice.payments, ...invoice.blockSums]) {
    const bucket = bucketOf(payment)
    if (bucket === payment.bucket) continue
    found.push({ subject: payment.id, detail: `stands in ${payment.bucket} and its facts give ${bucket}` })
  }
  return found
}
