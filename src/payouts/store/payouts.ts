import { ASSET_IDS, type AssetId, type Network } from '../../core/assets.ts'
import type { Payout, PayoutSource, PayoutStatus } from '../../core/payout/payout.ts'
import { holds, type ListPosition, loadPage } from '../../db/list-page.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { type PageBefore, UNSEALED_PAYOUT } from './outcome-seals.ts'

/** A payout as it is stored, with the number of events it has had. */
export type StoredPayout = { readonly payout: Payout; readonly eventCount: number }

type Row = {
  merchant_id: string
  id: string
  livemode: boolean
  status: PayoutStatus
  source: PayoutSource
  asset: AssetId
  network: Network
  amount: bigint
  network_fee: bigint
  network_fee_max: bigint
  destination_id: string
  destination: string
  requested_by: string
  approved_by: string | null
  rejected_by: string | null
  txid: string | null
  failure_code: string | null
  created_at: Date
  approved_at: Date | null
  rejected_at: Date | null
  submitted_at: Date | null
  confirmed_at: Date | null
  failed_at: Date | null
  event_count: number
}

const COLUMNS = `merchant_id, id, livemode, status, source, asset, network, amount, network_fee, network_fee_max,
  coalesce(destination_id, fee_destination_id) as destination_id, destination, requested_by, approved_by, rejected_by, txid, failure_code, created_at, approved_at, rejected_at,
  submitted_at, confirmed_at, failed_at, event_count`

/** What somebody wrote with SQL of no coin that there is must not stop those who read the payouts of all merchants. */
const OF_KNOWN_ASSET = `asset in (${ASSET_IDS.map((id) => `'${id}'`).join(', ')})`

const msOf = (at: Date | null): number | null => at?.getTime() ?? null
const dateOf = (ms: number | null): Date | null => (ms === null ? null : new Date(ms))

function storedPayoutOf(row: Row): StoredPayout {
  const payout: Payout = {
    merchantId: row.merchant_id,
    id: row.id,
    livemode: row.livemode,
    status: row.status,
    source: row.source,
    asset: row.asset,
    network: row.network,
    amount: row.amount,
    networkFee: row.network_fee,
    networkFeeMax: row.network_fee_max,
    destinationId: row.destination_id,
    destination: row.destination,
    requestedBy: row.requested_by,
    approvedBy: row.approved_by,
    rejectedBy: row.rejected_by,
    txid: row.txid,
    failureCode: row.failure_code,
    createdAtMs: row.created_at.getTime(),
    approvedAtMs: msOf(row.approved_at),
    rejectedAtMs: msOf(row.rejected_at),
    submittedAtMs: msOf(row.submitted_at),
    confirmedAtMs: msOf(row.confirmed_at),
    failedAtMs: msOf(row.failed_at),
  }
  return { payout, eventCount: row.event_count }
}

/** Writes a new payout. */
export async function insertPayout(tx: Tx, payout: Payout, eventCount: number): Promise<void> {
  await tx.query(
    `insert into payout (merchant_id, id, livemode, status, asset, network, amount, network_fee, network_fee_max,
       destination_id, destination, requested_by, created_at, event_count, source, fee_destination_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
    [
      payout.merchantId,
      payout.id,
      payout.livemode,
      payout.status,
      payout.asset,
      payout.network,
      payout.amount,
      payout.networkFee,
      payout.networkFeeMax,
      payout.source === 'available' ? payout.destinationId : null,
      payout.destination,
      payout.requestedBy,
      new Date(payout.createdAtMs),
      eventCount,
      payout.source,
      payout.source === 'fees' ? payout.destinationId : null,
    ],
  )
}

/**
 * One payout from the given source, null: from either; null where there is none. `forUpdate` makes others wait until this
 * transaction ends. Served by the primary key.
 */
export async function loadPayout(
  tx: Tx,
  tenant: Tenant,
  id: string,
  options: { readonly source: PayoutSource | null; readonly forUpdate?: boolean },
): Promise<StoredPayout | null> {
  const { rows } = await tx.query<Row>(
    `select ${COLUMNS} from payout where merchant_id = $1 and id = $2 and livemode = $3 and ($4::text is null or source = $4)
     ${options.forUpdate === true ? 'for update' : ''}`,
    [tenant.merchantId, id, tenant.livemode, options.source],
  )
  return rows[0] === undefined ? null : storedPayoutOf(rows[0])
}

/** Whether the tenant has this payout; one of the operator's fees is none of theirs. Served by the primary key. */
export async function payoutExists(tx: Tx, tenant: Tenant, id: string): Promise<boolean> {
  return (await loadPayout(tx, tenant, id, { source: 'available' })) !== null
}

/** A decision of the merchant's. False where the payout's status is no longer `before`'s. Served by the primary key. */
export async function updateDecidedPayout(
  tx: Tx,
  before: StoredPayout,
  next: Payout,
  eventCount: number,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update payout set status = $5, approved_by = $6, rejected_by = $7, approved_at = $8, rejected_at = $9, event_count = $10
     where merchant_id = $1 and id = $2 and livemode = $3 and status = $4`,
    [
      next.merchantId,
      next.id,
      next.livemode,
      before.payout.status,
      next.status,
      next.approvedBy,
      next.rejectedBy,
      dateOf(next.approvedAtMs),
      dateOf(next.rejectedAtMs),
      eventCount,
    ],
  )
  return rowCount === 1
}

/** What the chain did to a payout. False where its status is no longer `before`'s. Served by the primary key. */
export async function updateTrackedPayout(
  tx: Tx,
  before: StoredPayout,
  next: Payout,
  eventCount: number,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update payout set status = $5, txid = $6, network_fee = $7, failure_code = $8, submitted_at = $9, confirmed_at = $10,
       failed_at = $11, event_count = $12
     where merchant_id = $1 and id = $2 and livemode = $3 and status = $4`,
    [
      next.merchantId,
      next.id,
      next.livemode,
      before.payout.status,
      next.status,
      next.txid,
      next.networkFee,
      next.failureCode,
      dateOf(next.submittedAtMs),
      dateOf(next.confirmedAtMs),
      dateOf(next.failedAtMs),
      eventCount,
    ],
  )
  return rowCount === 1
}

/** A merchant has a hundred destinations at most. */
const matchesPayout = (text: string): string =>
  `${['id', 'destination', 'txid'].map((column) => holds(column, text)).join(' or ')}
   or (merchant_id, destination_id) in (select merchant_id, id from payout_destination where ${holds('name', text)})`

/** A page of a merchant's own payouts, newest first. Served by payout_by_mode. */
export async function listPayouts(
  tx: Tx,
  tenant: Tenant,
  position: ListPosition,
  filters: {
    readonly status: PayoutStatus | undefined
    readonly asset: AssetId | undefined
    /** Part of an id, address, transaction id or name of a destination. */
    readonly text?: string | undefined
  },
): Promise<{ payouts: Payout[]; hasMore: boolean }> {
  const { status, asset, text } = filters
  const equal = [
    ['merchant_id', tenant.merchantId],
    ['livemode', tenant.livemode],
    ['source', 'available'],
    ['status', status],
    ['asset', asset],
  ] as const
  const search = text === undefined ? undefined : { text, matches: matchesPayout }
  const page = await loadPage<Row>(tx, { table: 'payout', columns: COLUMNS }, position, equal, search)
  return { payouts: page.rows.map((row) => storedPayoutOf(row).payout), hasMore: page.hasMore }
}

/**
 * Payouts of a network that the signer or the chain has to process. First come those that have a nonce of its hot wallet,
 * for themselves or for their sweeps, since all others wait for them. Then the oldest of each merchant and asset, then the
 * second of each, and so on, so that a merchant with more than the limit blocks nobody. Reads all that are under way, by
 * payout_under_way, and account_nonce by its key.
 */
export async function listPayoutsUnderWay(
  db: Queryable,
  network: Network,
  limit: number,
): Promise<StoredPayout[]> {
  const { rows } = await db.query<Row>(
    `select ${COLUMNS} from payout where network = $1 and status in ('approved', 'submitted') and ${OF_KNOWN_ASSET}
     order by (merchant_id, id) not in (
         select n.merchant_id, coalesce(s.payout_id, n.intent_id) from hot_wallet h
         join account_nonce n on n.network = h.network and n.sender = h.address and n.nonce >= h.nonce
         left join sweep s on s.merchant_id = n.merchant_id and s.id = n.intent_id
         where h.network = $1),
       row_number() over (partition by merchant_id, livemode, asset order by id), id limit $2`,
    [network, limit],
  )
  return rows.map(storedPayoutOf)
}

type ApprovalRow = {
  readonly approver: string
  readonly digest: Buffer
  readonly signature: Buffer
  /** What the approver gave for it; null in test mode and of fees. */
  readonly evidence: unknown
}

/** Writes an approval, once for each payout. */
export async function insertPayoutApproval(
  tx: Tx,
  tenant: Tenant,
  approval: ApprovalRow & { readonly payoutId: string; readonly now: Date },
): Promise<void> {
  await tx.query(
    `insert into payout_approval (merchant_id, payout_id, livemode, approver, digest, signature, created_at, evidence)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      tenant.merchantId,
      approval.payoutId,
      tenant.livemode,
      approval.approver,
      approval.digest,
      approval.signature,
      approval.now,
      approval.evidence,
    ],
  )
}

/** Who created an API key in the dashboard; null for nobody, or no key. By primary key. */
export async function findKeyCreator(tx: Tx, tenant: Tenant, keyId: string): Promise<string | null> {
  const { rows } = await tx.query<{ created_by: string | null }>(
    'select created_by from api_key where merchant_id = $1 and id = $2',
    [tenant.merchantId, keyId],
  )
  return rows[0]?.created_by ?? null
}

/** Payouts of a network that are called failed, without a seal of that, newest first. By payout_failed. */
export async function listUnsealedPayouts(
  db: Queryable,
  network: Network,
  { before, limit }: PageBefore,
): Promise<StoredPayout[]> {
  const { rows } = await db.query<Row>(
    `select ${COLUMNS} from payout p where p.network = $1 and ${UNSEALED_PAYOUT} and ${OF_KNOWN_ASSET}
       and ($2::text is null or p.id < $2) order by p.id desc limit $3`,
    [network, before, limit],
  )
  return rows.map(storedPayoutOf)
}

/** Payouts of a network that were confirmed after `since`. Served by payout_lately_confirmed. */
export async function listLatelyConfirmed(
  db: Queryable,
  network: Network,
  since: Date,
  limit: number,
): Promise<StoredPayout[]> {
  const { rows } = await db.query<Row>(
    `select ${COLUMNS} from payout where network = $1 and status = 'confirmed' and confirmed_at > $2
       and ${OF_KNOWN_ASSET} order by confirmed_at limit $3`,
    [network, since, limit],
  )
  return rows.map(storedPayoutOf)
}

/**
 * After a restore: what was approved and not signed at the backup may have been signed and sent since.
 * These payouts wait for approval again, so that a person looks first. `isSigned`: the signer's journal has it, and the
 * same bytes are sent once more. Returns their ids. A walk of the open payouts.
 */
export async function withdrawUnsignedApprovals(
  db: Queryable,
  isSigned: (payoutId: string) => boolean,
): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select id from payout where status = 'approved'
       and not exists (select from payout_transaction t where t.payout_id = payout.id) order by id`,
  )
  const unsigned = rows.map(({ id }) => id).filter((id) => !isSigned(id))
  await db.query('delete from payout_approval where payout_id = any($1)', [unsigned])
  await db.query(
    `update payout set status = 'requested', approved_by = null, approved_at = null where id = any($1)`,
    [unsigned],
  )
  return unsigned
}

export type SubmittedPayout = { readonly id: string; readonly network: string; readonly txid: string | null }

/** After a restore, for the operator: what is on its way of all merchants. A walk of the open payouts. */
export async function listSubmittedPayouts(db: Queryable): Promise<readonly SubmittedPayout[]> {
  const { rows } = await db.query<SubmittedPayout>(
    `select id, network, txid from payout where status = 'submitted' order by id`,
  )
  return rows
}
