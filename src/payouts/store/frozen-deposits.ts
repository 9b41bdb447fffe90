import type { AssetId, Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant } from '../../postgres/transaction.ts'

/** A deposit address whose tokens their issuer lets nobody move. */
type FrozenDeposit = {
  readonly merchantId: string
  readonly livemode: boolean
  readonly network: Network
  readonly asset: AssetId
  /** 20 bytes. */
  readonly address: Buffer
  readonly invoiceId: string
  /** Base units that were paid there and not swept. */
  readonly amount: bigint
  /** In the words of the token's contract. */
  readonly reason: string
}

const COLUMNS = `merchant_id as "merchantId", livemode, network, asset, address, invoice_id as "invoiceId", amount, reason`

/** Keeps what was found of an address. By deposit_address' key and the primary key. */
export async function saveFrozenDeposit(
  db: Queryable,
  tenant: Tenant,
  found: Pick<FrozenDeposit, 'network' | 'asset' | 'address' | 'amount' | 'reason'> & {
    readonly transferId: string
  },
  now: Date,
): Promise<void> {
  await db.query(
    `insert into frozen_deposit (merchant_id, livemode, network, asset, address, invoice_id, amount, reason, found_at,
       checked_at)
     select $1, $2, $3, $4, $5, t.invoice_id, $6, $7, $9, $9 from transfer t where t.merchant_id = $1 and t.id = $8
     on conflict (merchant_id, network, asset, address)
       do update set amount = excluded.amount, reason = excluded.reason, checked_at = excluded.checked_at`,
    [
      tenant.merchantId,
      tenant.livemode,
      found.network,
      found.asset,
      found.address,
      found.amount,
      found.reason,
      found.transferId,
      now,
    ],
  )
}

/** Forgets an address that can be moved from again. By primary key. */
export async function deleteFrozenDeposit(
  db: Queryable,
  {
    merchantId,
    network,
    asset,
    address,
  }: Pick<FrozenDeposit, 'merchantId' | 'network' | 'asset' | 'address'>,
): Promise<void> {
  await db.query(
    'delete from frozen_deposit where merchant_id = $1 and network = $2 and asset = $3 and address = $4',
    [merchantId, network, asset, address],
  )
}

/** Those of a network in these assets that were asked about before, longest ago first; from now on they were asked about. By frozen_deposit_by_check. */
export async function takeFrozenToCheck(
  db: Queryable,
  network: Network,
  of: {
    readonly assets: readonly AssetId[]
    readonly before: Date
    readonly now: Date
    readonly limit: number
  },
): Promise<FrozenDeposit[]> {
  const { rows } = await db.query<FrozenDeposit>(
    `update frozen_deposit set checked_at = $3 where (merchant_id, network, asset, address) in (
       select merchant_id, network, asset, address from frozen_deposit
       where network = $1 and checked_at < $2 and asset = any ($5) order by checked_at limit $4)
     returning ${COLUMNS}`,
    [network, of.before, of.now, of.limit, of.assets],
  )
  return rows
}

/** A merchant's, the largest first. By primary key. */
export async function listFrozenDeposits(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  limit: number,
): Promise<FrozenDeposit[]> {
  const { rows } = await db.query<FrozenDeposit>(
    `select ${COLUMNS} from frozen_deposit where merchant_id = $1 and livemode = $2
     order by amount desc, address limit $3`,
    [merchantId, livemode, limit],
  )
  return rows
}

/** Everybody's, the oldest first, for an operator. */
export async function listAllFrozenDeposits(db: Queryable, limit: number): Promise<FrozenDeposit[]> {
  const { rows } = await db.query<FrozenDeposit>(
    `select ${COLUMNS} from frozen_deposit order by found_at, address limit $1`,
    [limit],
  )
  return rows
}

/** What of a merchant's balance of an asset lies frozen, base units. By primary key. */
export async function sumFrozenDeposits(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  asset: AssetId,
): Promise<bigint> {
  const { rows } = await db.query<{ total: bigint }>(
    `select coalesce(sum(amount), 0) as total from frozen_deposit
     where merchant_id = $1 and livemode = $2 and asset = $3`,
    [merchantId, livemode, asset],
  )
  return rows[0]?.total ?? 0n
}
