import { type ChainNode, isUtxoNode } from '../chain-nodes.ts'
import type { Pool } from '../db/pool.ts'
import { type Finding, findDisagreements, readOneMoment } from '../db/queries/audit.ts'
import { loadNetworkStates } from '../db/queries/network-state.ts'
import { type Tx, withSystemTransaction } from '../db/transaction.ts'
import { auditChain, type ChainRecord, readChainRecord } from './audit-chain.ts'
import { auditInvoices } from './audit-invoices.ts'
import { EVENT_CHECKS } from './event-checks.ts'
import { INVOICE_CHECKS } from './invoice-checks.ts'
import { LEDGER_CHECKS } from './ledger-checks.ts'
import { PAYOUT_CHECKS } from './payout-checks.ts'

/** What is listed of one check; more of the same says nothing new. */
const FINDINGS_MAX = 100

export type CheckResult = {
  readonly name: string
  readonly rule: string
  readonly findings: readonly Finding[]
  /** Why it could not be checked; null where it was. */
  readonly notChecked: string | null
}

/** Every promise of the service against what is stored and what the chains say, all at one moment. */
export async function runAudit(pool: Pool, nodes: readonly ChainNode[]): Promise<CheckResult[]> {
  const { results, records } = await withSystemTransaction(pool, async (tx) => {
    await readOneMoment(tx)
    return { results: await checkDatabase(tx), records: await readChains(tx, nodes) }
  })
  for (const { node, record } of records) {
    const audit = await auditChain(node, record)
    results.push({
      name: `chain_${node.network}`,
      rule: isUtxoNode(node)
        ? `every transfer stands on the chain of ${node.network}, and every payment there is a transfer`
        : `every transfer stands on the chain of ${node.network}`,
      findings: audit.kind === 'checked' ? audit.findings.slice(0, FINDINGS_MAX) : [],
      notChecked: audit.kind === 'checked' ? null : audit.reason,
    })
  }
  return results
}

async function checkDatabase(tx: Tx): Promise<CheckResult[]> {
  const results: CheckResult[] = []
  for (const { name, rule, sql } of [
    ...LEDGER_CHECKS,
    ...PAYOUT_CHECKS,
    ...INVOICE_CHECKS,
    ...EVENT_CHECKS,
  ]) {
    results.push({ name, rule, findings: await findDisagreements(tx, sql, FINDINGS_MAX), notChecked: null })
  }
  results.push({
    name: 'invoice_follows_its_facts',
    rule: "every invoice's status and every transfer's bucket are what the facts give",
    findings: await auditInvoices(tx, FINDINGS_MAX),
    notChecked: null,
  })
  return results
}

async function readChains(tx: Tx, nodes: readonly ChainNode[]) {
  const states = await loadNetworkStates(tx)
  const records: { node: ChainNode; record: ChainRecord }[] = []
  for (const node of nodes) {
    const state = states.find(({ network }) => network === node.network) ?? null
    records.push({ node, record: await readChainRecord(tx, node, state) })
  }
  return records
}
