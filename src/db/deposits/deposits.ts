import { keyspaceOfNetwork, type Network, type PaymentAsset } from '../../core/assets.ts'
import type { KnownDeposits } from '../../core/deposit/advance.ts'
import {
  type Deposit,
  type DepositAccount,
  type DepositRecord,
  depositIdOf,
} from '../../core/deposit/deposit.ts'
import type { RateEvidence } from '../../core/invoice/types.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { listDepositAddresses } from '../addresses/deposit-addresses.ts'
import { evidenceOf, jsonOrNull } from '../invoices/invoice-row.ts'
import { paymentFromRow, TRANSFER_COLUMNS, type TransferRow } from '../invoices/transfers.ts'
import { firstIdAt, type ListPosition, loadPage } from '../list-page.ts'
import { loadDepositAccounts } from './deposit-accounts.ts'

type DepositRow = {
  id: string
  account_id: string
  payment_id: string
  rate: RateEvidence | null
  announced: DepositRecord['announced']
  event_count: number
}

const COLUMNS = 'id, account_id, payment_id, rate, announced, event_count'

/** Holds what came to an account on a network until the transaction ends. */
export async function lockDeposits(
  tx: Tx,
  { merchantId, id }: DepositAccount,
  network: Network,
): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `deposits/${merchantId}/${id}/${network}`,
  ])
}

/**
 * The payments to an account of these transactions and block sums, the sums with their parts, and their deposits; however
 * many others there are. Served by transfer_identity and the key of deposit.
 */
export async function loadKnownDeposits(
  tx: Tx,
  { merchantId, id, livemode }: DepositAccount,
  of: { readonly network: Network; readonly txids: readonly string[] },
): Promise<KnownDeposits> {
  const { rows } = await tx.query<TransferRow>(
    `select ${TRANSFER_COLUMNS}, case when is_block_sum then parts end as parts from transfer
     where merchant_id = $1 and network = $2 and txid = any($3) and invoice_id = $4 and livemode = $5`,
    [merchantId, of.network, of.txids, id, livemode],
  )
  const payments = rows.map(paymentFromRow)
  const { rows: records } = await tx.query<DepositRow>(
    `select ${COLUMNS} from deposit where merchant_id = $1 and id = any($2) and livemode = $3`,
    [merchantId, payments.map((payment) => depositIdOf(payment.id)), livemode],
  )
  return { payments, records: new Map(records.map((row) => [row.id, recordFromRow(row)])) }
}

/** What came to an account on a network, was announced and is not final, by asset. Served by deposit_unsettled. */
export async function loadUnsettledSums(
  tx: Tx,
  { merchantId, id }: DepositAccount,
  network: Network,
): Promise<readonly { readonly asset: PaymentAsset; readonly amount: bigint }[]> {
  const { rows } = await tx.query<{ asset: PaymentAsset; amount: bigint }>(
    `select t.asset, sum(t.amount) as amount
     from deposit d join transfer t on t.merchant_id = d.merchant_id and t.id = d.payment_id
     where d.merchant_id = $1 and d.account_id = $2 and d.announced = 'detected' and t.network = $3
     group by t.asset`,
    [merchantId, id, network],
  )
  return rows
}

/** How many deposits that were made since are in no block, counted up to `limit`. Served by deposit_by_account. */
export async function countWithoutBlock(
  tx: Tx,
  { merchantId, id }: DepositAccount,
  { since, limit }: { readonly since: Date; readonly limit: number },
): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::int as count from (
       select from deposit d join transfer t on t.merchant_id = d.merchant_id and t.id = d.payment_id
       where d.merchant_id = $1 and d.account_id = $2 and d.id >= $3 and t.block_hash is null limit $4) as counted`,
    [merchantId, id, firstIdAt('deposit', since.getTime(), 0), limit],
  )
  return rows[0]?.count ?? 0
}

/** Writes deposits whose payments are new. */
export async function insertDeposits(
  tx: Tx,
  { merchantId, id, livemode }: DepositAccount,
  deposits: readonly { readonly record: DepositRecord; readonly paymentId: string }[],
  now: Date,
): Promise<void> {
  await Promise.all(
    deposits.map(({ record, paymentId }) =>
      tx.query(
        `insert into deposit (merchant_id, id, livemode, account_id, payment_id, rate, announced, event_count, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
        [
          merchantId,
          record.id,
          livemode,
          id,
          paymentId,
          jsonOrNull(record.rate),
          record.announced,
          record.eventCount,
          now,
        ],
      ),
    ),
  )
}

/** Writes what was announced since, guarded by the number of events. */
export async function updateDeposit(
  tx: Tx,
  { merchantId, livemode }: DepositAccount,
  record: DepositRecord,
  eventCountBefore: number,
): Promise<void> {
  const { rowCount } = await tx.query(
    `update deposit set announced = $4, event_count = $5
     where merchant_id = $1 and id = $2 and livemode = $3 and event_count = $6`,
    [merchantId, record.id, livemode, record.announced, record.eventCount, eventCountBefore],
  )
  if (rowCount !== 1) throw new Error(`deposit ${record.id} was advanced without being held`)
}

/** A page of deposits, newest first. Served by deposit_by_mode, or deposit_by_account where one is given. */
export async function listDeposits(
  tx: Tx,
  tenant: Tenant,
  position: ListPosition,
  accountId: string | undefined,
): Promise<{ deposits: Deposit[]; hasMore: boolean }> {
  const { rows, hasMore } = await loadPage<DepositRow>(tx, { table: 'deposit', columns: COLUMNS }, position, [
    ['merchant_id', tenant.merchantId],
    ['livemode', tenant.livemode],
    ['account_id', accountId],
  ])
  return { deposits: await wholeDeposits(tx, tenant, rows), hasMore }
}

/** By primary key. */
export async function loadDeposit(tx: Tx, tenant: Tenant, id: string): Promise<Deposit | null> {
  const { rows } = await tx.query<DepositRow>(
    `select ${COLUMNS} from deposit where merchant_id = $1 and id = $2 and livemode = $3`,
    [tenant.merchantId, id, tenant.livemode],
  )
  const [deposit = null] = await wholeDeposits(tx, tenant, rows)
  return deposit
}

export const depositExists = async (tx: Tx, tenant: Tenant, id: string): Promise<boolean> =>
  (await loadDeposit(tx, tenant, id)) !== null

/** Rows with their accounts, addresses and payments, each by its key. */
async function wholeDeposits(tx: Tx, tenant: Tenant, rows: readonly DepositRow[]): Promise<Deposit[]> {
  if (rows.length === 0) return []
  const accountIds = [...new Set(rows.map((row) => row.account_id))]
  const [accounts, addresses, { rows: transfers }] = await Promise.all([
    loadDepositAccounts(tx, tenant, accountIds),
    listDepositAddresses(tx, tenant, accountIds),
    tx.query<TransferRow>(
      `select ${TRANSFER_COLUMNS} from transfer where merchant_id = $1 and id = any($2) and livemode = $3`,
      [tenant.merchantId, rows.map((row) => row.payment_id), tenant.livemode],
    ),
  ])
  return rows.map((row) => {
    const account = accounts.find(({ id }) => id === row.account_id)
    const transfer = transfers.find(({ id }) => id === row.payment_id)
    if (account === undefined || transfer === undefined)
      throw new Error(`deposit ${row.id} has no account or no payment`)
    const payment = paymentFromRow(transfer)
    const keyspace = keyspaceOfNetwork(payment.network)
    const own = addresses.find((one) => one.invoiceId === account.id && one.keyspace === keyspace)
    return { ...recordFromRow(row), account, payment, address: own?.address ?? '' }
  })
}

const recordFromRow = (row: DepositRow): DepositRecord => ({
  id: row.id,
  rate: evidenceOf(row.rate),
  announced: row.announced,
  eventCount: row.event_count,
})
