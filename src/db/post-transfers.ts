import type { PaymentAsset } from '../core/assets.ts'
import { coverMoves } from '../core/ledger/shortfall.ts'
import { insertLedgerTransfer, type LedgerTransfer, loadStanding } from './queries/ledger.ts'
import type { Tenant, Tx } from './transaction.ts'

/** Money that had been paid out before the chain took back the deposit it came from, base units. */
export type Shortfall = { readonly asset: PaymentAsset; readonly amount: bigint }

/**
 * Writes the ledger transfers of one event, all of one asset, in their order. Where they take more than is available, a
 * transfer from the shortfall comes before them; where they leave something while there is one, it is repaid first.
 * Gives what became missing; null where nothing did.
 */
export async function postTransfers(
  tx: Tx,
  tenant: Tenant,
  transfers: readonly LedgerTransfer[],
): Promise<Shortfall | null> {
  const [first] = transfers
  if (first === undefined) return null
  if (!transfers.some(({ from, to }) => from === 'available' || to === 'available')) {
    await insertAll(tx, tenant, transfers)
    return null
  }
  const { covered, repaid } = coverMoves(transfers, await loadStanding(tx, tenant, first.asset))
  const group = [...transfers]
  const aside = { ...first, usdCents: null }
  if (covered > 0n) {
    const id = `${first.id}:shortfall`
    const kind = 'shortfall'
    group.unshift({ ...aside, id, kind, from: 'shortfall', to: 'available', amount: covered })
  }
  if (repaid > 0n) {
    const id = `${first.id}:repaid`
    const kind = 'shortfall_repaid'
    group.push({ ...aside, id, kind, from: 'available', to: 'shortfall', amount: repaid })
  }
  await insertAll(tx, tenant, group)
  return covered > 0n ? { asset: first.asset, amount: covered } : null
}

/** Sent together: the connection keeps their order. */
async function insertAll(tx: Tx, tenant: Tenant, transfers: readonly LedgerTransfer[]): Promise<void> {
  await Promise.all(transfers.map((transfer) => insertLedgerTransfer(tx, tenant, transfer)))
}
