import type { AccessSeals } from '../core/people/access-seals.ts'
import {
  type AccessKind,
  isAccessKind,
  OWNER_FIELDS,
  SEALED_ROWS,
  type SealedModel,
  type SealedRow,
} from '../core/people/sealed-rows.ts'
import type { Finding } from '../db/ledger/audit.ts'
import { accessSets, LASTING_ROWS, sealedRows } from '../flows/seal-access.ts'
import type { Tx } from '../postgres/transaction.ts'

/**
 * Every row that decides who may do what against its seal, and the members and keys of each shop, and each person's
 * second factors, against the seal of all of them: so a row put in, changed or taken out with SQL is named.
 */
export async function auditAccess(tx: Tx, seals: AccessSeals, limit: number): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const model of LASTING_ROWS) {
    const entries = new Map<string, Set<string>>()
    for await (const row of sealedRows(tx, model)) {
      const owner = isAccessKind(model) ? String(row[OWNER_FIELDS[model]]) : null
      if (!seals.isSealed(model, row)) findings.push(finding(model, owner, row.id, notSealed(row)))
      else if (owner !== null) entries.set(owner, (entries.get(owner) ?? new Set()).add(entryOf(row)))
    }
    if (isAccessKind(model)) findings.push(...(await auditSets(tx, seals, model, entries)))
  }
  return findings.slice(0, limit)
}

async function auditSets(
  tx: Tx,
  seals: AccessSeals,
  kind: AccessKind,
  found: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<Finding[]> {
  const findings: Finding[] = []
  const rest = new Map(found)
  for await (const { ownerId, entries, seal } of accessSets(tx, kind)) {
    const rows = rest.get(ownerId) ?? new Set()
    rest.delete(ownerId)
    if (seals.isSetSealed({ ownerId, kind, entries, seal }))
      findings.push(...compare(kind, ownerId, entries, rows))
    else findings.push(finding(kind, ownerId, ownerId, 'has a list that Paylink did not write'))
  }
  for (const [ownerId, rows] of rest) findings.push(...compare(kind, ownerId, [], rows))
  return findings
}

function compare(
  kind: AccessKind,
  ownerId: string,
  entries: readonly string[],
  rows: ReadonlySet<string>,
): Finding[] {
  const listed = new Set(entries)
  const said = (entry: string, detail: string) => finding(kind, ownerId, entry.split(' ')[0] ?? '', detail)
  return [
    ...entries
      .filter((entry) => !rows.has(entry))
      .map((entry) => said(entry, 'was taken out or changed, and not by Paylink')),
    ...[...rows]
      .filter((entry) => !listed.has(entry))
      .map((entry) => said(entry, 'was put in or changed back, and not by Paylink')),
  ]
}

const entryOf = (row: SealedRow): string => `${row.id} ${String(row.seal)}`

const notSealed = ({ seal }: SealedRow): string =>
  seal === null ? 'was not written by Paylink' : 'was changed, and not by Paylink'

/** Whose it is: a shop's members and keys; of people no shop's. */
function finding(model: SealedModel, ownerId: string | null, id: string, detail: string): Finding {
  const isOfShop = model === 'member' || model === 'apiKey'
  return { merchantId: isOfShop ? ownerId : null, subject: `${SEALED_ROWS[model].table}/${id}`, detail }
}
