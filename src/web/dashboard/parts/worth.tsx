import { useQuery } from '@tanstack/react-query'
import { ratesOf } from '../api/reads.ts'
import type { AssetName } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { coins, usd } from './money.ts'

const CENT = 0.01

/** An amount of a coin, and about what it is worth at the price of the moment; the amount alone where there is none. */
export function Worth({ amount, asset }: { amount: string; asset: AssetName }) {
  const rates = useQuery(ratesOf(useMode()))
  const price = rates.data?.data.find((rate) => rate.asset === asset)?.usd_per_unit ?? null
  return (
    <>
      <strong>{coins(amount, asset)}</strong>
      {price === null ? null : <span className="quiet"> ({aboutUsd(Number(amount) * Number(price))})</span>}
    </>
  )
}

const aboutUsd = (value: number): string =>
  value > 0 && value < CENT ? 'less than $0.01' : `about ${usd(String(value))}`
