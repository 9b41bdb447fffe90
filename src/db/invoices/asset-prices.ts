import type { PaymentAsset } from '../../core/assets.ts'
import type { RateEvidence } from '../../core/invoice/types.ts'
import { formatPrice, parsePrice } from '../../core/money.ts'
import type { Queryable } from '../../postgres/pool.ts'
import { evidenceOf } from './invoice-row.ts'

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
  prices: readonly {
    readonly asset: PaymentAsset
    readonly livemode: boolean
    readonly price: bigint
    readonly evidence?: RateEvidence
  }[],
  now: Date,
): Promise<void> {
  await db.query(
    `insert into asset_price (asset, livemode, price, updated_at, evidence)
     select asset, livemode, price, $4, evidence::json
     from unnest($1::text[], $2::boolean[], $3::numeric[], $5::text[]) as known (asset, livemode, price, evidence)
     order by asset, livemode
     on conflict (asset, livemode) do update
       set price = excluded.price, updated_at = excluded.updated_at, evidence = excluded.evidence
       where asset_price.updated_at < excluded.updated_at`,
    [
      prices.map(({ asset }) => asset),
      prices.map(({ livemode }) => livemode),
      prices.map(({ price }) => price.toString()),
      now,
      prices.map(({ evidence }) => (evidence === undefined ? null : JSON.stringify(evidence))),
    ],
  )
}

/**
 * The prices of some assets when they were last known, each with where it came from; those that never were are left out.
 * By primary key.
 */
export async function loadPricesWithEvidence(
  db: Queryable,
  assets: readonly PaymentAsset[],
  livemode: boolean,
): Promise<Map<PaymentAsset, RateEvidence>> {
  const { rows } = await db.query<{
    asset: PaymentAsset
    price: bigint
    updated_at: Date
    evidence: RateEvidence | null
  }>('select asset, price, updated_at, evidence from asset_price where asset = any($1) and livemode = $2', [
    assets,
    livemode,
  ])
  return new Map(
    rows.map(({ asset, price, updated_at: updatedAt, evidence }) => {
      const known = evidenceOf(evidence)
      // A release before there was evidence writes prices alone.
      const isOfPrice = known !== null && parsePrice(known.usdPerUnit) === price
      const bare = { usdPerUnit: formatPrice(price), quotedAt: updatedAt.toISOString(), sources: [] }
      return [asset, isOfPrice ? known : bare]
    }),
  )
}
