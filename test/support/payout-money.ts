import { insertLedgerTransfers } from '../../src/db/ledger/ledger.ts'
import { saveNetworkFee } from '../../src/payouts/store/payout-coins.ts'
import type { Pool } from '../../src/postgres/pool.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'

/** So much Litecoin, in base units, in a merchant's available balance, and a network whose fees are known. */
export async function creditLitecoin(
  owner: Pool,
  tenant: Tenant,
  { units, now }: { units: bigint; now: Date },
): Promise<void> {
  await withTransaction(owner, tenant, async (tx) => {
    await insertLedgerTransfers(tx, tenant, [
      {
        id: `dep:test:${newId('payment', now)}`,
        kind: 'deposit',
        invoiceId: null,
        paymentId: null,
        asset: 'LTC',
        from: 'chain',
        to: 'available',
        amount: units,
        usdCents: null,
        createdAt: now,
      },
    ])
    // The dashboard's tests go by the real clock.
    const at = new Date(Math.max(now.getTime(), Date.now()))
    await saveNetworkFee(tx, tenant.livemode ? 'litecoin-live' : 'litecoin-test', { rate: 2_000n, now: at })
  })
}
