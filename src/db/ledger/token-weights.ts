import { ASSET_IDS, ASSETS } from '../../core/assets.ts'
import { formatPrice } from '../../core/money.ts'
import { PEG_BAND } from '../../core/rates/peg.ts'

const TICKERS = ASSET_IDS.filter((id) => ASSETS[id].token !== null)
  .map((id) => `when '${id}' then '${ASSETS[id].symbol}'`)
  .join(' ')

/**
 * What a base unit of an asset counts for on invoice `i`, as the core's `measureOf` has it but in whole dollars: 1 where the
 * invoice asks for one coin. The table makes sure that every rate is a number.
 */
export const weightOf = (asset: string): string => `coalesce(${rateOf(asset)}, 1)`

/** The rate of an asset's token on invoice `i`, dollars; null where it has none. */
const rateOf = (asset: string): string =>
  `(i.token_rates #>> array[case ${asset} ${TICKERS} end, 'usdPerUnit'])::numeric`

/** Of invoice `i` the least and the most that are paid, as `weightOf` counts. */
export const LEAST = `case when i.token_rates is null then i.amount else i.usd_cents * ${unitsPerCent()} end - i.tolerance_under`
export const MOST = `case when i.token_rates is null then i.amount + i.tolerance_over
  else i.usd_cents * ${unitsPerCent()} + i.tolerance_over - 1e-12
    + (select max((rate ->> 'usdPerUnit')::numeric) from jsonb_each(i.token_rates) as one (ticker, rate)) end`

/** That the amount of invoice `i` is its dollars at its own token's rate, rounded up, and no token of it is away from a dollar. */
export const DOLLARS_ARE_RIGHT = `${rateOf('i.asset')} is not null
  and i.amount * ${rateOf('i.asset')} >= i.usd_cents * ${unitsPerCent()}
  and (i.amount - 1) * ${rateOf('i.asset')} < i.usd_cents * ${unitsPerCent()}
  and not exists (select from jsonb_each(i.token_rates) as one (ticker, rate)
    where (rate ->> 'usdPerUnit')::numeric not between ${PEG_BAND.map(formatPrice).join(' and ')})`

/** Base units of the invoice's token that are a cent where one is a dollar. */
function unitsPerCent(): string {
  const byDecimals = ASSET_IDS.filter((id) => ASSETS[id].token !== null).map(
    (id) => `when '${id}' then ${10n ** BigInt(ASSETS[id].decimals - 2)}`,
  )
  return `(case i.asset ${byDecimals.join(' ')} else 0 end)`
}
