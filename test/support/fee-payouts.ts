import type { AssetId } from '../../src/core/assets.ts'
import { insertLedgerTransfers } from '../../src/db/ledger/ledger.ts'
import { allowFeeDestination } from '../../src/payouts/payout-destinations.ts'
import { type PayoutRequested, requestPayoutAlone } from '../../src/payouts/request-payout.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import type { TestDatabase } from './database.ts'

/** What comes of the operator's asking for all fees that are among a merchant's coins, to an address that was allowed before. */
export async function askForFees(
  database: TestDatabase,
  tenant: Tenant,
  to: { readonly asset: AssetId; readonly address: string; readonly now: Date },
): Promise<PayoutRequested> {
  const { asset, address, now } = to
  const { livemode } = tenant
  const added = await withTransaction(database.owner, tenant, (tx) =>
    allowFeeDestination(tx, { livemode, asset, address, name: 'x', by: 'opr_a', now }),
  )
  if (added.kind !== 'added') throw new Error(added.kind)
  const destinationId = added.destination.id
  // The list is not what is tested here, and has an end.
  await database.owner.query(`update fee_destination set usable_at = created_at where id = $1`, [
    destinationId,
  ])
  return requestPayoutAlone(database.owner, {
    tenant,
    source: 'fees',
    destinationId,
    amount: null,
    asset,
    by: 'opr_a',
    dailyLimits: {},
    requestId: 'req_test',
    now,
  })
}

/** So much of what is available becomes the operator's. */
export const keepFees = (owner: TestDatabase['owner'], tenant: Tenant, units: bigint, now: Date) =>
  withTransaction(owner, tenant, (tx) =>
    insertLedgerTransfers(tx, tenant, [
      {
        id: `dep:test:${newId('payment', now)}:fee`,
        kind: 'service_fee',
        invoiceId: null,
        paymentId: null,
        asset: 'LTC',
        from: 'available',
        to: 'fees',
        amount: units,
        usdCents: null,
        createdAt: now,
      },
    ]),
  )
