import type { DepositAccount } from '../../core/deposit/deposit.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { type ListPosition, loadPage } from '../list-page.ts'

type AccountRow = {
  merchant_id: string
  id: string
  livemode: boolean
  customer_reference: string
  service_fee_bps: number
  created_at: Date
}

const COLUMNS = 'merchant_id, id, livemode, customer_reference, service_fee_bps, created_at'

/** Requests for one customer take turns until this transaction ends: each sees what the one before has made. */
export async function lockCustomer(tx: Tx, tenant: Tenant, customerReference: string): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `deposit_account/${tenant.merchantId}/${tenant.livemode}/${customerReference}`,
  ])
}

/** By the table's unique key. */
export async function findDepositAccount(
  tx: Tx,
  tenant: Tenant,
  customerReference: string,
): Promise<DepositAccount | null> {
  const { rows } = await tx.query<AccountRow>(
    `select ${COLUMNS} from deposit_account where merchant_id = $1 and livemode = $2 and customer_reference = $3`,
    [tenant.merchantId, tenant.livemode, customerReference],
  )
  return rows[0] === undefined ? null : accountFromRow(rows[0])
}

/** By primary key. */
export async function loadDepositAccount(tx: Tx, tenant: Tenant, id: string): Promise<DepositAccount | null> {
  const [account = null] = await loadDepositAccounts(tx, tenant, [id])
  return account
}

/** By primary key. */
export async function loadDepositAccounts(
  tx: Tx,
  tenant: Tenant,
  ids: readonly string[],
): Promise<DepositAccount[]> {
  const { rows } = await tx.query<AccountRow>(
    `select ${COLUMNS} from deposit_account where merchant_id = $1 and id = any($2) and livemode = $3`,
    [tenant.merchantId, ids, tenant.livemode],
  )
  return rows.map(accountFromRow)
}

export const depositAccountExists = async (tx: Tx, tenant: Tenant, id: string): Promise<boolean> =>
  (await loadDepositAccount(tx, tenant, id)) !== null

/** A page of accounts, newest first. Served by deposit_account_by_mode. */
export async function listDepositAccounts(
  tx: Tx,
  tenant: Tenant,
  position: ListPosition,
  customerReference: string | undefined,
): Promise<{ accounts: DepositAccount[]; hasMore: boolean }> {
  const { rows, hasMore } = await loadPage<AccountRow>(
    tx,
    { table: 'deposit_account', columns: COLUMNS },
    position,
    [
      ['merchant_id', tenant.merchantId],
      ['livemode', tenant.livemode],
      ['customer_reference', customerReference],
    ],
  )
  return { accounts: rows.map(accountFromRow), hasMore }
}

/** How many there are, counted up to `max`. Served by deposit_account_by_mode. */
export async function countDepositAccounts(tx: Tx, tenant: Tenant, max: number): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::int as count from (
       select from deposit_account where merchant_id = $1 and livemode = $2 limit $3) as counted`,
    [tenant.merchantId, tenant.livemode, max],
  )
  return rows[0]?.count ?? 0
}

export async function insertDepositAccount(tx: Tx, account: DepositAccount): Promise<void> {
  await tx.query(
    `insert into deposit_account (merchant_id, id, livemode, customer_reference, service_fee_bps, created_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [
      account.merchantId,
      account.id,
      account.livemode,
      account.customerReference,
      account.serviceFeeBps,
      new Date(account.createdAtMs),
    ],
  )
}

const accountFromRow = (row: AccountRow): DepositAccount => ({
  merchantId: row.merchant_id,
  id: row.id,
  livemode: row.livemode,
  customerReference: row.customer_reference,
  serviceFeeBps: row.service_fee_bps,
  createdAtMs: row.created_at.getTime(),
})
