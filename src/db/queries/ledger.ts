import type { AssetId } from '../../core/assets.ts'
import type { LedgerAccount } from '../../core/ledger/deposit.ts'
import type { Tenant, Tx } from '../transaction.ts'

export type LedgerTransfer = {
  readonly id: string
  readonly kind: string
  readonly invoiceId: string | null
  readonly asset: AssetId
  /** Moved from the first account to the second, base units. */
  readonly from: LedgerAccount
  readonly to: LedgerAccount
  readonly amount: bigint
  readonly usdCents: bigint | null
  readonly createdAt: Date
}

/**
 * Writes one ledger transfer with its two entries. The database checks the sum at commit and keeps the balances.
 * Who posts for a merchant waits for who posts for the same: transactions that touch the same balances in
 * different orders would otherwise end in a deadlock.
 */
export async function insertLedgerTransfer(tx: Tx, tenant: Tenant, transfer: LedgerTransfer): Promise<void> {
  const { merchantId, livemode } = tenant
  const turn = tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `ledger/${merchantId}/${livemode}`,
  ])
  const written = tx.query(
    `with new_transfer as (
       insert into ledger_transfer (merchant_id, id, livemode, kind, invoice_id, usd_cents, created_at)
       values ($1, $2, $3, $4, $5, $6, $7))
     insert into ledger_entry (merchant_id, transfer_id, account, asset, livemode, amount, created_at)
     values ($1, $2, $8, $10, $3, -$11::numeric, $7), ($1, $2, $9, $10, $3, $11::numeric, $7)`,
    [
      tenant.merchantId,
      transfer.id,
      tenant.livemode,
      transfer.kind,
      transfer.invoiceId,
      transfer.usdCents,
      transfer.createdAt,
      transfer.from,
      transfer.to,
      transfer.asset,
      transfer.amount,
    ],
  )
  await Promise.all([turn, written])
}

export type BalanceRow = { asset: AssetId; account: LedgerAccount; balance: bigint }

/** What stands in each account of a merchant in one mode. */
export async function loadBalances(tx: Tx, tenant: Tenant): Promise<BalanceRow[]> {
  const { rows } = await tx.query<BalanceRow>(
    `select asset, account, balance from ledger_balance where merchant_id = $1 and livemode = $2`,
    [tenant.merchantId, tenant.livemode],
  )
  return rows
}
