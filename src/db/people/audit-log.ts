import type { AuditEntry } from '../../core/people/audit-entry.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

export type StoredAuditEntry = AuditEntry & { readonly hash: Buffer }

type Row = {
  merchant_id: string
  id: string
  livemode: boolean
  number: number
  actor: string
  action: string
  resource_id: string | null
  phase: AuditEntry['phase']
  code: string | null
  request_id: string
  created_at: Date
  hash: Buffer
}

const COLUMNS =
  'merchant_id, id, livemode, number, actor, action, resource_id, phase, code, request_id, created_at, hash'

const entryOf = (row: Row): StoredAuditEntry => ({
  merchantId: row.merchant_id,
  id: row.id,
  livemode: row.livemode,
  number: row.number,
  actor: row.actor,
  action: row.action,
  resourceId: row.resource_id,
  phase: row.phase,
  code: row.code,
  requestId: row.request_id,
  createdAtMs: row.created_at.getTime(),
  hash: row.hash,
})

/**
 * The end of a merchant's chain, held until the transaction ends, so that two acts at once stand one after the
 * other; null where nothing was done yet. Served by audit_entry_chain.
 */
export async function lockAuditChain(
  tx: Tx,
  merchantId: string,
): Promise<{ number: number; hash: Buffer } | null> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('audit_log/' || $1, 0))`, [merchantId])
  const { rows } = await tx.query<{ number: number; hash: Buffer }>(
    `select number, hash from audit_entry where merchant_id = $1 order by number desc limit 1`,
    [merchantId],
  )
  return rows[0] ?? null
}

/** Adds an entry at the chain's end. */
export async function insertAuditEntry(tx: Tx, entry: StoredAuditEntry): Promise<void> {
  await tx.query(
    `insert into audit_entry (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      entry.merchantId,
      entry.id,
      entry.livemode,
      entry.number,
      entry.actor,
      entry.action,
      entry.resourceId,
      entry.phase,
      entry.code,
      entry.requestId,
      new Date(entry.createdAtMs),
      entry.hash,
    ],
  )
}

/** An act ends so many entries of the merchant later at most; one that took longer is listed twice. */
const ENDED_WITHIN = 200

/**
 * A page of the acts in one mode, newest first, each by its last entry. Served by the primary key, since ids sort by time,
 * and by audit_entry_chain.
 */
export async function listAuditEntries(
  tx: Tx,
  tenant: Tenant,
  page: { limit: number; startingAfter: string | null; endingBefore: string | null },
): Promise<{ entries: StoredAuditEntry[]; hasMore: boolean }> {
  const isForward = page.endingBefore === null
  const { rows } = await tx.query<Row>(
    `select ${COLUMNS} from audit_entry
     where merchant_id = $1 and livemode = $2
       and ($3::text is null or id < $3) and ($4::text is null or id > $4)
       and not (phase = 'begun' and exists (
         select from audit_entry ending
         where ending.merchant_id = $1 and ending.number > audit_entry.number
           and ending.number <= audit_entry.number + ${ENDED_WITHIN}
           and ending.request_id = audit_entry.request_id and ending.action = audit_entry.action))
     order by id ${isForward ? 'desc' : 'asc'} limit $5`,
    [tenant.merchantId, tenant.livemode, page.startingAfter, page.endingBefore, page.limit + 1],
  )
  const entries = rows.slice(0, page.limit).map(entryOf)
  return { entries: isForward ? entries : entries.reverse(), hasMore: rows.length > page.limit }
}

/** The chain itself from a number on, oldest first. Served by audit_entry_chain. */
export async function readAuditChain(
  db: Queryable,
  input: { merchantId: string; afterNumber: number; limit: number },
): Promise<StoredAuditEntry[]> {
  const { rows } = await db.query<Row>(
    `select ${COLUMNS} from audit_entry where merchant_id = $1 and number > $2 order by number limit $3`,
    [input.merchantId, input.afterNumber, input.limit],
  )
  return rows.map(entryOf)
}
