import { ASSET_IDS, ASSETS } from '../../core/assets.ts'

const TICKERS = ASSET_IDS.filter((id) => ASSETS[id].token !== null)
  .map((id) => `when '${id}' then '${ASSETS[id].symbol}'`)
  .join(' ')

/**
 * What a base unit of an asset counts for on invoice `i`, as the core's `measureOf` has it but in whole dollars: 1 where the
 * invoice asks for one coin. The table makes sure that every rate is a number.
 */
export const weightOf = (asset: string): string =>
  `coalesce((i.token_rates #>> array[case ${asset} ${TICKERS} end, 'usdPerUnit'])::numeric, 1)`

/** Of invoice `i` the least and the most that are paid, as `weightOf` counts. */
export const LEAST = `case when i.token_rates is null then i.amount else i.usd_cents * ${unitsPerCent()} end - i.tolerance_under`
export const MOST = `case when i.token_rates is null then i.amount + i.tolerance_over
  else i.usd_cents * ${unitsPerCent()} + i.tolerance_over - 1e-12
    + (select max((rate ->> 'usdPerUnit')::numeric) from jsonb_each(i.token_rates) as one (ticker, rate)) end`

/** Base units of the invoice's token that are a cent where one is a dollar. */
function unitsPerCent(): string {
  const byDecimals = ASSET_IDS.filter((id) => ASSETS[id].token !== null).map(
    (id) => `when '${id}' then ${10n ** BigInt(ASSETS[id].decimals - 2)}`,
  )
  return `(case i.asset ${byDecimals.join(' ')} else 0 end)`
}
