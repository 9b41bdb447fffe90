import type { AssetId } from '../../core/assets.ts'
import { type ListPosition, loadPage } from '../../db/list-page.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

export type PayoutDestination = {
  readonly id: string
  readonly livemode: boolean
  readonly asset: AssetId
  readonly address: string
  readonly name: string
  readonly createdAt: Date
  readonly usableAt: Date
  readonly removedAt: Date | null
}

type Row = {
  id: string
  livemode: boolean
  asset: AssetId
  address: string
  name: string
  created_at: Date
  usable_at: Date
  removed_at: Date | null
}

const COLUMNS = 'id, livemode, asset, address, name, created_at, usable_at, removed_at'

const destinationOf = (row: Row): PayoutDestination => ({
  id: row.id,
  livemode: row.livemode,
  asset: row.asset,
  address: row.address,
  name: row.name,
  createdAt: row.created_at,
  usableAt: row.usable_at,
  removedAt: row.removed_at,
})

/** Serializes additions to one merchant's list in one mode, so that each is judged against all earlier ones. */
export async function lockPayoutDestinations(tx: Tx, tenant: Tenant): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `payout_destination/${tenant.merchantId}/${tenant.livemode}`,
  ])
}

/**
 * Whether an address is one that payouts leave from: a hot wallet, an account of the signer's on Solana, or one that the
 * change of a payout in coins came back to. `addressBytes`: what a segwit address stands for. The last by
 * payout_change_by_program, the others by small tables.
 */
export async function isSignersAccount(
  tx: Tx,
  address: string,
  addressBytes: Uint8Array | null,
): Promise<boolean> {
  const { rows } = await tx.query<{ own: boolean }>(
    `select exists (select from hot_wallet where '0x' || encode(address, 'hex') = lower($1))
       or exists (select from solana_house where $1 = any (nonce_accounts || array[fee_payer, vault]))
       or exists (select from x402_fee_payer where address = $1)
       or is_change_program($2) as own`,
    [address, addressBytes],
  )
  return rows[0]?.own === true
}

/** Writes a destination. False if the address is on the list already (payout_destination_once). */
export async function insertPayoutDestination(
  tx: Tx,
  tenant: Tenant,
  destination: Omit<PayoutDestination, 'livemode' | 'removedAt'> & { readonly createdBy: string },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     on conflict do nothing`,
    [
      tenant.merchantId,
      destination.id,
      tenant.livemode,
      destination.asset,
      destination.address,
      destination.name,
      destination.createdBy,
      destination.createdAt,
      destination.usableAt,
    ],
  )
  return rowCount === 1
}

/** Addresses of these assets that the merchant ever listed in this mode, removed ones too: what people may take others for. */
export async function listUsedAddresses(
  tx: Tx,
  tenant: Tenant,
  assets: readonly AssetId[],
  limit: number,
): Promise<string[]> {
  const { rows } = await tx.query<{ address: string }>(
    `select distinct address from payout_destination
     where merchant_id = $1 and livemode = $2 and asset = any($3) order by address limit $4`,
    [tenant.merchantId, tenant.livemode, assets, limit],
  )
  return rows.map((row) => row.address)
}

/** One destination, or null; removed ones only where asked for. `share` keeps others from removing it meanwhile. */
export async function loadPayoutDestination(
  tx: Tx,
  tenant: Tenant,
  id: string,
  options: { readonly removed?: boolean; readonly share?: boolean } = {},
): Promise<PayoutDestination | null> {
  const { rows } = await tx.query<Row>(
    `select ${COLUMNS} from payout_destination where merchant_id = $1 and id = $2 and livemode = $3
     ${options.removed === true ? '' : 'and removed_at is null'} ${options.share === true ? 'for share' : ''}`,
    [tenant.merchantId, id, tenant.livemode],
  )
  return rows[0] === undefined ? null : destinationOf(rows[0])
}

/** The destination that stood for an address last, removed or not; null where none ever did. */
export async function findPayoutDestination(
  tx: Tx,
  tenant: Tenant,
  of: { readonly asset: AssetId; readonly address: string },
): Promise<PayoutDestination | null> {
  const { rows } = await tx.query<Row>(
    `select ${COLUMNS} from payout_destination
     where merchant_id = $1 and livemode = $2 and asset = $3 and address = $4
     order by removed_at desc nulls first limit 1`,
    [tenant.merchantId, tenant.livemode, of.asset, of.address],
  )
  return rows[0] === undefined ? null : destinationOf(rows[0])
}

/** Whether the tenant has this destination. Served by the primary key. */
export async function payoutDestinationExists(tx: Tx, tenant: Tenant, id: string): Promise<boolean> {
  return (await loadPayoutDestination(tx, tenant, id)) !== null
}

/** Takes a destination off the list. False where it was not on it. Served by the primary key. */
export async function removePayoutDestination(
  tx: Tx,
  tenant: Tenant,
  id: string,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update payout_destination set removed_at = $4
     where merchant_id = $1 and id = $2 and livemode = $3 and removed_at is null`,
    [tenant.merchantId, id, tenant.livemode, now],
  )
  return rowCount === 1
}

/** How many destinations stand on the list. Served by payout_destination_once. */
export async function countPayoutDestinations(tx: Tx, tenant: Tenant): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::int as count from payout_destination
     where merchant_id = $1 and livemode = $2 and removed_at is null`,
    [tenant.merchantId, tenant.livemode],
  )
  return rows[0]?.count ?? 0
}

/** A page of destinations, newest first. Served by payout_destination_by_mode. */
export async function listPayoutDestinations(
  tx: Tx,
  tenant: Tenant,
  position: ListPosition,
  asset: AssetId | undefined,
): Promise<{ destinations: PayoutDestination[]; hasMore: boolean }> {
  const page = await loadPage<Row>(tx, { table: 'payout_destination', columns: COLUMNS }, position, [
    ['merchant_id', tenant.merchantId],
    ['livemode', tenant.livemode],
    ['asset', asset],
    ['(removed_at is null)', true],
  ])
  return { destinations: page.rows.map(destinationOf), hasMore: page.hasMore }
}
