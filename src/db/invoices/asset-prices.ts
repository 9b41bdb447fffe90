import type { PaymentAsset } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'

/** The price of an asset when it was last known, 10⁻¹² US dollar per coin; null where it never was. By primary key. */
export async function loadAssetPrice(
  db: Queryable,
  asset: PaymentAsset,
  livemode: boolean,
): Promise<bigint | null> {
  const { rows } = await db.query<{ price: bigint }>(
    'select price from asset_price where asset = $1 and livemode = $2',
    [asset, livemode],
  )
  return rows[0]?.price ?? null
}

/** Keeps the prices of the moment; never an older one in the place of a newer one. By primary key. */
export async function saveAssetPrices(
  db: Queryable,
  prices: readonly { readonly asset: PaymentAsset; readonly livemode: boolean; readonly price: bigint }[],
  now: Date,
): Promise<void> {
  await db.query(
    `insert into asset_price (asset, livemode, price, updated_at)
     select asset, livemode, price, $4
     from unnest($1::text[], $2::boolean[], $3::numeric[]) as known (asset, livemode, price)
     order by asset, livemode
     on conflict (asset, livemode) do update set price = excluded.price, updated_at = excluded.updated_at
       where asset_price.updated_at < excluded.updated_at`,
    [
      prices.map(({ asset }) => asset),
      prices.map(({ livemode }) => livemode),
      prices.map(({ price }) => price.toString()),
      now,
    ],
  )
}
