import type { AssetId } from '../../src/core/assets.ts'
import { insertLedgerTransfers } from '../../src/db/ledger/ledger.ts'
import type { Pool } from '../../src/postgres/pool.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'

/** Money that a merchant never got, written into the ledger; the id of the transfer. */
export async function forgeBalance(
  pool: Pool,
  tenant: Tenant,
  of: { readonly asset: AssetId; readonly amount: bigint; readonly now: Date },
): Promise<string> {
  const { asset, amount, now } = of
  const id = newId('payment', now)
  const about = { kind: 'deposit', invoiceId: null, paymentId: null, usdCents: null } as const
  await withTransaction(pool, tenant, (tx) =>
    insertLedgerTransfers(tx, tenant, [
      {
        id,
        ...about,
        asset,
        from: 'chain',
        to: 'available',
        amount,
        createdAt: now,
      },
    ]),
  )
  return id
}
